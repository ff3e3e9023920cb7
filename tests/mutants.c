// Steps that run on the host, through the stand-in of fake_cuda.h: a few that are right, and many
// that are wrong in one way each. The harness must pass the former and reject every one of the
// latter; harness_mutants.t holds it to that.
//
//   build/tests/mutants                    lists the names
//   build/tests/mutants NAME [OPTION...]   runs the one as stepNN runs: it calls itself step99
#include "fake_cuda.h"
#include "program.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = 32,
    TILE_K = 8,
    THREADS = 256,
};

struct mutant {
    const char *name;
    void (*kernel)(const struct sgemm *); // what a launch runs; NULL where it runs nothing
    cudaError_t launch_error;
    cudaError_t (*prepare)(struct sgemm *);
    cudaError_t (*release)(struct sgemm *);
    int minimum_capability;
    const char *arithmetic;
};

static const struct mutant *chosen;
static long launches; // of the chosen mutant, so far

// The product, and what the mutants share of it
// -----------------------------------------------------

static bool reads_operands(const struct sgemm *p)
{
    return p->alpha != 0 && p->k > 0;
}

static float scaled(const struct sgemm *p, float sum, float old)
{
    return p->beta == 0 ? p->alpha * sum : p->alpha * sum + p->beta * old;
}

static float *element(const struct sgemm *p, int64_t i, int64_t j)
{
    return &p->C[i * p->ldc + j];
}

static float *last_element(const struct sgemm *p)
{
    return element(p, p->m - 1, p->n - 1);
}

static bool is_empty(const struct sgemm *p)
{
    return p->m == 0 || p->n == 0;
}

static float *new_row(const struct sgemm *p)
{
    float *row = calloc((size_t)p->n + 1, sizeof *row);

    if (!row)
        abort();
    return row;
}

// Row i of A times B, added to `sum`, a row of n.
static void add_row_product(const struct sgemm *p, int64_t i, float *sum)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += p->A[i * p->lda + q] * p->B[q * p->ldb + j];
}

// C from row products that `add` sums.
static void gemm_by_rows(const struct sgemm *p,
                         void (*add)(const struct sgemm *, int64_t i, float *sum))
{
    float *sum = new_row(p);

    for (int64_t i = 0; i < p->m; i++) {
        memset(sum, 0, sizeof *sum * (size_t)p->n);
        if (reads_operands(p))
            add(p, i, sum);
        for (int64_t j = 0; j < p->n; j++)
            *element(p, i, j) = scaled(p, sum[j], *element(p, i, j));
    }
    free(sum);
}

static void gemm(const struct sgemm *p)
{
    gemm_by_rows(p, add_row_product);
}

// Right, in other ways
// ------------------------------------------------------------------------------

static void add_backwards(const struct sgemm *p, int64_t i, float *sum)
{
    for (int64_t q = p->k - 1; q >= 0; q--)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] = fmaf(p->A[i * p->lda + q], p->B[q * p->ldb + j], sum[j]);
}

static void backwards(const struct sgemm *p)
{
    gemm_by_rows(p, add_backwards);
}

// -0 where a sum is +0: equal, and no reason to call a step wrong.
static void negative_zero(const struct sgemm *p)
{
    gemm(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            if (*element(p, i, j) == 0)
                *element(p, i, j) = -0.0F;
}

static cudaError_t prepare_workspace(struct sgemm *p)
{
    return cudaMalloc(&p->workspace, sizeof(float));
}

static cudaError_t release_workspace(struct sgemm *p)
{
    return cudaFree(p->workspace);
}

static void needs_workspace(const struct sgemm *p)
{
    if (!p->workspace)
        abort();
    *(float *)p->workspace = 1; // it is device memory, and still there
    gemm(p);
}

// Wrong values
// --------------------------------------------------------------------------------------

static void nan_everywhere(const struct sgemm *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            *element(p, i, j) = NAN;
}

// By one unit in the last place: only the exact pass can see it.
static void one_wrong_element(const struct sgemm *p)
{
    gemm(p);
    if (!is_empty(p))
        *last_element(p) = nextafterf(*last_element(p), FLT_MAX);
}

static void unwritten_tail(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.m = p->m > 0 ? p->m - 1 : 0;
    gemm(&q);
}

static void dropped_last_k(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.k = p->k > 0 ? p->k - 1 : 0;
    gemm(&q);
}

static void doubled_product(const struct sgemm *p)
{
    gemm(p);
    if (!is_empty(p) && reads_operands(p))
        *last_element(p) +=
            p->alpha * p->A[(p->m - 1) * p->lda + p->k - 1] * p->B[(p->k - 1) * p->ldb + p->n - 1];
}

static void swapped_m_n(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.m = p->n;
    q.n = p->m;
    gemm(&q);
}

// Every two neighbours in each other's place, within `count` of them that are `apart` words apart.
static void swap_neighbours(float *first, int64_t count, int64_t apart)
{
    for (int64_t i = 0; i + 1 < count; i += 2) {
        const float value = first[i * apart];

        first[i * apart] = first[(i + 1) * apart];
        first[(i + 1) * apart] = value;
    }
}

static void swapped_columns(const struct sgemm *p)
{
    gemm(p);
    for (int64_t i = 0; i < p->m; i++)
        swap_neighbours(element(p, i, 0), p->n, 1);
}

static void swapped_rows(const struct sgemm *p)
{
    gemm(p);
    for (int64_t j = 0; j < p->n; j++)
        swap_neighbours(element(p, 0, j), p->m, p->ldc);
}

static void lda_is_k(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.lda = p->k;
    gemm(&q);
}

static void ldb_is_n(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.ldb = p->n;
    gemm(&q);
}

static void ldc_is_n(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.ldc = p->n;
    gemm(&q);
}

static void alpha_ignored(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.alpha = 1;
    gemm(&q);
}

static void beta_ignored(const struct sgemm *p)
{
    struct sgemm q = *p;

    q.beta = 0;
    gemm(&q);
}

static void beta_zero_reads_c(const struct sgemm *p)
{
    float *sum = new_row(p);

    for (int64_t i = 0; i < p->m; i++) {
        memset(sum, 0, sizeof *sum * (size_t)p->n);
        if (reads_operands(p))
            add_row_product(p, i, sum);
        for (int64_t j = 0; j < p->n; j++)
            *element(p, i, j) = p->alpha * sum[j] + p->beta * *element(p, i, j);
    }
    free(sum);
}

static void alpha_zero_reads_a(const struct sgemm *p)
{
    gemm(p);
    if (p->alpha == 0 && p->k > 0 && !is_empty(p))
        *element(p, 0, 0) += 0 * p->A[0];
}

// What a tensor core does to float32: 10 bits of mantissa are left, rounded to nearest.
static float to_tf32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (isfinite(value))
        bits = (bits + 0x1000U) & ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_tf32(const struct sgemm *p, int64_t i, float *sum)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += to_tf32(p->A[i * p->lda + q]) * to_tf32(p->B[q * p->ldb + j]);
}

static void tf32(const struct sgemm *p)
{
    gemm_by_rows(p, add_tf32);
}

// Operands as two such numbers, and the products of them that are added up.
static void add_split(const struct sgemm *p, int64_t i, float *sum, bool small_of_b)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++) {
            const float a = p->A[i * p->lda + q], b = p->B[q * p->ldb + j];
            const float large_a = to_tf32(a), large_b = to_tf32(b);
            if (small_of_b)
                sum[j] += large_a * to_tf32(b - large_b);
            sum[j] += to_tf32(a - large_a) * large_b;
            sum[j] += large_a * large_b;
        }
}

static void add_three_tf32(const struct sgemm *p, int64_t i, float *sum)
{
    add_split(p, i, sum, true);
}

static void add_two_tf32(const struct sgemm *p, int64_t i, float *sum)
{
    add_split(p, i, sum, false);
}

static void three_tf32(const struct sgemm *p)
{
    gemm_by_rows(p, add_three_tf32);
}

static void two_tf32(const struct sgemm *p)
{
    gemm_by_rows(p, add_two_tf32);
}

// The last tile in k hangs over the edge, and its surplus is multiplied by zero: 0 * NaN is NaN.
static void add_masked(const struct sgemm *p, int64_t i, float *sum)
{
    const int64_t whole_tiles = (p->k + TILE_K - 1) / TILE_K * TILE_K;

    add_row_product(p, i, sum);
    for (int64_t q = p->k; q < whole_tiles; q++)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += p->A[i * p->lda + q] * 0;
}

static void masked_by_zero(const struct sgemm *p)
{
    gemm_by_rows(p, add_masked);
}

// Infinity and NaN
// ----------------------------------------------------------------------------------

static void add_without_zeros_of_a(const struct sgemm *p, int64_t i, float *sum)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++)
            if (p->A[i * p->lda + q] != 0)
                sum[j] += p->A[i * p->lda + q] * p->B[q * p->ldb + j];
}

static void skips_zeros_of_a(const struct sgemm *p)
{
    gemm_by_rows(p, add_without_zeros_of_a);
}

static void add_without_zeros_of_b(const struct sgemm *p, int64_t i, float *sum)
{
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++)
            if (p->B[q * p->ldb + j] != 0)
                sum[j] += p->A[i * p->lda + q] * p->B[q * p->ldb + j];
}

static void skips_zeros_of_b(const struct sgemm *p)
{
    gemm_by_rows(p, add_without_zeros_of_b);
}

// The next row takes part with weight 0, as where a mask is a factor: its infinities and NaNs leak.
static void add_with_leak(const struct sgemm *p, int64_t i, float *sum)
{
    const int64_t next_row = i + 1 < p->m ? i + 1 : i;

    add_row_product(p, i, sum);
    for (int64_t q = 0; q < p->k; q++)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += p->A[next_row * p->lda + q] * 0;
}

static void nan_leaks(const struct sgemm *p)
{
    gemm_by_rows(p, add_with_leak);
}

static void clamps_infinity(const struct sgemm *p)
{
    gemm(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            if (isinf(*element(p, i, j)))
                *element(p, i, j) = copysignf(FLT_MAX, *element(p, i, j));
}

static void nan_becomes_zero(const struct sgemm *p)
{
    gemm(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            if (isnan(*element(p, i, j)))
                *element(p, i, j) = 0;
}

// Writes elsewhere
// ----------------------------------------------------------------------------------

static void writes_c_padding(const struct sgemm *p)
{
    gemm(p);
    if (p->m > 1 && p->ldc > p->n)
        *element(p, 0, p->n) = 0;
}

static void writes_before_c(const struct sgemm *p)
{
    gemm(p);
    p->C[-1] = 0;
}

static void writes_after_c(const struct sgemm *p)
{
    gemm(p);
    if (!is_empty(p))
        last_element(p)[1] = 0;
}

static void writes_a(const struct sgemm *p)
{
    gemm(p);
    if (p->m > 0 && p->k > 0)
        ((float *)p->A)[(p->m - 1) * p->lda + p->k - 1] = 2;
}

static void writes_b_padding(const struct sgemm *p)
{
    gemm(p);
    if (p->k > 1 && p->ldb > p->n)
        ((float *)p->B)[p->n] = 0;
}

// Right at first
// ------------------------------------------------------------------------------------

static void wrong_when_timed(const struct sgemm *p)
{
    gemm(p);
    if (fake_events_recorded() > 0 && !is_empty(p))
        *last_element(p) += 1;
}

static void right_only_once(const struct sgemm *p)
{
    gemm(p);
    if (launches > 0 && !is_empty(p))
        *last_element(p) += 1;
}

// Computes once between prepare and release, and writes that result again ever after.
static float *first_result; // m x n

static cudaError_t forget_result(struct sgemm *p)
{
    (void)p;
    free(first_result);
    first_result = NULL;
    return cudaSuccess;
}

static void repeats_first_result(const struct sgemm *p)
{
    const size_t row_bytes = sizeof *first_result * (size_t)p->n;
    const bool first = first_result == NULL;

    if (first) {
        gemm(p);
        first_result = malloc(row_bytes * (size_t)p->m + 1);
        if (!first_result)
            abort();
    }
    for (int64_t i = 0; i < p->m; i++) {
        if (first)
            memcpy(&first_result[i * p->n], element(p, i, 0), row_bytes);
        else
            memcpy(element(p, i, 0), &first_result[i * p->n], row_bytes);
    }
}

static void illegal_address(const struct sgemm *p)
{
    gemm(p);
    fake_fault();
}

static cudaError_t prepare_fails(struct sgemm *p)
{
    (void)p;
    return cudaErrorMemoryAllocation;
}

static cudaError_t release_nothing(struct sgemm *p)
{
    (void)p;
    return cudaSuccess;
}

static cudaError_t prepare_nothing(struct sgemm *p)
{
    (void)p;
    return cudaSuccess;
}

static cudaError_t release_fails(struct sgemm *p)
{
    (void)p;
    return cudaErrorInvalidValue;
}

// The program
// ---------------------------------------------------------------------------------------

static const struct mutant mutants[] = {
    {.name = "correct", .kernel = gemm},
    {.name = "correct_backwards", .kernel = backwards},
    {.name = "correct_negative_zero", .kernel = negative_zero},
    {.name = "correct_workspace",
     .kernel = needs_workspace,
     .prepare = prepare_workspace,
     .release = release_workspace,
     .minimum_capability = 80},
    {.name = "nan_everywhere", .kernel = nan_everywhere},
    {.name = "one_wrong_element", .kernel = one_wrong_element},
    {.name = "unwritten_tail", .kernel = unwritten_tail},
    {.name = "dropped_last_k", .kernel = dropped_last_k},
    {.name = "doubled_product", .kernel = doubled_product},
    {.name = "swapped_m_n", .kernel = swapped_m_n},
    {.name = "swapped_columns", .kernel = swapped_columns},
    {.name = "swapped_rows", .kernel = swapped_rows},
    {.name = "lda_is_k", .kernel = lda_is_k},
    {.name = "ldb_is_n", .kernel = ldb_is_n},
    {.name = "ldc_is_n", .kernel = ldc_is_n},
    {.name = "alpha_ignored", .kernel = alpha_ignored},
    {.name = "beta_ignored", .kernel = beta_ignored},
    {.name = "beta_zero_reads_c", .kernel = beta_zero_reads_c},
    {.name = "alpha_zero_reads_a", .kernel = alpha_zero_reads_a},
    {.name = "tf32", .kernel = tf32},
    {.name = "correct_three_tf32", .kernel = three_tf32, .arithmetic = "3xTF32"},
    {.name = "three_tf32_as_float32", .kernel = three_tf32},
    {.name = "two_of_three_tf32", .kernel = two_tf32, .arithmetic = "3xTF32"},
    {.name = "masked_by_zero", .kernel = masked_by_zero},
    {.name = "skips_zeros_of_a", .kernel = skips_zeros_of_a},
    {.name = "skips_zeros_of_b", .kernel = skips_zeros_of_b},
    {.name = "nan_leaks", .kernel = nan_leaks},
    {.name = "clamps_infinity", .kernel = clamps_infinity},
    {.name = "nan_leaks_in_three_tf32", .kernel = nan_leaks, .arithmetic = "3xTF32"},
    {.name = "infinity_clamped_in_three_tf32", .kernel = clamps_infinity, .arithmetic = "3xTF32"},
    {.name = "nan_becomes_zero", .kernel = nan_becomes_zero},
    {.name = "writes_c_padding", .kernel = writes_c_padding},
    {.name = "writes_before_c", .kernel = writes_before_c},
    {.name = "writes_after_c", .kernel = writes_after_c},
    {.name = "writes_a", .kernel = writes_a},
    {.name = "writes_b_padding", .kernel = writes_b_padding},
    {.name = "wrong_when_timed", .kernel = wrong_when_timed},
    {.name = "right_only_once", .kernel = right_only_once},
    {.name = "repeats_first_result",
     .kernel = repeats_first_result,
     .prepare = forget_result,
     .release = forget_result},
    {.name = "launches_nothing"},
    {.name = "invalid_configuration", .launch_error = cudaErrorInvalidConfiguration},
    {.name = "illegal_address", .kernel = illegal_address},
    {.name = "prepare_fails", .kernel = gemm, .prepare = prepare_fails, .release = release_nothing},
    {.name = "release_fails", .kernel = gemm, .prepare = prepare_nothing, .release = release_fails},
};

enum {
    MUTANTS = sizeof mutants / sizeof *mutants
};

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    cudaError_t error = chosen->launch_error;

    (void)stream;
    if (!error && chosen->kernel)
        error = fake_launch(chosen->kernel, problem);
    launches++;
    return error;
}

static int list_names(void)
{
    for (int i = 0; i < MUTANTS; i++)
        printf("%s\n", mutants[i].name);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct step step = {
        .number = 99,
        .title = "mutant",
        .tile_m = TILE,
        .tile_n = TILE,
        .tile_k = TILE_K,
        .threads = THREADS,
        .launch = launch,
    };

    if (argc < 2)
        return list_names();
    for (int i = 0; i < MUTANTS; i++)
        if (strcmp(mutants[i].name, argv[1]) == 0)
            chosen = &mutants[i];
    if (!chosen) {
        fprintf(stderr, "mutants: no mutant is called %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    step.name = chosen->name;
    step.prepare = chosen->prepare;
    step.release = chosen->release;
    step.minimum_capability = chosen->minimum_capability;
    step.arithmetic = chosen->arithmetic;
    step.kernels[0] = (struct step_kernel){"", (const void *)step.name, 0};
    return run_program(&step, argc - 1, argv + 1);
}
