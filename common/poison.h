// Fills shared memory with NaN before a verified launch.
#ifndef POISON_H
#define POISON_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// Starts a kernel that writes NaN to every word of shared memory of the current device, and returns
// without waiting.
cudaError_t poison_shared_memory(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
