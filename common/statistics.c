#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

// How many of `count` sorted samples may be left off at each end so that the range of the rest
// still covers the median with 95 %. How many samples lie below the median is binomial with p =
// 1/2; with r left off at each end the range misses it with probability 2 * P(at most r lie below).
// -1 where even the range of all of them covers it with less.
static int samples_left_off(int count)
{
    double probability, below;
    int left_off = 0;

    if (count > 1000) // 2^-count nears the end of a double's range; the normal limit is good here
        return (int)(count / 2.0 - 0.98 * sqrt(count)) - 1;
    probability = ldexp(1, -count); // that exactly left_off lie below, and at most left_off
    below = probability;
    while (2 * below <= 0.05) {
        left_off++;
        probability *= (double)(count - left_off + 1) / left_off;
        below += probability;
    }
    return left_off - 1;
}

struct interval median_interval(const double *samples, int count)
{
    double sorted[MAX_SAMPLES];
    struct interval interval;
    int left_off;

    memcpy(sorted, samples, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    left_off = samples_left_off(count);
    interval.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    interval.low = left_off >= 0 ? sorted[left_off] : NAN;
    interval.high = left_off >= 0 ? sorted[count - 1 - left_off] : NAN;
    return interval;
}

double spread_percent(struct interval interval)
{
    return 100 * (interval.high - interval.low) / 2 / interval.median;
}

double mean_of_later_half(const double *samples, int count)
{
    const int first = count / 2;
    double sum = 0;
    int i;

    for (i = first; i < count; i++)
        sum += samples[i];
    return sum / (count - first);
}

int sweep_runs(int64_t size)
{
    const double runs = floor(1000 * exp((1024 - (double)size) / 3100));

    return runs > 4 ? (int)runs : 4;
}
