// library_threads [THREADS [PRODUCTS [SIZE]]]: several threads multiply at the same time, each with
// a stream, a handle and a C of its own, all with the same A and B. Linked with build/libsgemm.a
// alone.
//
// Row i of A holds i % 8 + 1 everywhere, column j of B holds j % 4 + 1. So element (i, j) of the
// product of k terms is k times the two, exact in float32, and what one thread computes with its
// alpha is nobody else's result.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sgemm.h>
#include <stdlib.h>

#include "tap.h"

enum {
    MOST_THREADS = 64,
};

static int threads = 4, products = 6, size = 70;
static float *a, *b; // on the device, size x size
static pthread_barrier_t start;

struct worker {
    pthread_t thread;
    int number;
    int64_t wrong;     // elements
    cudaError_t error; // of the CUDA runtime
    enum sgemm_status status;
};

// A product of a shape that differs from thread to thread, and its elements.
static void multiply_once(struct worker *worker, struct sgemm_handle *handle, cudaStream_t stream,
                          float *c, float *host, int turn)
{
    const int64_t m = size - (worker->number + turn) % 3, n = size - turn % 5;
    const int64_t k = size - (3 * worker->number + turn) % 8;
    const float alpha = (float)(worker->number + 1);
    const size_t bytes = (size_t)(m * n) * sizeof *c;
    int64_t i;

    worker->status = sgemm(handle, m, n, k, alpha, a, size, b, size, 0, c, n);
    if (worker->status != SGEMM_OK)
        return;
    worker->error = cudaMemcpyAsync(host, c, bytes, cudaMemcpyDeviceToHost, stream);
    if (worker->error == cudaSuccess)
        worker->error = cudaStreamSynchronize(stream);
    for (i = 0; i < m * n; i++)
        worker->wrong += host[i] != alpha * (float)(k * (i / n % 8 + 1) * (i % n % 4 + 1));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const size_t bytes = (size_t)size * (size_t)size * sizeof *a;
    struct sgemm_handle *handle = NULL;
    cudaStream_t stream = NULL;
    float *c = NULL;
    float *host = malloc(bytes);
    int turn;

    worker->error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (worker->error == cudaSuccess)
        worker->error = cudaMalloc((void **)&c, bytes);
    worker->status = sgemm_create(&handle, stream);
    pthread_barrier_wait(&start);
    for (turn = 0; turn < products && worker->error == cudaSuccess && worker->status == SGEMM_OK;
         turn++)
        multiply_once(worker, handle, stream, c, host, turn);
    sgemm_destroy(handle);
    cudaFree(c);
    cudaStreamDestroy(stream);
    free(host);
    return NULL;
}

static float *make_matrix(bool rows)
{
    const size_t bytes = (size_t)size * (size_t)size * sizeof(float);
    float *host = malloc(bytes);
    float *device = NULL;
    int i;

    for (i = 0; i < size * size; i++)
        host[i] = (float)(rows ? i / size % 8 + 1 : i % size % 4 + 1);
    if (cudaMalloc((void **)&device, bytes) == cudaSuccess)
        cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
    free(host);
    return device;
}

// 1 to `most`, or ends the program.
static int read_number(const char *text, int most)
{
    char *end;
    const long number = strtol(text, &end, 10);

    if (end == text || *end != '\0' || number < 1 || number > most) {
        fprintf(stderr, "library_threads: '%s' is not a number of 1 to %d\n", text, most);
        exit(2);
    }
    return (int)number;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    int i;

    threads = argc > 1 ? read_number(argv[1], MOST_THREADS) : threads;
    products = argc > 2 ? read_number(argv[2], 1000000) : products;
    size = argc > 3 ? read_number(argv[3], 4096) : size;
    a = make_matrix(true);
    b = make_matrix(false);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (i = 0; i < threads; i++) {
        workers[i].number = i;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        is_text(cudaGetErrorName(workers[i].error), "cudaSuccess", "the CUDA runtime");
        is_text(sgemm_status_text(workers[i].status), "no error", "sgemm()");
        ok(workers[i].wrong == 0, "thread %d: %" PRId64 " wrong elements in %d products", i,
           workers[i].wrong, products);
    }
    pthread_barrier_destroy(&start);
    cudaFree(a);
    cudaFree(b);
    return finish();
}
