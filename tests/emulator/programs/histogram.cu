// How often each byte occurs, twice: every block adds to the bins in global memory, one for each
// byte; or to bins of its own in shared memory, which it adds to those at its end.
#include <stdio.h>
#include <stdlib.h>

enum {
    BINS = 256
};

__global__ void count(const unsigned char *data, int n, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[data[i]], 1);
}

__global__ void count_by_blocks(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ unsigned own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[data[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main(void)
{
    const int n = 1 << 18;
    unsigned char *data, *host = (unsigned char *)malloc(n);
    unsigned *bins, counted[BINS], expected[BINS] = {0};
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        host[i] = (unsigned char)((unsigned)i * 2654435761u >> 13);
        expected[host[i]] += 2;
    }
    cudaMalloc(&data, n);
    cudaMalloc(&bins, sizeof counted);
    cudaMemset(bins, 0, sizeof counted);
    cudaMemcpy(data, host, n, cudaMemcpyHostToDevice);
    count<<<512, BINS>>>(data, n, bins);
    count_by_blocks<<<512, BINS>>>(data, n, bins);
    cudaMemcpy(counted, bins, sizeof counted, cudaMemcpyDeviceToHost);
    for (int i = 0; i < BINS; i++)
        wrong += counted[i] != expected[i];
    printf("%s, %d wrong\n", cudaGetErrorString(cudaGetLastError()), wrong);
    cudaFree(data);
    cudaFree(bins);
    free(host);
    return wrong != 0;
}
