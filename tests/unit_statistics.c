// Medians, their intervals, and a sweep's protocol, against figures worked out by hand or with
// exact binomial sums.
#include "statistics.h"

#include "tap.h"

// The samples 0, 1, ... count - 1 in an order that is neither up nor down.
static void shuffle(double *samples, int count)
{
    int i;

    for (i = 0; i < count; i++)
        samples[i * 7 % count] = i; // 7 divides none of the counts
}

static void check_intervals(void)
{
    // Of so many samples, how many are left off at each end.
    static const int known[][2] = {{6, 0},     {8, 0},     {9, 1},      {10, 1},
                                   {15, 3},    {20, 5},    {50, 17},    {101, 40},
                                   {500, 227}, {999, 468}, {1000, 468}, {1390, 657}};
    double samples[MAX_SAMPLES];
    size_t i;

    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        const int count = known[i][0], left_off = known[i][1];
        struct interval interval;

        shuffle(samples, count);
        interval = median_interval(samples, count);
        ok(interval.median == (count - 1) / 2.0, "median of %d samples", count);
        ok(interval.low == left_off && interval.high == count - 1 - left_off,
           "interval of %d samples: [%g, %g]", count, interval.low, interval.high);
    }
}

static void check_few_samples(void)
{
    const double samples[] = {5, 3, 1, 2, 4};
    int count;

    for (count = 1; count <= 5; count++) {
        const struct interval interval = median_interval(samples, count);

        ok(isnan(interval.low) && isnan(interval.high) && isnan(spread_percent(interval)) &&
               interval.median >= 1,
           "no interval of %d samples, but a median", count);
    }
}

static void check_that_samples_stay(void)
{
    const double samples[] = {3, 1, 2, 1};

    is_number(median_interval(samples, 4).median, 1.5, "median of an even number");
    ok(samples[0] == 3 && samples[1] == 1 && samples[2] == 2, "the samples keep their order");
}

static void check_spread(void)
{
    const struct interval interval = {.median = 4, .low = 3.5, .high = 4.1};

    is_number(spread_percent(interval), 7.5, "half the width, in percent of the median");
}

static void check_sweep(void)
{
    const double samples[] = {100, 50, 2, 4, 6};

    is_number(mean_of_later_half(samples, 5), 4, "later half of an odd number");
    is_number(mean_of_later_half(samples, 4), 3, "later half of an even number");
    is_number(mean_of_later_half(samples, 1), 100, "later half of one");
    // The formula's figures: 371 runs at 4096 are those of the protocol's author.
    is_integer(sweep_runs(1), 1390, "runs at 1");
    is_integer(sweep_runs(1024), 1000, "runs at 1024");
    is_integer(sweep_runs(4096), 371, "runs at 4096");
    is_integer(sweep_runs(12800), 22, "runs at 12800");
    is_integer(sweep_runs(INT64_C(1) << 40), 4, "never fewer than 4");
    ok(sweep_runs(1) <= MAX_SAMPLES, "room for every sweep");
}

int main(void)
{
    check_intervals();
    check_few_samples();
    check_that_samples_stay();
    check_spread();
    check_sweep();
    return finish();
}
