// Allocations of all kinds, and what can be asked about pointers.
#include <string.h>

#include "device.h"
#include "memory.h"
#include "runtime.h"
#include "sharing.h"

enum {
    PITCH = 512, // rows of cudaMallocPitch begin at multiples of this
};

static bool flags_within(unsigned flags, unsigned known)
{
    return (flags & ~known) == 0;
}

static cudaError_t allocate(const char *function, void **pointer, enum memory_kind kind,
                            size_t bytes, unsigned flags)
{
    if (pointer == NULL)
        return cudaErrorInvalidValue;
    *pointer = NULL;
    if (bytes == 0)
        return cudaSuccess;
    if (bytes > device_memory_bytes() - memory_used())
        return because(cudaErrorMemoryAllocation, "%zu bytes, and %llu are left", bytes,
                       (unsigned long long)(device_memory_bytes() - memory_used()));
    struct allocation *allocation = memory_allocate(kind, bytes);
    if (allocation == NULL)
        return cudaErrorMemoryAllocation;
    watch_host();
    allocation->flags = flags;
    memory_made_by(allocation, function);
    *pointer = pointer_to(allocation->address);
    return cudaSuccess;
}

// Device memory ----------------------------------------------------------------------------------

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    return leave_runtime(allocate(__func__, pointer, MEMORY_DEVICE, bytes, 0));
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(allocate(__func__, pointer, MEMORY_DEVICE, bytes, 0));
}

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return leave_runtime(cudaErrorInvalidValue);
    return leave_runtime(allocate(__func__, pointer, MEMORY_MANAGED, bytes, flags));
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (pitch == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return leave_runtime(allocate(__func__, pointer, MEMORY_DEVICE, *pitch * height, 0));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    if (pitched == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width,
                           extent.height * extent.depth);
}

// Nothing that cudaFree frees begins at the pointer.
static cudaError_t not_to_free(void *pointer)
{
    const uint64_t address = address_of(pointer);
    const struct allocation *near = memory_nearest(address);
    if (near == NULL || address - near->address >= near->bytes)
        return because(cudaErrorInvalidValue, "%p is in no allocation", pointer);
    if (near->host == NULL)
        return because(cudaErrorInvalidValue, "%p has been freed before", pointer);
    if (near->address == address)
        return because(cudaErrorInvalidValue, "%p is memory of another kind", pointer);
    return because(cudaErrorInvalidValue, "%p is %llu bytes into an allocation, not its start",
                   pointer, (unsigned long long)(address - near->address));
}

static cudaError_t release(void *pointer)
{
    struct allocation *allocation = memory_starting(address_of(pointer));
    if (pointer == NULL)
        return cudaSuccess;
    if (allocation == NULL ||
        (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_MANAGED))
        return not_to_free(pointer);
    device_gives_back(); // it waits
    memory_release(allocation);
    return cudaSuccess;
}

cudaError_t cudaFree(void *pointer)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    return leave_runtime(release(pointer));
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(release(pointer));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (available != NULL)
        *available = device_memory_bytes() - memory_used();
    if (total != NULL)
        *total = device_memory_bytes();
    return leave_runtime(cudaSuccess);
}

// Host memory ------------------------------------------------------------------------------------

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!flags_within(flags,
                      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return leave_runtime(cudaErrorInvalidValue);
    return leave_runtime(
        allocate(__func__, pointer, MEMORY_PINNED, bytes, flags | cudaHostAllocMapped));
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    return leave_runtime(allocate(__func__, pointer, MEMORY_PINNED, bytes, cudaHostAllocMapped));
}

cudaError_t cudaFreeHost(void *pointer)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    struct allocation *allocation = memory_starting(address_of(pointer));
    if (pointer == NULL)
        return leave_runtime(cudaSuccess);
    if (allocation == NULL || allocation->kind != MEMORY_PINNED)
        return leave_runtime(not_to_free(pointer));
    memory_release(allocation);
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (pointer == NULL || bytes == 0 || !memory_is_host(address_of(pointer)) ||
        !flags_within(flags, cudaHostRegisterPortable | cudaHostRegisterMapped |
                                 cudaHostRegisterIoMemory | cudaHostRegisterReadOnly))
        return leave_runtime(cudaErrorInvalidValue);
    if (memory_overlaps(address_of(pointer), bytes))
        return leave_runtime(cudaErrorHostMemoryAlreadyRegistered);
    memory_register(pointer, bytes)->flags = flags | cudaHostAllocMapped;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    struct allocation *allocation = memory_holding(address_of(pointer));
    if (allocation == NULL || allocation->kind != MEMORY_REGISTERED)
        return leave_runtime(cudaErrorHostMemoryNotRegistered);
    if (allocation->address != address_of(pointer))
        return leave_runtime(cudaErrorInvalidValue);
    memory_release(allocation);
    return leave_runtime(cudaSuccess);
}

static bool is_managed(const struct allocation *allocation)
{
    return allocation != NULL &&
           (allocation->kind == MEMORY_MANAGED ||
            (allocation->kind == MEMORY_VARIABLE && memory_is_shared(allocation)));
}

static bool is_pinned(const struct allocation *allocation)
{
    return allocation != NULL &&
           (allocation->kind == MEMORY_PINNED || allocation->kind == MEMORY_REGISTERED);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (device == NULL || flags != 0 || !is_pinned(memory_holding(address_of(host))))
        return leave_runtime(cudaErrorInvalidValue);
    *device = host;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    const struct allocation *allocation = memory_holding(address_of(host));
    if (flags == NULL || !is_pinned(allocation))
        return leave_runtime(cudaErrorInvalidValue);
    *flags = allocation->flags;
    return leave_runtime(cudaSuccess);
}

// Pointers ---------------------------------------------------------------------------------------

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    static const enum cudaMemoryType types[] = {
        [MEMORY_DEVICE] = cudaMemoryTypeDevice,   [MEMORY_VARIABLE] = cudaMemoryTypeDevice,
        [MEMORY_MANAGED] = cudaMemoryTypeManaged, [MEMORY_ARRAY] = cudaMemoryTypeDevice,
        [MEMORY_PINNED] = cudaMemoryTypeHost,     [MEMORY_REGISTERED] = cudaMemoryTypeHost,
    };
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (attributes == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    const struct allocation *allocation = memory_holding(address_of(pointer));
    memset(attributes, 0, sizeof *attributes);
    if (allocation == NULL) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = cudaInvalidDeviceId;
        attributes->hostPointer = (void *)pointer;
        return leave_runtime(cudaSuccess);
    }
    attributes->type = is_managed(allocation) ? cudaMemoryTypeManaged : types[allocation->kind];
    attributes->devicePointer = (void *)pointer;
    attributes->hostPointer = memory_is_host(address_of(pointer)) ? (void *)pointer : NULL;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    uint64_t address;
    size_t bytes;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (pointer == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    const cudaError_t error = find_symbol(&address, &bytes, symbol);
    if (error == cudaSuccess)
        *pointer = pointer_to(address);
    return leave_runtime(error);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    uint64_t address;
    size_t bytes;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (size == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    const cudaError_t error = find_symbol(&address, &bytes, symbol);
    if (error == cudaSuccess)
        *size = bytes;
    return leave_runtime(error);
}

// Hints about managed memory change no result ----------------------------------------------------

static cudaError_t check_managed(const void *pointer, size_t bytes, bool place_known)
{
    const struct allocation *allocation = memory_holding(address_of(pointer));
    if (!is_managed(allocation) || bytes == 0 || memory_host(address_of(pointer), bytes) == NULL)
        return cudaErrorInvalidValue;
    return place_known ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t hint(const char *function, const void *pointer, size_t bytes, bool place_known,
                        cudaStream_t stream)
{
    if (!enter_runtime(function))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(check_managed(pointer, bytes, place_known));
}

static bool location_known(struct cudaMemLocation location)
{
    return (location.type == cudaMemLocationTypeDevice && location.id == 0) ||
           location.type == cudaMemLocationTypeHost ||
           location.type == cudaMemLocationTypeHostNuma ||
           location.type == cudaMemLocationTypeHostNumaCurrent;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream)
{
    return flags != 0 ? note_error(__func__, cudaErrorInvalidValue)
                      : hint(__func__, pointer, bytes, location_known(location), stream);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
{
    const bool needs_place = advice != cudaMemAdviseSetReadMostly &&
                             advice != cudaMemAdviseUnsetReadMostly &&
                             advice != cudaMemAdviseUnsetPreferredLocation;
    return hint(__func__, pointer, bytes, !needs_place || location_known(location), NULL);
}
#else
static bool device_known(int device)
{
    return device == 0 || device == cudaCpuDeviceId;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream)
{
    return hint(__func__, pointer, bytes, device_known(device), stream);
}

cudaError_t cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes,
                                    struct cudaMemLocation location, unsigned flags,
                                    cudaStream_t stream)
{
    return flags != 0 ? note_error(__func__, cudaErrorInvalidValue)
                      : hint(__func__, pointer, bytes, location_known(location), stream);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          int device)
{
    (void)advice;
    return hint(__func__, pointer, bytes, device_known(device), NULL);
}

cudaError_t cudaMemAdvise_v2(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location)
{
    (void)advice;
    return hint(__func__, pointer, bytes, location_known(location), NULL);
}
#endif
