// How long a step and cuBLAS take, side by side.
#ifndef TIMING_H
#define TIMING_H

#include <stdbool.h>

#include "bench.h"
#include "statistics.h"

// Times are in milliseconds, of one product.
struct timing {
    int pairs;                   // of runs: one of the step, one of cuBLAS; 0: nothing is known
    struct interval time[SIDES]; // in a sweep, of the later half of the runs
    double mean[SIDES];          // of the later half of the runs; a sweep's figure
    struct interval ratio;       // cuBLAS's time to the step's, pair by pair: above 1, faster
    double sm_clock_mhz;         // mean while work was in flight; NaN where unknown
    unsigned long long throttle; // every reason seen (see nvml.h)
};

// Times the product of the bench's matrices, which must have elements and read its operands. The
// matrices are filled anew; for the last pair once more, and with `verify` that run's result is
// judged. False where it is wrong. A Ctrl-C ends the series early, with what there is where that is
// enough to say something.
bool time_product(struct bench *bench, float alpha, float beta, bool verify, struct timing *timing);

// Seconds from some fixed moment on.
double seconds_now(void);

#endif
