// The place where a step and cuBLAS work on the same problem: device memory, events, and a launch
// of each of the two.
#ifndef BENCH_H
#define BENCH_H

#include <cublas_v2.h>

#include "device.h"
#include "matrix.h"
#include "options.h"
#include "reference.h"
#include "step.h"

enum {
    STAGING_BUFFERS = 3,
    STAGING_WORDS = 1 << 20, // how much of a matrix the host handles at a time
};

struct bench {
    const struct step *step;
    const struct options *options;
    const struct device *device;
    cublasHandle_t cublas;
    struct matrix A, B, C;
    // Device memory laid out as C is: cuBLAS's result, and either the sum of |a * b| of every
    // element or, for timing, what C held before the product.
    float *want, *scratch;
    void *flush; // twice the size of L2; writing to it pushes everything else out
    size_t flush_bytes;
    float *staging[STAGING_BUFFERS]; // pinned host memory
    cudaEvent_t start, stop;
};

// Allocates everything once, for the largest shape. Where the device has not enough free memory,
// one line with the bytes needed and free, and exit 3. The three arguments must outlive the bench.
struct bench open_bench(const struct step *step, const struct options *options,
                        const struct device *device);
void close_bench(struct bench *bench);

// Makes A, B and C matrices of this shape; what they hold is undefined until they are filled. Where
// the step needs more blocks than a grid can have, one line with the limit, and exit 3.
void set_shape(struct bench *bench, const struct shape *shape);

// How many words of an allocation the host handles at a time, from word `first` on; 0 at its end.
int64_t chunk_size(const struct matrix *matrix, int64_t first);

// Writes a matrix's whole allocation on the device as `content` and `seed` say (see matrix.h).
void fill_matrix(struct bench *bench, struct matrix *matrix, enum content content, int64_t seed);

// Copies all words of C's allocation between it, `want` and `scratch`.
void copy_like_c(struct bench *bench, float *to, const float *from);

// The problem in the form in which a step takes it, with a workspace that it has prepared.
struct sgemm prepare_step(struct bench *bench, float alpha, float beta);
void release_step(struct bench *bench, struct sgemm *problem);

// What the step would run for the problem, in a few words; "" where it has nothing to choose.
void describe_step(struct bench *bench, float alpha, float beta, char *text, size_t size);

// Each starts one product on the default stream and returns without waiting. The step writes to C,
// cuBLAS to `result`, laid out as C is. cuBLAS is pedantic float32 on row-major matrices; it must
// not be called on a product that reads no operands or has no elements.
void launch_step(struct bench *bench, const struct sgemm *problem);
void launch_cublas(struct bench *bench, float alpha, float beta, float *result);

// The one or the other, cuBLAS with its result in `want`: the two that are compared.
enum side {
    STEP_SIDE,
    CUBLAS_SIDE,
    SIDES
};
void launch(struct bench *bench, enum side who, const struct sgemm *problem);

#endif
