// What a GPU says and does of the facts in docs/emulator-facts.tsv that no counter shows. Without
// an argument it prints "name,value" for each; with "occupancy", how many blocks of kernels with
// various registers, threads and shared memory an SM holds. make gpu keeps both as CSV.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 128, // 512 bytes, the alignment of textures
};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "device_facts: %s: %s\n", cudaGetErrorName(error),
                cudaGetErrorString(error));
        exit(3);
    }
}

static int attribute(enum cudaDeviceAttr which)
{
    int value;
    check(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

// Facts that take a kernel -----------------------------------------------------------------------

static __global__ void where_shared_starts(unsigned *result)
{
    __shared__ unsigned word;
    word = (unsigned)__cvta_generic_to_shared(&word);
    *result = word;
}

static __global__ void fetch_outside(cudaTextureObject_t texture, unsigned *result)
{
    *result = __float_as_uint(tex1Dfetch<float4>(texture, WORDS / 4 + (int)threadIdx.x).x) |
              __float_as_uint(tex1Dfetch<float4>(texture, -1 - (int)threadIdx.x).w);
}

// Copies 4 bytes of 16; what is in shared memory before is not 0.
static __global__ void copy_part(const float *data, unsigned *result)
{
    __shared__ __align__(16) unsigned words[4];
    words[0] = words[1] = words[2] = words[3] = ~0U;
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, 4;\n"
                 "cp.async.wait_all;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(words)), "l"(data)
                 : "memory");
#else
    words[1] = words[2] = words[3] = 0;
#endif
    *result = words[1] | words[2] | words[3];
}

static unsigned *answer; // on the device

static void print_answer(const char *name)
{
    unsigned value;
    check(cudaGetLastError());
    check(cudaMemcpy(&value, answer, sizeof value, cudaMemcpyDeviceToHost));
    printf("%s,%u\n", name, value);
}

static cudaTextureObject_t texture_of(float *data)
{
    struct cudaResourceDesc resource;
    struct cudaTextureDesc description;
    cudaTextureObject_t texture;
    memset(&resource, 0, sizeof resource);
    memset(&description, 0, sizeof description);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
    resource.res.linear.sizeInBytes = WORDS * sizeof *data;
    check(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    return texture;
}

static void print_behaviour(void)
{
    float *data;
    check(cudaMalloc((void **)&answer, sizeof *answer));
    check(cudaMalloc((void **)&data, 4 * WORDS * sizeof *data));
    check(cudaMemset(data, 0x3f, 4 * WORDS * sizeof *data));
    where_shared_starts<<<1, 1>>>(answer);
    print_answer("shared_start");
    const cudaTextureObject_t texture = texture_of(data + WORDS);
    fetch_outside<<<1, 1>>>(texture, answer);
    print_answer("texels_outside");
    check(cudaDestroyTextureObject(texture));
    copy_part<<<1, 1>>>(data, answer);
    print_answer("copied_bytes_beyond_size");
    check(cudaFree(data));
    check(cudaFree(answer));
}

static void print_limits(void)
{
    static const struct {
        const char *name;
        enum cudaDeviceAttr which;
    } limits[] = {
        {"sm_threads", cudaDevAttrMaxThreadsPerMultiProcessor},
        {"sm_blocks", cudaDevAttrMaxBlocksPerMultiprocessor},
        {"sm_registers", cudaDevAttrMaxRegistersPerMultiprocessor},
        {"sm_shared_bytes", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
        {"reserved_shared_bytes", cudaDevAttrReservedSharedMemoryPerBlock},
        {"most_texels", cudaDevAttrMaxTexture1DLinearWidth},
        {"most_blocks_x", cudaDevAttrMaxGridDimX},
        {"most_blocks_yz", cudaDevAttrMaxGridDimY},
        {"most_threads_of_a_block", cudaDevAttrMaxThreadsPerBlock},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        printf("%s,%d\n", limits[i].name, attribute(limits[i].which));
}

// Occupancy --------------------------------------------------------------------------------------

// Holds `count` values in registers.
static __device__ void hold(float *data, int count)
{
    float values[256];
#pragma unroll
    for (int i = 0; i < count; i++)
        values[i] = data[i * (int)threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < count; i++)
        data[i + 1000 * (int)threadIdx.x] = values[i] * values[(i + 1) % count];
}

static __global__ __launch_bounds__(1024) void hold_4(float *data)
{
    hold(data, 4);
}

static __global__ __launch_bounds__(1024) void hold_24(float *data)
{
    hold(data, 24);
}

static __global__ __launch_bounds__(768) void hold_48(float *data)
{
    hold(data, 48);
}

static __global__ __launch_bounds__(512) void hold_80(float *data)
{
    hold(data, 80);
}

static __global__ __launch_bounds__(384) void hold_128(float *data)
{
    hold(data, 128);
}

static __global__ __launch_bounds__(256) void hold_220(float *data)
{
    hold(data, 220);
}

static void print_blocks_of(void (*kernel)(float *), int most_shared)
{
    static const int shared[] = {0,     100,   1000,  3000,  4096,  8192,   12000,
                                 16896, 25088, 33000, 49152, 70000, 100000, 232448};
    struct cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
    for (size_t i = 0; i < sizeof shared / sizeof *shared && shared[i] <= most_shared; i++)
        for (int threads = 32; threads <= attributes.maxThreadsPerBlock; threads += 96) {
            int blocks;
            check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                                (size_t)shared[i]));
            printf("%d,%d,%d,%d\n", attributes.numRegs, threads, shared[i], blocks);
        }
}

static void print_occupancy(void)
{
    static void (*const kernels[])(float *) = {hold_4,  hold_24,  hold_48,
                                               hold_80, hold_128, hold_220};
    const int most_shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    printf("registers,threads,shared_bytes,blocks\n");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        print_blocks_of(kernels[i], most_shared);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "occupancy") == 0) {
        print_occupancy();
        return 0;
    }
    printf("name,value\n");
    print_limits();
    print_behaviour();
    return 0;
}
