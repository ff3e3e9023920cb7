// Texture objects, and the arrays that they may lie over: which combinations there are.
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "device.h"
#include "memory.h"
#include "runtime.h"
#include "texture.h"

// Rows in device memory, of texels of one format.
struct cudaArray {
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent; // in texels; 0 where there is no such dimension
    unsigned flags;
    struct allocation *memory;
    size_t pitch;
    struct cudaArray *next;
};

static struct cudaArray *arrays;

// Formats ----------------------------------------------------------------------------------------

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

// Components of 8, 16 or 32 bits, 1, 2 or 4 of them, all alike.
static bool format_known(const struct cudaChannelFormatDesc *format)
{
    const int components = (format->y != 0) + (format->z != 0) + (format->w != 0);
    const bool alike = (format->y == 0 || format->y == format->x) &&
                       (format->z == 0 || format->z == format->x) &&
                       (format->w == 0 || format->w == format->x);
    const bool in_order = (format->z == 0 && format->w == 0) || (format->y != 0 && format->z != 0);
    const bool integer =
        format->f == cudaChannelFormatKindSigned || format->f == cudaChannelFormatKindUnsigned;
    const bool sized = format->x == 32 || (integer && (format->x == 8 || format->x == 16));
    return alike && in_order && components != 2 && sized &&
           (integer || format->f == cudaChannelFormatKindFloat);
}

static int component_count(const struct cudaChannelFormatDesc *format)
{
    return 1 + (format->y != 0) + (format->z != 0) + (format->w != 0);
}

static size_t texel_bytes(const struct cudaChannelFormatDesc *format)
{
    return (size_t)(component_count(format) * format->x / 8);
}

// Arrays -----------------------------------------------------------------------------------------

static bool array_known(cudaArray_const_t array)
{
    const struct cudaArray *known = arrays;
    while (known != NULL && known != array)
        known = known->next;
    return known != NULL;
}

bool find_array(struct pitched *rows, cudaArray_const_t array)
{
    if (!array_known(array))
        return false;
    const size_t height = array->extent.height;
    *rows = (struct pitched){array->memory->address, array->pitch,
                             array->extent.width * texel_bytes(&array->format),
                             height > 0 ? height : 1};
    return true;
}

static cudaError_t allocate_array(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                                  size_t width, size_t height)
{
    if (!format_known(format))
        return cudaErrorInvalidChannelDescriptor;
    if (width == 0)
        return cudaErrorInvalidValue;
    const size_t pitch = width * texel_bytes(format);
    const size_t bytes = pitch * (height > 0 ? height : 1);
    if (bytes > device_memory_bytes() - memory_used())
        return cudaErrorMemoryAllocation;
    struct allocation *memory = memory_allocate(MEMORY_ARRAY, bytes);
    if (memory == NULL)
        return cudaErrorMemoryAllocation;
    memory_made_by(memory, "cudaMallocArray");
    struct cudaArray *created = zeroed(1, sizeof *created);
    created->format = *format;
    created->extent = (struct cudaExtent){width, height, 0};
    created->memory = memory;
    created->pitch = pitch;
    created->next = arrays;
    arrays = created;
    *array = created;
    return cudaSuccess;
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                            size_t width, size_t height, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (array == NULL || format == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    if (flags != cudaArrayDefault)
        return leave_runtime(cudaErrorNotSupported);
    return leave_runtime(allocate_array(array, format, width, height));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    struct cudaArray **link = &arrays;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (array == NULL)
        return leave_runtime(cudaSuccess);
    if (!array_known(array))
        return leave_runtime(cudaErrorInvalidValue);
    while (*link != array)
        link = &(*link)->next;
    *link = array->next;
    memory_release(array->memory);
    free(array);
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                             unsigned *flags, cudaArray_t array)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!array_known(array))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (format != NULL)
        *format = array->format;
    if (extent != NULL)
        *extent = array->extent;
    if (flags != NULL)
        *flags = array->flags;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (format == NULL || !array_known(array))
        return leave_runtime(cudaErrorInvalidValue);
    *format = array->format;
    return leave_runtime(cudaSuccess);
}

// Texture objects --------------------------------------------------------------------------------

// Sets where the texels are.
static cudaError_t set_resource(struct texture *texture, const struct cudaResourceDesc *resource,
                                struct cudaChannelFormatDesc *format)
{
    struct pitched rows;
    switch (resource->resType) {
    case cudaResourceTypeLinear:
        *format = resource->res.linear.desc;
        texture->address = address_of(resource->res.linear.devPtr);
        texture->pitch = resource->res.linear.sizeInBytes;
        texture->height = 1;
        texture->linear_memory = true;
        return cudaSuccess;
    case cudaResourceTypePitch2D:
        *format = resource->res.pitch2D.desc;
        texture->address = address_of(resource->res.pitch2D.devPtr);
        texture->pitch = resource->res.pitch2D.pitchInBytes;
        texture->width = resource->res.pitch2D.width;
        texture->height = resource->res.pitch2D.height;
        return texture->pitch % TEXTURE_PITCH_ALIGNMENT == 0 && texture->width > 0 &&
                       texture->height > 0
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    case cudaResourceTypeArray:
        if (!find_array(&rows, resource->res.array.array))
            return cudaErrorInvalidValue;
        *format = resource->res.array.array->format;
        texture->address = rows.address;
        texture->pitch = rows.pitch;
        texture->width = resource->res.array.array->extent.width;
        texture->height = rows.height;
        return cudaSuccess;
    default:
        return cudaErrorNotSupported;
    }
}

static bool in_memory(const struct texture *texture, uint64_t texel)
{
    const uint64_t bytes = (texture->height - 1) * texture->pitch + texture->width * texel;
    return texture->address % TEXTURE_ALIGNMENT == 0 &&
           (bytes == 0 || memory_host(texture->address, bytes) != NULL);
}

// Sets what a texel is and how it is read.
static cudaError_t set_reading(struct texture *texture, const struct cudaTextureDesc *description,
                               const struct cudaChannelFormatDesc *format)
{
    const bool integer = format->f != cudaChannelFormatKindFloat;
    texture->components = component_count(format);
    texture->component_bytes = format->x / 8;
    texture->kind = format->f == cudaChannelFormatKindSigned     ? TEXEL_SIGNED
                    : format->f == cudaChannelFormatKindUnsigned ? TEXEL_UNSIGNED
                                                                 : TEXEL_FLOAT;
    texture->normalized_values = integer && description->readMode == cudaReadModeNormalizedFloat;
    texture->normalized = description->normalizedCoords != 0;
    texture->filtered = !texture->linear_memory && description->filterMode == cudaFilterModeLinear;
    if (texture->normalized_values && format->x == 32)
        return cudaErrorInvalidNormSetting;
    if (texture->filtered && integer && !texture->normalized_values)
        return cudaErrorInvalidFilterSetting;
    for (int axis = 0; axis < 2; axis++)
        texture->modes[axis] = (enum address_mode)description->addressMode[axis];
    memcpy(texture->border, description->borderColor, sizeof texture->border);
    return cudaSuccess;
}

static cudaError_t create(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                          const struct cudaTextureDesc *description,
                          const struct cudaResourceViewDesc *view)
{
    struct texture texture = {0};
    struct cudaChannelFormatDesc format;
    cudaError_t error = view != NULL || description->sRGB != 0
                            ? cudaErrorNotSupported
                            : set_resource(&texture, resource, &format);
    if (error != cudaSuccess)
        return error;
    if (!format_known(&format))
        return cudaErrorInvalidChannelDescriptor;
    if (texture.linear_memory)
        texture.width = texture.pitch / texel_bytes(&format);
    if (texture.width > MAX_TEXELS || !in_memory(&texture, texel_bytes(&format)))
        return cudaErrorInvalidValue;
    error = set_reading(&texture, description, &format);
    if (error == cudaSuccess)
        *object = texture_create(&texture);
    return error;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description,
                                    const struct cudaResourceViewDesc *view)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (object == NULL || resource == NULL || description == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    return leave_runtime(create(object, resource, description, view));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    return leave_runtime(object == 0 || texture_destroy(object) ? cudaSuccess
                                                                : cudaErrorInvalidValue);
}
