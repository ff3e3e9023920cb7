// Step 10: dispatch
//
// No tile is the best for every problem. sgemm(), with the arguments that BLAS gives it, estimates
// how long the kernels of the steps before would take on this GPU, and starts the quickest: tiles
// of 128x128 with textures or without, or of 128x256. It has no kernel of its own, and copies none.
// Cost: every kernel in one program, and figures that have to be measured on each GPU.
//
// Build and run: make step10 && ./step10          Chapter: docs/10-dispatch.md
#include "library/handle.h"

#include <stdio.h>
#include <stdlib.h>

// [candidates]
// A step, the alignments of A, B and C in bytes that its kernel needs, and its speed: MFLOP/s of an
// SM that has one of its blocks, and of one that is full; what a tile takes beside its k terms, in
// terms. Measured on the reference GPU (docs/results); `make tune` measures them on yours.
const struct candidate candidates[] = {
    {&step07, {4, 4, 4}, {311016, 363482, 33}},
    {&step08, {512, 512, 4}, {327539, 361989, 35}},
    {&step09, {4, 16, 4}, {389339, 400457, 51}},
};
// [/candidates]
const int candidate_count = sizeof candidates / sizeof *candidates;

static_assert(sizeof candidates / sizeof *candidates <= MOST_CANDIDATES, "a handle has room");

// [alignment]
// The power of two, 4 to 512, that a matrix starts at a multiple of. Rows that do not start and end
// at multiples of 16 bytes count as its beginning: 4.
int alignment_of(const float *matrix, int64_t cols, int64_t ld)
{
    const uintptr_t address = (uintptr_t)matrix | 512;

    return cols % 4 != 0 || ld % 4 != 0 ? 4 : (int)(address & -address); // the lowest bit set
}

static bool can_run(const struct candidate *candidate, const struct sgemm *p, int capability)
{
    const int *needs = candidate->alignment;

    return step_runs_on(candidate->step, capability) &&
           needs[0] <= alignment_of(p->A, p->k, p->lda) &&
           needs[1] <= alignment_of(p->B, p->n, p->ldb) &&
           needs[2] <= alignment_of(p->C, p->n, p->ldc);
}
// [/alignment]

// [estimate]
// How many tiles the SM that has the most computes. All others wait for it.
static double most_tiles(int64_t tiles, int sms)
{
    return (double)((tiles + sms - 1) / sms);
}

// Microseconds. A tile takes as long as its k terms, and `overhead` more.
static double estimate(const struct candidate *candidate, const struct sgemm *problem, int sms)
{
    const struct step *step = candidate->step;
    const struct speed *speed = &candidate->speed;
    const int64_t tiles = tile_count(problem, step->tile_m, step->tile_n);
    const double terms = most_tiles(tiles, sms) * (double)(problem->k + speed->overhead);
    const int64_t rate = tiles <= sms ? speed->alone : speed->full;

    return 2.0 * step->tile_m * step->tile_n * terms / (double)rate;
}
// [/estimate]

// [choose]
const struct candidate *choose(const struct candidate *from, int count, const struct sgemm *problem,
                               int capability, int sms)
{
    const struct candidate *best = NULL;

    // lab: the candidate with the least estimate, of those that can run (about 4 lines)
    for (int i = 0; i < count; i++)
        if (can_run(&from[i], problem, capability) &&
            (best == NULL || estimate(&from[i], problem, sms) < estimate(best, problem, sms)))
            best = &from[i];
    // end lab
    return best;
}
// [/choose]

static const struct candidate *choose_for(const struct sgemm_handle *handle,
                                          const struct sgemm *problem)
{
    return choose(handle->candidates, handle->candidate_count, problem, handle->capability,
                  handle->sms);
}

// [sgemm]
enum sgemm_status sgemm(struct sgemm_handle *handle, int64_t m, int64_t n, int64_t k, float alpha,
                        const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
                        float *C, int64_t ldc)
{
    const struct sgemm problem = {m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, NULL};

    if (handle == NULL)
        return SGEMM_NO_HANDLE;
    const enum sgemm_status status = check_problem(handle, &problem);
    if (status != SGEMM_OK || m == 0 || n == 0)
        return status;
    return run(handle, choose_for(handle, &problem)->step, problem);
}
// [/sgemm]

// The rest makes a step of it, for the harness: its workspace is a handle.

static cudaError_t prepare(struct sgemm *p)
{
    const char *table = getenv("SGEMM_TABLE"); // a file that `make tune` has written
    struct sgemm_handle *handle;

    if (sgemm_create(&handle, NULL) != SGEMM_OK)
        return cudaGetLastError();
    p->workspace = handle;
    if (table != NULL && sgemm_load_table(handle, table) != SGEMM_OK)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t launch(const struct sgemm *p, cudaStream_t stream)
{
    struct sgemm_handle *handle = (struct sgemm_handle *)p->workspace;

    if (sgemm_set_stream(handle, stream) != SGEMM_OK ||
        sgemm(handle, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb, p->beta, p->C,
              p->ldc) != SGEMM_OK)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t release(struct sgemm *p)
{
    const enum sgemm_status status = sgemm_destroy((struct sgemm_handle *)p->workspace);

    p->workspace = NULL;
    return status == SGEMM_OK ? cudaSuccess : cudaErrorInvalidValue;
}

static void describe(const struct sgemm *p, char *text, size_t size)
{
    const struct sgemm_handle *handle = (const struct sgemm_handle *)p->workspace;

    if (sgemm_message(handle)[0] != '\0')
        snprintf(text, size, "%s", sgemm_message(handle));
    else
        snprintf(text, size, "step %02d", choose_for(handle, p)->step->number);
}

const struct step step10 = {
    .number = 10,
    .name = "dispatch",
    .title = "dispatch",
    .tile_m = 128,
    .tile_n = 128,
    .tile_k = 8,
    .threads = 0,
    .minimum_capability = 0,
    .kernels = {{NULL, NULL}},
    .prepare = prepare,
    .launch = launch,
    .release = release,
    .describe = describe,
};
