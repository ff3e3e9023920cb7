// The device's memory pool. It keeps nothing: what is freed is gone, so that its use is found.
#include "runtime.h"

struct CUmemPoolHandle_st {
    uint64_t release_threshold;
    int reuse[4]; // by attribute: 1 where the pool may reuse memory in that way
};

static struct CUmemPoolHandle_st pool = {.reuse = {0, 1, 1, 1}};

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *result, int device)
{
    if (result == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    if (device != 0)
        return note_error(__func__, cudaErrorInvalidDevice);
    *result = &pool;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *result, int device)
{
    return cudaDeviceGetDefaultMemPool(result, device);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t of, enum cudaMemPoolAttr attribute, void *value)
{
    if (of != &pool || value == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        pool.reuse[attribute] = *(const int *)value;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        pool.release_threshold = *(const uint64_t *)value;
        return cudaSuccess;
    default:
        return note_error(__func__, cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t of, enum cudaMemPoolAttr attribute, void *value)
{
    if (of != &pool || value == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *(int *)value = pool.reuse[attribute];
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        *(uint64_t *)value = pool.release_threshold;
        return cudaSuccess;
    default:
        return note_error(__func__, cudaErrorNotSupported);
    }
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t of, size_t bytes)
{
    (void)bytes;
    return note_error(__func__, of == &pool ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t from,
                                    cudaStream_t stream)
{
    return from == &pool ? cudaMallocAsync(pointer, bytes, stream)
                         : note_error(__func__, cudaErrorInvalidValue);
}
