#include "bench.h"

#include <inttypes.h>

#include "check.h"
#include "emulation.h"

// The description only: the memory stays what it is.
static void describe(struct matrix *matrix, char name, int64_t rows, int64_t cols, int64_t ld,
                     int64_t offset, bool guarded)
{
    // Long enough for a whole row behind the last: a row too much is what a kernel is likely to
    // write.
    const int64_t row = (ld < MOST_GUARDED ? ld : MOST_GUARDED) / GUARD_WORDS * GUARD_WORDS;

    matrix->name = name;
    matrix->rows = rows;
    matrix->cols = cols;
    matrix->ld = ld;
    matrix->offset = offset;
    matrix->guard = guarded ? row + GUARD_WORDS : 0;
}

static void describe_matrices(struct bench *bench, const struct shape *shape)
{
    const int64_t *offset = bench->options->offset;
    const bool guarded = !bench->options->no_guards;

    describe(&bench->A, 'A', shape->m, shape->k, shape->lda, offset[0], guarded);
    describe(&bench->B, 'B', shape->k, shape->n, shape->ldb, offset[1], guarded);
    describe(&bench->C, 'C', shape->m, shape->n, shape->ldc, offset[2], guarded);
}

static void check_memory(const struct bench *bench, const struct shape *shape)
{
    const double needed = sizeof(float) * (words_needed(&bench->A) + words_needed(&bench->B) +
                                           3 * words_needed(&bench->C)) +
                          (double)bench->flush_bytes;
    size_t unused, total;

    CHECK_CUDA(cudaMemGetInfo(&unused, &total));
    if (needed > (double)unused)
        fail(EXIT_CUDA,
             "m=%" PRId64 " n=%" PRId64 " k=%" PRId64
             " needs %.0f bytes of device memory (%.1f GiB), and %zu are free (%.1f GiB)",
             shape->m, shape->n, shape->k, needed, needed / 0x1p30, unused,
             (double)unused / 0x1p30);
}

// All words are NaN, so that nothing on the device is ever uninitialised but what a step makes.
static float *allocate_words(const struct matrix *matrix)
{
    const size_t bytes = (size_t)matrix_words(matrix) * sizeof(float);
    void *words;

    CHECK_CUDA(cudaMalloc(&words, bytes));
    CHECK_CUDA(cudaMemset(words, 0xff, bytes));
    return words;
}

struct bench open_bench(const struct step *step, const struct options *options,
                        const struct device *device)
{
    const struct shape largest = shape_at(options, shape_count(options) - 1);
    struct bench bench = {.step = step, .options = options, .device = device};
    int i;

    CHECK_CUBLAS(cublasCreate(&bench.cublas));
    CHECK_CUBLAS(cublasSetMathMode(bench.cublas, CUBLAS_PEDANTIC_MATH));
    bench.flush_bytes = options->verify_only ? sizeof(float) : 2 * (size_t)device->l2_bytes;
    describe_matrices(&bench, &largest);
    check_memory(&bench, &largest);
    bench.A.words = allocate_words(&bench.A);
    bench.B.words = allocate_words(&bench.B);
    bench.C.words = allocate_words(&bench.C);
    bench.want = allocate_words(&bench.C);
    bench.scratch = allocate_words(&bench.C);
    CHECK_CUDA(cudaMalloc(&bench.flush, bench.flush_bytes));
    for (i = 0; i < STAGING_BUFFERS; i++)
        CHECK_CUDA(cudaMallocHost((void **)&bench.staging[i], STAGING_WORDS * sizeof(float)));
    CHECK_CUDA(cudaEventCreate(&bench.start));
    CHECK_CUDA(cudaEventCreate(&bench.stop));
    return bench;
}

void close_bench(struct bench *bench)
{
    int i;

    CHECK_CUDA(cudaEventDestroy(bench->stop));
    CHECK_CUDA(cudaEventDestroy(bench->start));
    for (i = 0; i < STAGING_BUFFERS; i++)
        CHECK_CUDA(cudaFreeHost(bench->staging[i]));
    CHECK_CUDA(cudaFree(bench->flush));
    CHECK_CUDA(cudaFree(bench->scratch));
    CHECK_CUDA(cudaFree(bench->want));
    CHECK_CUDA(cudaFree(bench->C.words));
    CHECK_CUDA(cudaFree(bench->B.words));
    CHECK_CUDA(cudaFree(bench->A.words));
    CHECK_CUBLAS(cublasDestroy(bench->cublas));
}

// What a step may touch of an allocation that was made for the largest shape.
static void limit_to_elements(const struct matrix *matrix)
{
    const int64_t words = matrix_words(matrix) - matrix->offset - 2 * matrix->guard;

    limit_kernels(matrix_elements(matrix), (size_t)words * sizeof(float), matrix->name);
}

void set_shape(struct bench *bench, const struct shape *shape)
{
    const struct step *step = bench->step;
    const struct sgemm problem = {.m = shape->m, .n = shape->n};
    const int64_t tiles = tile_count(&problem, step->tile_m, step->tile_n);

    if (tiles > bench->device->max_grid_x)
        fail(EXIT_CUDA,
             "m=%" PRId64 " n=%" PRId64 " takes %" PRId64 " tiles of %dx%d, one block each, and a "
             "grid of this device ends at cudaDevAttrMaxGridDimX = %d",
             shape->m, shape->n, tiles, step->tile_m, step->tile_n, bench->device->max_grid_x);
    describe_matrices(bench, shape);
    limit_to_elements(&bench->A);
    limit_to_elements(&bench->B);
    limit_to_elements(&bench->C);
}

int64_t chunk_size(const struct matrix *matrix, int64_t first)
{
    const int64_t left = matrix_words(matrix) - first;

    return left < STAGING_WORDS ? left : STAGING_WORDS;
}

void fill_matrix(struct bench *bench, struct matrix *matrix, enum content content, int64_t seed)
{
    int64_t first, count;

    matrix->content = content;
    matrix->seed = seed;
    for (first = 0; (count = chunk_size(matrix, first)) > 0; first += count) {
        matrix_image(matrix, first, count, bench->staging[0]);
        CHECK_CUDA(cudaMemcpy(matrix->words + first, bench->staging[0],
                              (size_t)count * sizeof(float), cudaMemcpyHostToDevice));
    }
}

void copy_like_c(struct bench *bench, float *to, const float *from)
{
    const size_t bytes = (size_t)matrix_words(&bench->C) * sizeof(float);

    CHECK_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
}

// A step that can say more of an error than its number says it.
static void check_step(const struct bench *bench, const struct sgemm *problem, cudaError_t error,
                       enum exit_code code, const char *call)
{
    char text[STEP_TEXT];

    if (error != cudaSuccess && bench->step->describe != NULL && problem->workspace != NULL) {
        bench->step->describe(problem, text, sizeof text);
        fail(code, "%s", text);
    }
    check_cuda(error, call, __FILE__, __LINE__);
}

struct sgemm prepare_step(struct bench *bench, float alpha, float beta)
{
    struct sgemm problem = {.m = bench->C.rows,
                            .n = bench->C.cols,
                            .k = bench->A.cols,
                            .alpha = alpha,
                            .A = matrix_elements(&bench->A),
                            .lda = bench->A.ld,
                            .B = matrix_elements(&bench->B),
                            .ldb = bench->B.ld,
                            .beta = beta,
                            .C = matrix_elements(&bench->C),
                            .ldc = bench->C.ld};

    if (bench->step->prepare != NULL)
        check_step(bench, &problem, bench->step->prepare(&problem), EXIT_USAGE, "step->prepare");
    return problem;
}

void release_step(struct bench *bench, struct sgemm *problem)
{
    if (bench->step->release != NULL)
        CHECK_CUDA(bench->step->release(problem));
}

void describe_step(struct bench *bench, float alpha, float beta, char *text, size_t size)
{
    struct sgemm problem;

    text[0] = '\0';
    if (bench->step->describe == NULL)
        return;
    problem = prepare_step(bench, alpha, beta);
    bench->step->describe(&problem, text, size);
    release_step(bench, &problem);
}

void launch_step(struct bench *bench, const struct sgemm *problem)
{
    check_step(bench, problem, bench->step->launch(problem, NULL), EXIT_CUDA, "step->launch");
}

// cuBLAS is column-major: what it takes for the transpose of each matrix is the matrix, and the
// transpose of A * B is B' * A'.
void launch_cublas(struct bench *bench, float alpha, float beta, float *result)
{
    CHECK_CUBLAS(cublasSgemm_64(bench->cublas, CUBLAS_OP_N, CUBLAS_OP_N, bench->C.cols,
                                bench->C.rows, bench->A.cols, &alpha, matrix_elements(&bench->B),
                                bench->B.ld, matrix_elements(&bench->A), bench->A.ld, &beta,
                                result + bench->C.guard + bench->C.offset, bench->C.ld));
}

void launch(struct bench *bench, enum side who, const struct sgemm *problem)
{
    if (who == STEP_SIDE)
        launch_step(bench, problem);
    else
        launch_cublas(bench, problem->alpha, problem->beta, bench->want);
}
