// Texture objects, what is never freed, instructions that nobody knows, and where shared memory
// starts.
#include "cases.h"
#include "poison.h"

static __global__ void fetch(float4 *out, cudaTextureObject_t texture, int offset)
{
    out[threadIdx.x] = tex1Dfetch<float4>(texture, (int)threadIdx.x + offset);
}

// Video instructions are none of the emulator's business.
static __global__ void add_if(float *data, int add)
{
    if (add)
        asm volatile("{ .reg .u32 sum; vadd.u32.u32.u32.sat sum, 1, 2; }");
    data[threadIdx.x] += 1;
}

// Two buffers of 4 KiB, switched by an exclusive or with their size: right only where the first one
// starts at a multiple of twice that.
static __global__ void switch_buffers(float *out)
{
    __shared__ float buffers[2048];
    unsigned address = (unsigned)__cvta_generic_to_shared(buffers) + 3072;
    buffers[threadIdx.x + 768] = 1;
    buffers[threadIdx.x + 768 + 1024] = 2;
    __syncthreads();
    address ^= 4096;
    asm volatile("ld.shared.f32 %0, [%1];"
                 : "=f"(out[threadIdx.x])
                 : "r"(address + 4 * threadIdx.x)
                 : "memory");
}

static cudaTextureObject_t new_texture(float *data, size_t bytes)
{
    struct cudaResourceDesc resource;
    struct cudaTextureDesc description;
    cudaTextureObject_t texture = 0;
    memset(&resource, 0, sizeof resource);
    memset(&description, 0, sizeof description);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
    resource.res.linear.sizeInBytes = bytes;
    description.readMode = cudaReadModeElementType;
    cudaCreateTextureObject(&texture, &resource, &description, NULL);
    return texture;
}

// Fetches texels -2 to 29 of 20.
static void texture_edges(void)
{
    float *data = numbers(80);
    float *out = numbers(128);
    float host[128];
    const cudaTextureObject_t texture = new_texture(data, 320);
    fetch<<<1, 32>>>((float4 *)out, texture, -2);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 128; i++)
        if (host[i] != (i >= 8 && i < 88 ? (float)(i - 8) : 0))
            exit(1);
    cudaDestroyTextureObject(texture);
    cudaFree(data);
    cudaFree(out);
}

static void texture_destroyed(void)
{
    float *data = numbers(128);
    const cudaTextureObject_t texture = new_texture(data, 512);
    cudaDestroyTextureObject(texture);
    fetch<<<1, 32>>>((float4 *)data, texture, 0);
    cudaFree(data);
}

static void texture_memory_freed(void)
{
    float *data = numbers(128);
    float *out = numbers(128);
    const cudaTextureObject_t texture = new_texture(data, 512);
    cudaFree(data);
    fetch<<<1, 32>>>((float4 *)out, texture, 0);
    cudaFree(out);
    cudaDestroyTextureObject(texture);
}

static void texture_leak(void)
{
    float *data = numbers(128);
    new_texture(data, 512);
    cudaFree(data);
}

static void memory_leak(void)
{
    numbers(100);
    cudaFree(numbers(100));
}

static void run_add(int add)
{
    float *data = numbers(32);
    add_if<<<1, 32>>>(data, add);
    cudaFree(data);
}

static void unknown_executed(void)
{
    run_add(1);
}

static void unknown_stepped_over(void)
{
    run_add(0);
}

static void buffer_switch(void)
{
    float *out = numbers(256);
    float host[256];
    switch_buffers<<<1, 256>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 256; i++)
        if (host[i] != 2)
            exit(1);
    cudaFree(out);
}

// The harness's own kernel: it takes all the shared memory that a block may have.
static void poison(void)
{
    if (poison_shared_memory(NULL) != cudaSuccess)
        exit(1);
}

static const struct test_case cases[] = {
    {"texture_edges", texture_edges},
    {"texture_destroyed", texture_destroyed},
    {"texture_memory_freed", texture_memory_freed},
    {"texture_leak", texture_leak},
    {"memory_leak", memory_leak},
    {"unknown_executed", unknown_executed},
    {"unknown_stepped_over", unknown_stepped_over},
    {"buffer_switch", buffer_switch},
    {"poison", poison},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
