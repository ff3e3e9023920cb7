// What a product costs in energy.
#ifndef POWER_H
#define POWER_H

#include "timing.h"

// Of one of the two, running back to back.
struct power {
    double watts;  // mean over 3 s
    double joules; // of one product
};

// Runs the product back to back for 3 s, first the step, then cuBLAS. A, B and C are filled anew. A
// False after a Ctrl-C: then nothing is known. False at once where NVML tells neither energy nor
// power.
bool measure_power(struct bench *bench, float alpha, float beta, const struct timing *timing,
                   struct power power[SIDES]);

#endif
