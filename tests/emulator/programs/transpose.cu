// A transpose through a padded tile of shared memory; rows are pitched.
#include <stdio.h>
#include <stdlib.h>

#define TILE 32

__global__ void transpose(const char *in, size_t in_pitch, char *out, size_t out_pitch, int rows,
                          int columns)
{
    __shared__ float tile[TILE][TILE + 1];
    const int column = blockIdx.x * TILE + threadIdx.x;
    for (int i = threadIdx.y; i < TILE; i += blockDim.y) {
        const int row = blockIdx.y * TILE + i;
        if (row < rows && column < columns)
            tile[i][threadIdx.x] = ((const float *)(in + row * in_pitch))[column];
    }
    __syncthreads();
    const int out_column = blockIdx.y * TILE + threadIdx.x;
    for (int i = threadIdx.y; i < TILE; i += blockDim.y) {
        const int out_row = blockIdx.x * TILE + i;
        if (out_row < columns && out_column < rows)
            ((float *)(out + out_row * out_pitch))[out_column] = tile[threadIdx.x][i];
    }
}

int main(void)
{
    const int rows = 70, columns = 101;
    static float in[70][101], out[101][70];
    char *device_in, *device_out;
    size_t in_pitch, out_pitch;
    int wrong = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            in[i][j] = (float)(1000 * i + j);

    cudaMallocPitch((void **)&device_in, &in_pitch, columns * sizeof(float), rows);
    cudaMallocPitch((void **)&device_out, &out_pitch, rows * sizeof(float), columns);
    cudaMemcpy2D(device_in, in_pitch, in, sizeof in[0], sizeof in[0], rows, cudaMemcpyHostToDevice);
    transpose<<<dim3((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), dim3(TILE, 8)>>>(
        device_in, in_pitch, device_out, out_pitch, rows, columns);
    cudaMemcpy2D(out, sizeof out[0], device_out, out_pitch, sizeof out[0], columns,
                 cudaMemcpyDeviceToHost);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            wrong += out[j][i] != in[i][j];
    printf("%s, pitches of %zu and %zu bytes: %d wrong\n", cudaGetErrorString(cudaGetLastError()),
           in_pitch, out_pitch, wrong);
    cudaFree(device_in);
    cudaFree(device_out);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
