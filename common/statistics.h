// What a set of timings says.
#ifndef STATISTICS_H
#define STATISTICS_H

#include <stdint.h>

enum {
    FEWEST_SAMPLES = 6, // that an interval is known of
    MAX_SAMPLES = 1400  // a sweep's 1390 runs at size 1 are the most that anything asks for
};

// A median with its confidence interval: with 95 % probability the true median lies in [low, high].
// Both ends are NaN where there are too few samples to tell.
struct interval {
    double median, low, high;
};

// The median of `count` samples, 1 <= count <= MAX_SAMPLES, and the interval between two order
// statistics that covers it with at least 95 % (the sign test's interval; it assumes nothing about
// the distribution). Below FEWEST_SAMPLES no two order statistics reach 95 %.
struct interval median_interval(const double *samples, int count);

// Half the interval's width in percent of the median: 0.3 means +-0.3 %. NaN where it is not known.
double spread_percent(struct interval interval);

// The mean of the later half of `count` >= 1 samples in the order in which they were taken; of an
// odd number the middle one counts as late.
double mean_of_later_half(const double *samples, int count);

// How many runs a sweep makes at m = n = k = size: 1000 exp((1024 - size) / 3100), at least 4.
int sweep_runs(int64_t size);

#endif
