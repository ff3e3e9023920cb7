#include "passes.h"

#include "check.h"
#include "emulation.h"
#include "poison.h"
#include "signals.h"

struct product current_product(const struct bench *bench, float alpha, float beta)
{
    struct product product = {
        .A = &bench->A, .B = &bench->B, .C = &bench->C, .alpha = alpha, .beta = beta};

    return product;
}

void fill_product(struct bench *bench, const struct product *product, enum content content,
                  int64_t seed)
{
    const enum content operands = reads_no_operands(product) ? CONTENT_NOTHING : content;

    fill_matrix(bench, &bench->A, operands, seed);
    fill_matrix(bench, &bench->B, operands, seed);
    fill_matrix(bench, &bench->C, product->beta == 0 ? CONTENT_NOTHING : content, seed);
    copy_like_c(bench, bench->want, bench->C.words);
}

static bool wants_reference(enum pass pass, const struct product *product)
{
    return pass == PASS_SPECIAL || reads_no_operands(product) || product->C->rows == 0 ||
           product->C->cols == 0;
}

// Copies words [first, first + count) of a device allocation to a staging buffer.
static const float *download(struct bench *bench, int buffer, const float *words, int64_t first,
                             int64_t count)
{
    CHECK_CUDA(cudaMemcpy(bench->staging[buffer], words + first, (size_t)count * sizeof(float),
                          cudaMemcpyDeviceToHost));
    return bench->staging[buffer];
}

static void judge_input(struct bench *bench, struct verdict *verdict, const struct matrix *matrix)
{
    int64_t first, count;

    for (first = 0; (count = chunk_size(matrix, first)) > 0; first += count) {
        const float *got = download(bench, 0, matrix->words, first, count);

        matrix_image(matrix, first, count, bench->staging[1]);
        compare_untouched(verdict, matrix, first, count, got, bench->staging[1]);
    }
}

static void judge_output(struct bench *bench, struct verdict *verdict,
                         const struct product *product)
{
    const bool reference = wants_reference(verdict->pass, product);
    float *const want = bench->staging[1], *const magnitude = bench->staging[2];
    int64_t first, count;

    for (first = 0; (count = chunk_size(product->C, first)) > 0; first += count) {
        const float *got = download(bench, 0, product->C->words, first, count);

        if (reference) {
            reference_product(product, first, count, want, magnitude);
        } else {
            download(bench, 1, bench->want, first, count);
            if (verdict->pass != PASS_EXACT)
                download(bench, 2, bench->scratch, first, count);
        }
        compare_product(verdict, product, first, count, got, want, magnitude);
    }
}

// What C must hold, by cuBLAS, in bench->want. Only now, so that it is nowhere on the device where
// the step could find it. Operands that the step has overwritten are made anew.
static void make_wanted(struct bench *bench, const struct product *product, bool overwritten)
{
    if (overwritten) {
        fill_matrix(bench, &bench->A, bench->A.content, bench->A.seed);
        fill_matrix(bench, &bench->B, bench->B.content, bench->B.seed);
    }
    launch_cublas(bench, product->alpha, product->beta, bench->want);
}

// The sum of |a * b| of every element, by cuBLAS from |A| and |B|. That it is rounded to float32
// changes the tolerance in its last digits only.
static void make_magnitudes(struct bench *bench)
{
    fill_matrix(bench, &bench->A, CONTENT_MAGNITUDE, bench->A.seed);
    fill_matrix(bench, &bench->B, CONTENT_MAGNITUDE, bench->B.seed);
    launch_cublas(bench, 1, 0, bench->scratch);
}

bool judge_result(struct bench *bench, enum pass pass, const struct product *product)
{
    const struct step *step = bench->step;
    struct verdict verdict = start_verdict(pass, step->tile_m, step->tile_n, product->C->cols);
    bool right;

    verdict.infinities_lost = step->arithmetic != NULL;
    judge_input(bench, &verdict, product->A);
    judge_input(bench, &verdict, product->B);
    if (!wants_reference(pass, product)) {
        make_wanted(bench, product, !all_right(&verdict));
        if (pass != PASS_EXACT)
            make_magnitudes(bench);
    }
    judge_output(bench, &verdict, product);
    right = all_right(&verdict);
    if (!right)
        report_verdict(&verdict, product);
    end_verdict(&verdict);
    return right;
}

// The step prepares before the matrices are filled and cleans up after the verdict: what it
// computes, it computes in its launch.
static bool run_pass(struct bench *bench, enum pass pass, enum content content, float alpha,
                     float beta)
{
    const struct product product = current_product(bench, alpha, beta);
    struct sgemm problem;
    bool right;

    if (interrupted())
        return true;
    problem = prepare_step(bench, alpha, beta);
    fill_product(bench, &product, content, bench->options->seed);
    if (!emulated()) // there, every block starts with NaN in its shared memory
        CHECK_CUDA(poison_shared_memory(NULL));
    if (pass != PASS_SPECIAL) // which takes a corner of the problem only
        begin_counting();
    launch_step(bench, &problem);
    CHECK_CUDA(cudaDeviceSynchronize());
    end_counting();
    right = judge_result(bench, pass, &product);
    release_step(bench, &problem);
    return right;
}

// The corner of the matrices that the special pass takes: its float64 reference is the host's work.
static struct shape special_shape(const struct shape *shape)
{
    struct shape corner = *shape;

    corner.m = corner.m < SPECIAL_MOST ? corner.m : SPECIAL_MOST;
    corner.n = corner.n < SPECIAL_MOST ? corner.n : SPECIAL_MOST;
    corner.k = corner.k < SPECIAL_MOST ? corner.k : SPECIAL_MOST;
    return corner;
}

bool verify_step(struct bench *bench, const struct shape *shape, float alpha, float beta,
                 const struct exact_plan *plan)
{
    const struct shape corner = special_shape(shape);
    bool right;

    bench->A.bound = bench->B.bound = bench->C.bound = plan->bound;
    if (!run_pass(bench, PASS_EXACT, CONTENT_ODD, plan->alpha, plan->beta) ||
        !run_pass(bench, PASS_ROUNDING, CONTENT_UNIFORM, alpha, beta))
        return false;
    set_shape(bench, &corner);
    right = run_pass(bench, PASS_SPECIAL, CONTENT_SPECIAL, alpha, beta);
    set_shape(bench, shape);
    return right;
}
