// Copies and kernels in two streams, from pinned memory, with events and a callback.
#include <stdio.h>
#include <stdlib.h>

enum {
    STREAMS = 2,
    CHUNK = 1000
};

__constant__ float factor;

__global__ void scale(float *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= factor;
}

static void CUDART_CB count(void *counter)
{
    ++*(int *)counter;
}

int main(void)
{
    const float three = 3;
    float *host, *device;
    cudaStream_t streams[STREAMS];
    cudaEvent_t done[STREAMS], all;
    int called = 0, wrong = 0, least, greatest;

    cudaMallocHost(&host, STREAMS * CHUNK * sizeof *host);
    cudaMalloc(&device, STREAMS * CHUNK * sizeof *device);
    cudaMemcpyToSymbol(factor, &three, sizeof three);
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    for (int i = 0; i < STREAMS * CHUNK; i++)
        host[i] = (float)i;
    for (int s = 0; s < STREAMS; s++) {
        cudaStreamCreateWithPriority(&streams[s], cudaStreamNonBlocking, greatest);
        cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming);
    }
    cudaEventCreate(&all);
    for (int s = 0; s < STREAMS; s++) {
        float *const part = device + s * CHUNK;
        cudaMemcpyAsync(part, host + s * CHUNK, CHUNK * sizeof *host, cudaMemcpyHostToDevice,
                        streams[s]);
        scale<<<(CHUNK + 255) / 256, 256, 0, streams[s]>>>(part, CHUNK);
        cudaMemcpyAsync(host + s * CHUNK, part, CHUNK * sizeof *host, cudaMemcpyDeviceToHost,
                        streams[s]);
        cudaLaunchHostFunc(streams[s], count, &called);
        cudaEventRecord(done[s], streams[s]);
    }
    cudaStreamWaitEvent(streams[0], done[1], 0);
    cudaEventRecord(all, streams[0]);
    while (cudaEventQuery(all) == cudaErrorNotReady)
        continue;
    for (int i = 0; i < STREAMS * CHUNK; i++)
        wrong += host[i] != 3 * (float)i;
    printf("%s, %d callbacks, %d wrong\n", cudaGetErrorString(cudaGetLastError()), called, wrong);
    for (int s = 0; s < STREAMS; s++) {
        cudaStreamDestroy(streams[s]);
        cudaEventDestroy(done[s]);
    }
    cudaEventDestroy(all);
    cudaFree(device);
    cudaFreeHost(host);
    return wrong == 0 && called == STREAMS ? EXIT_SUCCESS : EXIT_FAILURE;
}
