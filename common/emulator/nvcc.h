// What the host code that nvcc makes of a .cu file calls: when the program starts, to register its
// device code, and at each <<<...>>>. The CUDA runtime has these without declaring them.
#ifndef EMULATOR_NVCC_H
#define EMULATOR_NVCC_H

#include <cuda_runtime_api.h>

// What is registered: a container of device code (fatbin.h).
struct wrapper {
    int magic, version;
    const void *container;
    void *unused;
};

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*): the names are nvcc's.
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
char __cudaInitModule(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*)

#endif
