// A kernel that leaves NaNs in all shared memory of the GPU, so that a step which reads a word of
// shared memory before it has written it gives NaN, and not by luck the right result.
#include "poison.h"

static __global__ void poison_kernel(int words)
{
    extern __shared__ volatile unsigned shared_words[]; // volatile: stores that nobody reads stay

    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x)
        shared_words[i] = 0x7fffffffU; // a quiet NaN
}

// A block that takes all the shared memory a block may have is alone on its SM; with two blocks an
// SM, each gets at least one.
cudaError_t poison_shared_memory(cudaStream_t stream)
{
    int device, bytes, sms;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute((const void *)poison_kernel,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return error;
    poison_kernel<<<2 * (unsigned)sms, 256, (size_t)bytes, stream>>>(bytes / (int)sizeof(unsigned));
    return cudaGetLastError();
}
