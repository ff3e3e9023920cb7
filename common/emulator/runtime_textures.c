// Texture objects. Linear memory read as float4, element by element, is what there is.
#include "device.h"
#include "memory.h"
#include "runtime.h"
#include "texture.h"

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

static cudaError_t create(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                          const struct cudaTextureDesc *texture,
                          const struct cudaResourceViewDesc *view)
{
    const struct cudaChannelFormatDesc *format = &resource->res.linear.desc;
    if (resource->resType != cudaResourceTypeLinear || format->x != 32 || format->y != 32 ||
        format->z != 32 || format->w != 32 || format->f != cudaChannelFormatKindFloat ||
        texture->readMode != cudaReadModeElementType || view != NULL)
        return cudaErrorNotSupported;
    const uint64_t address = address_of(resource->res.linear.devPtr);
    const uint64_t bytes = resource->res.linear.sizeInBytes;
    const uint64_t texels = bytes / 16;
    if (address % TEXTURE_ALIGNMENT != 0 || texels > MAX_TEXELS ||
        memory_host(address, bytes) == NULL)
        return cudaErrorInvalidValue;
    *object = texture_create(address, texels);
    return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture,
                                    const struct cudaResourceViewDesc *view)
{
    if (!enter_runtime())
        return leave_runtime(cudaSuccess);
    if (object == NULL || resource == NULL || texture == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    return leave_runtime(create(object, resource, texture, view));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    if (!enter_runtime())
        return leave_runtime(cudaSuccess);
    return leave_runtime(object == 0 || texture_destroy(object) ? cudaSuccess
                                                                : cudaErrorInvalidValue);
}
