// How products of warpgroups round: the sums of wgmma as the bits that come of them, and how many
// of them differ from those of mma with the same operands.
//
// A line of output is "one,KIND,DIFFERENT" and the 64x8 sums of one product, or
// "two,KIND,DIFFERENT" and those where the product is added once more before the first has been
// waited for.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

#include "tensor_operands.h"

enum {
    M = 64,
    N = 8,
    K = 8,
    THREADS = 128,
    SUMS = M * N / THREADS,
    EACH = 2, // products of a kind
    SETS = KINDS * EACH,
    CORE_BYTES = 128, // of 8 rows of 4 terms
    A_LEADING = M / 8 * CORE_BYTES,
    B_LEADING = CORE_BYTES,
};

struct operands {
    uint32_t a[M][K], b[K][N], c[M][N];
    uint32_t wgmma[2][M][N], mma[2][M][N]; // results
};

// Matrices of whole core matrices, those of one column of them after the other.
struct tiles {
    uint32_t a[K / 4][M][4], b[K / 4][N][4];
};

static __device__ int row_of(int sum)
{
    return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4 + sum / 2 * 8;
}

static __device__ int col_of(int sum)
{
    return (int)threadIdx.x % 4 * 2 + sum % 2;
}

static __device__ uint64_t descriptor(const void *tile, int leading)
{
    return (uint64_t)__cvta_generic_to_shared(tile) >> 4 | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(CORE_BYTES >> 4) << 32;
}

static __device__ void stash(struct tiles *tiles, const struct operands *o)
{
    for (int i = (int)threadIdx.x; i < M * K; i += THREADS)
        tiles->a[i % K / 4][i / K][i % 4] = o->a[i / K][i % K];
    for (int i = (int)threadIdx.x; i < N * K; i += THREADS)
        tiles->b[i % K / 4][i / K][i % 4] = o->b[i % K][i / K];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

static __device__ void add_product(uint32_t sums[SUMS], uint64_t a, uint64_t b)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.eq.b32 adds, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3}, %4, %5, adds, 1, 1;\n"
                 "}"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "l"(a), "l"(b)
                 : "memory");
}

static __global__ void by_wgmma(struct operands *all, int products)
{
    __shared__ __align__(128) struct tiles tiles;
    struct operands *o = &all[blockIdx.x];
    const uint64_t a = descriptor(tiles.a, A_LEADING);
    const uint64_t b = descriptor(tiles.b, B_LEADING);
    uint32_t sums[SUMS];

    stash(&tiles, o);
    for (int i = 0; i < SUMS; i++) {
        sums[i] = o->c[row_of(i)][col_of(i)];
        asm volatile("" : "+r"(sums[i])::"memory"); // written before the fence
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    add_product(sums, a, b);
    if (products == 2)
        add_product(sums, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;" ::
                     : "memory");
    for (int i = 0; i < SUMS; i++)
        o->wgmma[products - 1][row_of(i)][col_of(i)] = sums[i];
}

static __global__ void by_mma(struct operands *all)
{
    struct operands *o = &all[blockIdx.x];
    const int q = row_of(0), r = (int)threadIdx.x % 4, column = (int)threadIdx.x % 32 / 4;
    uint32_t sums[SUMS];

    for (int i = 0; i < SUMS; i++)
        sums[i] = o->c[row_of(i)][col_of(i)];
    for (int product = 0; product < 2; product++) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                     : "r"(o->a[q][r]), "r"(o->a[q + 8][r]), "r"(o->a[q][r + 4]),
                       "r"(o->a[q + 8][r + 4]), "r"(o->b[r][column]), "r"(o->b[r + 4][column]));
        for (int i = 0; i < SUMS; i++)
            o->mma[product][row_of(i)][col_of(i)] = sums[i];
    }
}

static void fill(struct operands *o, int kind, int way)
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            o->a[i][k] = way == 1 && next_random() % 4 == 0 ? 0 : number(kind);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            o->b[k][j] = number(kind);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            o->c[i][j] = old_value(kind, way);
}

static void print_sums(const char *name, int kind, uint32_t wgmma[M][N], uint32_t mma[M][N])
{
    int different = 0;

    for (int x = 0; x < M * N; x++)
        different += wgmma[x / N][x % N] != mma[x / N][x % N];
    printf("%s,%d,%d", name, kind, different);
    for (int x = 0; x < M * N; x++)
        printf(",%08x", wgmma[x / N][x % N]);
    printf("\n");
}

int main(void)
{
    static struct operands all[SETS];
    struct operands *device;

    for (int i = 0; i < SETS; i++)
        fill(&all[i], i / EACH, i % 3);
    cudaMalloc((void **)&device, sizeof all);
    cudaMemcpy(device, all, sizeof all, cudaMemcpyHostToDevice);
    by_wgmma<<<SETS, THREADS>>>(device, 1);
    by_wgmma<<<SETS, THREADS>>>(device, 2);
    by_mma<<<SETS, THREADS>>>(device);
    const cudaError_t error = cudaMemcpy(all, device, sizeof all, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "wgmma: %s\n", cudaGetErrorString(error));
        return 1;
    }
    for (int i = 0; i < SETS; i++) {
        print_sums("one", i / EACH, all[i].wgmma[0], all[i].mma[0]);
        print_sums("two", i / EACH, all[i].wgmma[1], all[i].mma[1]);
    }
    cudaFree(device);
    return 0;
}
