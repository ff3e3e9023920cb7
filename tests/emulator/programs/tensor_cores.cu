// How tensor cores round: sums of products of all kinds, and conversions to TF32, each as the bits
// that come of it. The operands come from a generator of numbers, so that every run has the same.
//
// A line of output is "mma,KIND" and the 16x8 results of one instruction, or "cvt" and pairs of a
// number and its conversion.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

#include "tensor_operands.h"

enum {
    EACH = 10, // instructions of a kind
    MMAS = KINDS * EACH,
    CONVERSIONS = 512,
};

struct operands {
    uint32_t a[16][8], b[8][8], c[16][8], d[16][8];
};

static __global__ void multiply(struct operands *all)
{
    struct operands *o = &all[blockIdx.x];
    const int q = threadIdx.x / 4, r = threadIdx.x % 4;

    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
                 : "=r"(o->d[q][2 * r]), "=r"(o->d[q][2 * r + 1]), "=r"(o->d[q + 8][2 * r]),
                   "=r"(o->d[q + 8][2 * r + 1])
                 : "r"(o->a[q][r]), "r"(o->a[q + 8][r]), "r"(o->a[q][r + 4]),
                   "r"(o->a[q + 8][r + 4]), "r"(o->b[r][q]), "r"(o->b[r + 4][q]),
                   "r"(o->c[q][2 * r]), "r"(o->c[q][2 * r + 1]), "r"(o->c[q + 8][2 * r]),
                   "r"(o->c[q + 8][2 * r + 1]));
}

static __global__ void convert(const uint32_t *from, uint32_t *to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(to[i]) : "f"(__uint_as_float(from[i])));
}

static void fill(struct operands *o, int kind, int way)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 8; k++)
            o->a[i][k] = way == 1 && next_random() % 4 == 0 ? 0 : number(kind);
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 8; j++)
            o->b[k][j] = number(kind);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            o->c[i][j] = old_value(kind, way);
}

int main(void)
{
    static struct operands all[MMAS];
    static uint32_t from[CONVERSIONS], to[CONVERSIONS];
    struct operands *device;
    uint32_t *device_from, *device_to;

    for (int i = 0; i < MMAS; i++)
        fill(&all[i], i / EACH, i % 3);
    for (int i = 0; i < CONVERSIONS; i++) // half of them near a tie
        from[i] = i % 2 == 0 ? number(i / 2 % KINDS) | (next_random() & 0x1fff)
                             : (number(7) & 0xffffe000) + 0xfff + next_random() % 3;
    cudaMalloc((void **)&device, sizeof all);
    cudaMalloc((void **)&device_from, sizeof from);
    cudaMalloc((void **)&device_to, sizeof to);
    cudaMemcpy(device, all, sizeof all, cudaMemcpyHostToDevice);
    cudaMemcpy(device_from, from, sizeof from, cudaMemcpyHostToDevice);
    multiply<<<MMAS, 32>>>(device);
    convert<<<CONVERSIONS / 32, 32>>>(device_from, device_to);
    cudaMemcpy(all, device, sizeof all, cudaMemcpyDeviceToHost);
    const cudaError_t error = cudaMemcpy(to, device_to, sizeof to, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
        fprintf(stderr, "tensor_cores: %s\n", cudaGetErrorString(error));
        return 1;
    }
    for (int i = 0; i < MMAS; i++) {
        printf("mma,%d", i / EACH);
        for (int x = 0; x < 16 * 8; x++)
            printf(",%08x", all[i].d[x / 8][x % 8]);
        printf("\n");
    }
    for (int i = 0; i < CONVERSIONS; i += 8) {
        printf("cvt");
        for (int x = i; x < i + 8; x++)
            printf(",%08x,%08x", from[x], to[x]);
        printf("\n");
    }
    cudaFree(device);
    cudaFree(device_from);
    cudaFree(device_to);
    return 0;
}
