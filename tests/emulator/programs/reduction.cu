// A sum in two launches: each block adds up its part in shared memory, one block adds the parts.
// The launch is chosen by an occupancy query.
#include <stdio.h>
#include <stdlib.h>

__global__ void sum_blocks(const float *in, float *out, int n)
{
    extern __shared__ float partial[];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    partial[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

int main(void)
{
    const int n = 100000, threads = 256;
    float *in, *parts, result = 0;
    float *host = (float *)malloc(n * sizeof *host);
    int blocks = 0;
    for (int i = 0; i < n; i++)
        host[i] = (float)(i % 7);
    double expected = 0;
    for (int i = 0; i < n; i++)
        expected += host[i];

    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_blocks, threads,
                                                  threads * sizeof(float));
    cudaMalloc(&in, n * sizeof *in);
    cudaMalloc(&parts, blocks * sizeof *parts);
    cudaMemcpy(in, host, n * sizeof *in, cudaMemcpyHostToDevice);
    sum_blocks<<<blocks, threads, threads * sizeof(float)>>>(in, parts, n);
    sum_blocks<<<1, threads, threads * sizeof(float)>>>(parts, in, blocks);
    cudaMemcpy(&result, in, sizeof result, cudaMemcpyDeviceToHost);
    printf("%s, %d blocks: %.0f, expected %.0f\n", cudaGetErrorString(cudaGetLastError()), blocks,
           result, expected);
    cudaFree(in);
    cudaFree(parts);
    free(host);
    return result == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
