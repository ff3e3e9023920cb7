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
// A step, the alignment that its kernel needs, and its speed: MFLOP/s of an SM that has one of its
// blocks, and of one that is full; terms of k that the rest of a tile takes as long as. All
// measured on the reference GPU (docs/results); `make tune` measures them on yours.
const struct candidate candidates[] = {
    {&step07, 4, {311016, 363482, 33}},
    {&step08, 512, {327539, 361989, 35}},
    {&step09, 16, {389339, 400457, 51}},
};
// [/candidates]
const int candidate_count = sizeof candidates / sizeof *candidates;

static_assert(sizeof candidates / sizeof *candidates <= MOST_CANDIDATES, "a handle has room");

// [alignment]
// The least power of two, up to 512, that divides the addresses of A and B, and if rows do not
// start and end at multiples of 16 bytes: 4.
int alignment_of(const struct sgemm *p)
{
    const uintptr_t addresses = (uintptr_t)p->A | (uintptr_t)p->B | 512;

    if (p->lda % 4 != 0 || p->ldb % 4 != 0 || p->k % 4 != 0 || p->n % 4 != 0)
        return 4;
    return (int)(addresses & -addresses); // the lowest bit that is set
}
// [/alignment]

// [estimate]
// Microseconds. Every tile takes as long as its k terms, and `overhead` more. All wait for the SM
// that has the most tiles: it computes `rounds` of them, at full speed if some share it.
static double estimate(const struct candidate *candidate, const struct sgemm *problem, int sms)
{
    const struct step *step = candidate->step;
    const struct speed *speed = &candidate->speed;
    const int64_t tiles = tile_count(problem, step->tile_m, step->tile_n);
    const int64_t rounds = (tiles + sms - 1) / sms;
    const double terms = (double)problem->k + (double)speed->overhead;
    const double operations = 2.0 * step->tile_m * step->tile_n * terms;

    return (double)rounds * operations / (double)(rounds == 1 ? speed->alone : speed->full);
}
// [/estimate]

// [choose]
const struct candidate *choose(const struct candidate *from, int count, const struct sgemm *problem,
                               int capability, int sms)
{
    const int alignment = alignment_of(problem);
    const struct candidate *best = NULL;

    // lab: the candidate with the least estimate, of those that can run (about 7 lines)
    for (int i = 0; i < count; i++) {
        if (from[i].step->minimum_capability > capability || from[i].alignment > alignment)
            continue;
        if (best == NULL || estimate(&from[i], problem, sms) < estimate(best, problem, sms))
            best = &from[i];
    }
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
