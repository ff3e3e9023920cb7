// sgemm(): C := alpha * A * B + beta * C in float32, on the GPU. The public header of
// build/libsgemm.a (make libsgemm); for C11 and C++. Link with the CUDA runtime: -lcudart_static
// -ldl -lrt -lpthread.
//
// A handle belongs to one device and one stream, and one thread at a time may use it: give each
// thread that multiplies its own. There is no other state, so handles do not disturb each other.
#ifndef SGEMM_H
#define SGEMM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a call has come to. Nothing is started and C is as it was, unless it is SGEMM_OK.
enum sgemm_status {
    SGEMM_OK = 0,
    SGEMM_NO_HANDLE,               // the handle, or where to put it, is NULL
    SGEMM_NEGATIVE_SIZE,           // m, n or k
    SGEMM_SHORT_LEADING_DIMENSION, // lda, ldb or ldc is less than a row
    SGEMM_TOO_LARGE,               // the last element of a matrix is out of any pointer's reach
    SGEMM_NULL_MATRIX,             // one that has elements and is read or written
    SGEMM_MISALIGNED_MATRIX,       // one that does not start at a multiple of 4 bytes
    SGEMM_WRONG_DEVICE,            // the current device is not the one the handle was made on
    SGEMM_STREAM_CAPTURED,         // the stream is being captured into a graph: not supported
    SGEMM_OUT_OF_HOST_MEMORY,
    SGEMM_UNREADABLE_TABLE, // the file cannot be opened or read
    SGEMM_BAD_TABLE,        // what it holds is not a table for this device
    SGEMM_CUDA_ERROR,       // a call of the CUDA runtime did not succeed
};

struct sgemm_handle;

// Makes a handle for the current device and this stream (NULL: the default stream) and leaves it in
// *handle, where it is NULL after any error. The caller owns it. A handle takes some kilobytes of
// host memory and, as products ask for them, texture objects over A and B, at most
// SGEMM_WORKSPACES products' at a time, and in device memory workspaces for the tiles that blocks
// share: 256, 128 and 64 KiB for each multiprocessor. A product that is the first to
// need one waits for the device.
enum sgemm_status sgemm_create(struct sgemm_handle **handle, cudaStream_t stream);

// Waits for the products that use the handle's workspace, and frees everything. NULL is fine.
enum sgemm_status sgemm_destroy(struct sgemm_handle *handle);

// From now on products go to this stream. Waits for those before if they use the handle's
// workspace.
enum sgemm_status sgemm_set_stream(struct sgemm_handle *handle, cudaStream_t stream);

// C := alpha * A * B + beta * C. All matrices are in device memory and row-major: element (i, j) of
// A is A[i * lda + j]. Lengths are in elements, not bytes; none has an upper limit of its own.
//   A is m x k, lda >= max(1, k);  B is k x n, ldb >= max(1, n);  C is m x n, ldc >= max(1, n).
// m, n and k may be 0. Pointers are multiples of 4 bytes; multiples of 512, with k, n, lda, ldb and
// ldc multiples of 4, leave the most kernels to choose from. C must not overlap A or B.
// As in BLAS: with alpha = 0 or k = 0 neither A nor B is read, with beta = 0 C is not read; a
// matrix that is not touched may be NULL. There is no argument for a transposed matrix. For
// column-major matrices swap: B, n and ldb take the places of A, m and lda
// (docs/examples/column_major.c).
//
// Starts the product on the handle's stream and returns: it is finished when the stream is. Returns
// later only when the handle's workspaces are all in use: then it waits for the stream first.
// Freeing A, B or C is safe once the stream has finished.
enum sgemm_status sgemm(struct sgemm_handle *handle, int64_t m, int64_t n, int64_t k, float alpha,
                        const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
                        float *C, int64_t ldc);

enum {
    SGEMM_WORKSPACES = 32
};

// Chooses kernels by what `make tune` has measured on this GPU, and wrote to this file, in place of
// what is built in. After an error the handle goes on as before.
enum sgemm_status sgemm_load_table(struct sgemm_handle *handle, const char *path);

// The last error of this handle in one line, without a newline: what was wrong, and what is
// allowed.
// "" if there was none. The text is the handle's, until its next call.
const char *sgemm_message(const struct sgemm_handle *handle);

// The same for a status alone, for where there is no handle. The text is constant.
const char *sgemm_status_text(enum sgemm_status status);

#ifdef __cplusplus
}
#endif

#endif
