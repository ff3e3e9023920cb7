// library_calls [TABLE]: sgemm() as a program calls it: what it computes, what it refuses and how
// it says so. Linked with build/libsgemm.a alone, for a GPU and for the emulator.
#include <cuda_runtime_api.h>
#include <sgemm.h>
#include <stdlib.h>

#include "tap.h"

enum {
    WORDS = 1 << 16, // of device memory for each matrix, one more for pointers off by one
};

static struct sgemm_handle *handle;
static float *a, *b, *c; // on the device
static float host_a[WORDS + 1], host_b[WORDS + 1], host_c[WORDS + 1], before[WORDS + 1];

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    printf("Bail out! %s\n", cudaGetErrorString(error));
    exit(1);
}

static float *allocate(const float *host)
{
    float *device;

    check(cudaMalloc((void **)&device, sizeof host_a));
    check(cudaMemcpy(device, host, sizeof host_a, cudaMemcpyHostToDevice));
    return device;
}

static void make_matrices(void)
{
    int i;

    for (i = 0; i <= WORDS; i++) {
        host_a[i] = (float)(i % 7 - 3);
        host_b[i] = (float)(i % 11 - 5);
        host_c[i] = (float)(i % 5);
    }
    memcpy(before, host_c, sizeof before);
    a = allocate(host_a);
    b = allocate(host_b);
    c = allocate(host_c);
}

// A product of m x k and k x n elements, rows `extra` longer than they need be, all matrices `off`
// elements from where they are aligned.
struct product {
    int64_t m, n, k, extra, off;
    float alpha, beta;
};

static float expected(const struct product *p, int64_t word)
{
    const int64_t lda = p->k + p->extra, ldb = p->n + p->extra, ldc = p->n + p->extra;
    const int64_t row = (word - p->off) / ldc, col = (word - p->off) % ldc;
    float sum = 0;
    int64_t i;

    if (word < p->off || row >= p->m || col >= p->n)
        return before[word];
    for (i = 0; i < p->k; i++)
        sum += host_a[p->off + row * lda + i] * host_b[p->off + i * ldb + col];
    return p->alpha * sum + p->beta * before[word];
}

static bool is_untouched(void)
{
    int i = 0;

    check(cudaMemcpy(host_c, c, sizeof host_c, cudaMemcpyDeviceToHost));
    while (i <= WORDS && host_c[i] == before[i])
        i++;
    return i > WORDS;
}

static bool is_right(const struct product *p)
{
    int64_t i;

    check(cudaMemcpy(host_c, c, sizeof host_c, cudaMemcpyDeviceToHost));
    for (i = 0; i <= WORDS; i++)
        if (host_c[i] != expected(p, i))
            return false;
    return true;
}

static enum sgemm_status multiply(const struct product *p, const float *from_a, const float *from_b)
{
    check(cudaMemcpy(c, before, sizeof before, cudaMemcpyHostToDevice));
    return sgemm(handle, p->m, p->n, p->k, p->alpha, from_a, p->k + p->extra, from_b,
                 p->n + p->extra, p->beta, c + p->off, p->n + p->extra);
}

static void test_products(void)
{
    static const struct product products[] = {
        {128, 128, 64, 0, 0, 1, 0}, {130, 200, 20, 0, 0, 2, 0.5F}, {130, 200, 20, 4, 0, 1, -1},
        {129, 201, 19, 0, 0, 1, 0}, {64, 64, 64, 1, 0, 1, 1},      {64, 64, 64, 0, 1, 1, 1},
        {1, 1, 1, 0, 0, 1, 0},      {1, 300, 40, 0, 0, 1, 0},      {300, 1, 40, 0, 0, 1, 0},
        {64, 64, 0, 1, 0, 1, 2},    {64, 64, 64, 0, 0, 0, 2},      {64, 64, 64, 0, 0, 0, 0},
        {0, 64, 64, 0, 0, 1, 0},    {64, 0, 64, 1, 0, 1, 0},       {0, 0, 0, 1, 0, 1, 0},
    };
    size_t i;

    for (i = 0; i < sizeof products / sizeof *products; i++) {
        const struct product *p = &products[i];

        ok(multiply(p, a + p->off, b + p->off) == SGEMM_OK && is_right(p),
           "%" PRId64 "x%" PRId64 "x%" PRId64 ", %" PRId64 " more a row, %" PRId64
           " off, alpha %g, beta %g",
           p->m, p->n, p->k, p->extra, p->off, (double)p->alpha, (double)p->beta);
    }
}

// What is not read may be NULL.
static void test_null_operands(void)
{
    const struct product no_alpha = {20, 30, 40, 0, 0, 0, 3}, no_k = {20, 30, 0, 1, 0, 1, 3};

    ok(multiply(&no_alpha, NULL, NULL) == SGEMM_OK && is_right(&no_alpha),
       "alpha = 0, A and B NULL");
    ok(multiply(&no_k, NULL, NULL) == SGEMM_OK && is_right(&no_k), "k = 0, A and B NULL");
    is_integer(sgemm(handle, 0, 5, 5, 1, NULL, 5, NULL, 5, 0, NULL, 5), SGEMM_OK,
               "m = 0, all of them NULL");
}

// More pairs of matrices than a handle has workspaces: the first are given back while others are
// used. Each pair has one matrix in common with the one before.
static void test_many_matrices(void)
{
    const struct product p = {8, 16, 64, 0, 0, 1, 0};
    int wrong = 0;
    int i;

    for (i = 0; i < 3 * SGEMM_WORKSPACES; i++) {
        const int64_t at_a = 512 * (int64_t)(i / 2); // 2 KiB: aligned for textures
        const int64_t at_b = 512 * (int64_t)((i + 1) / 2);
        float got, wanted = 0;
        int j;

        wrong += multiply(&p, a + at_a, b + at_b) != SGEMM_OK;
        check(cudaMemcpy(&got, c, sizeof got, cudaMemcpyDeviceToHost));
        for (j = 0; j < p.k; j++)
            wanted += host_a[at_a + j] * host_b[at_b + j * p.n];
        wrong += got != wanted;
    }
    is_integer(wrong, 0, "one product each of more matrices than there are workspaces");
}

static void test_streams(void)
{
    const struct product p = {100, 120, 40, 0, 0, 1, 0};
    cudaStream_t stream;

    check(cudaStreamCreate(&stream));
    is_integer(sgemm_set_stream(handle, stream), SGEMM_OK, "another stream");
    is_integer(multiply(&p, a, b), SGEMM_OK, "takes a product");
    is_integer(sgemm_set_stream(handle, NULL), SGEMM_OK, "and back");
    check(cudaStreamSynchronize(stream));
    ok(is_right(&p), "which is right");
    check(cudaStreamDestroy(stream));
}

// The calls that sgemm() refuses, by what they differ in from one that it takes.
struct call {
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float *c;
    int64_t ldc;
};

static void test_refused(struct call call, enum sgemm_status wanted, const char *message)
{
    enum sgemm_status status;

    check(cudaMemcpy(c, before, sizeof before, cudaMemcpyHostToDevice));
    status = sgemm(handle, call.m, call.n, call.k, 1, call.a, call.lda, call.b, call.ldb, 0, call.c,
                   call.ldc);
    if (!ok(status == wanted && strstr(sgemm_message(handle), message) != NULL, "%s", message))
        printf("# status %d: %s\n", (int)status, sgemm_message(handle));
    ok(is_untouched(), "and C is as it was");
}

static void test_refusals(void)
{
    const int64_t far = INT64_MAX / 4;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nobody follows it
    const float *odd = (const float *)((uintptr_t)a + 2);

    test_refused((struct call){-1, 4, 4, a, 4, b, 4, c, 4}, SGEMM_NEGATIVE_SIZE, "m is -1");
    test_refused((struct call){4, -2, 4, a, 4, b, 4, c, 4}, SGEMM_NEGATIVE_SIZE, "n is -2");
    test_refused((struct call){4, 4, -3, a, 4, b, 4, c, 4}, SGEMM_NEGATIVE_SIZE, "k is -3");
    test_refused((struct call){4, 5, 6, a, 5, b, 5, c, 5}, SGEMM_SHORT_LEADING_DIMENSION,
                 "lda is 5: it is at least max(1, k) = 6");
    test_refused((struct call){4, 5, 6, a, 6, b, 4, c, 5}, SGEMM_SHORT_LEADING_DIMENSION,
                 "ldb is 4: it is at least max(1, n) = 5");
    test_refused((struct call){4, 5, 6, a, 6, b, 5, c, -5}, SGEMM_SHORT_LEADING_DIMENSION,
                 "ldc is -5: it is at least max(1, n) = 5");
    test_refused((struct call){0, 0, 0, a, 0, b, 1, c, 1}, SGEMM_SHORT_LEADING_DIMENSION,
                 "lda is 0: it is at least max(1, k) = 1");
    test_refused((struct call){4, 4, 4, NULL, 4, b, 4, c, 4}, SGEMM_NULL_MATRIX, "A is NULL");
    test_refused((struct call){4, 4, 4, a, 4, NULL, 4, c, 4}, SGEMM_NULL_MATRIX, "B is NULL");
    test_refused((struct call){4, 4, 4, a, 4, b, 4, NULL, 4}, SGEMM_NULL_MATRIX, "C is NULL");
    test_refused((struct call){4, 4, 4, odd, 4, b, 4, c, 4}, SGEMM_MISALIGNED_MATRIX, "A is at 0x");
    test_refused((struct call){4, 4, 4, a, far, b, 4, c, 4}, SGEMM_TOO_LARGE, "A of 4 rows");
    test_refused((struct call){INT64_MAX, 4, 4, a, 4, b, 4, c, 4}, SGEMM_TOO_LARGE, "A of ");
    test_refused((struct call){0, INT64_MAX, 4, a, 4, b, INT64_MAX, c, INT64_MAX}, SGEMM_TOO_LARGE,
                 "B of 4 rows");
    is_integer(sgemm(NULL, 1, 1, 1, 1, a, 1, b, 1, 0, c, 1), SGEMM_NO_HANDLE, "no handle");
}

static void test_without_handle(void)
{
    int i;

    is_integer(sgemm_create(NULL, NULL), SGEMM_NO_HANDLE, "nowhere to put a handle");
    is_integer(sgemm_destroy(NULL), SGEMM_OK, "destroying no handle");
    is_integer(sgemm_set_stream(NULL, NULL), SGEMM_NO_HANDLE, "a stream for no handle");
    ok(strlen(sgemm_message(NULL)) > 0, "a message of no handle: %s", sgemm_message(NULL));
    for (i = SGEMM_OK; i <= SGEMM_CUDA_ERROR; i++)
        ok(strlen(sgemm_status_text((enum sgemm_status)i)) > 0, "status %d: %s", i,
           sgemm_status_text((enum sgemm_status)i));
    is_text(sgemm_status_text((enum sgemm_status)1000), "not a status of sgemm()", "status 1000");
}

int main(int argc, char **argv)
{
    make_matrices();
    if (!ok(sgemm_create(&handle, NULL) == SGEMM_OK, "a handle"))
        return finish();
    is_text(sgemm_message(handle), "", "no error yet");
    if (argc > 1)
        ok(sgemm_load_table(handle, argv[1]) == SGEMM_OK, "a table %s", sgemm_message(handle));
    test_products();
    test_null_operands();
    test_many_matrices();
    test_streams();
    test_refusals();
    test_without_handle();
    is_integer(sgemm_destroy(handle), SGEMM_OK, "the handle is destroyed");
    check(cudaFree(a));
    check(cudaFree(b));
    check(cudaFree(c));
    return finish();
}
