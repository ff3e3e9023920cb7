// Copies and fills.
#include <stdio.h>
#include <string.h>

#include "emulator.h"
#include "fault.h"
#include "memory.h"
#include "runtime.h"
#include "sharing.h"

static uint64_t span_of(const struct pitched *rows)
{
    return rows->height == 0 || rows->width == 0 ? 0
                                                 : (rows->height - 1) * rows->pitch + rows->width;
}

// Whether the bytes are all in one allocation, or in memory that only the host knows.
static bool is_somewhere(const struct pitched *rows)
{
    if (memory_holding(rows->address) == NULL)
        return rows->address != 0 && memory_is_host(rows->address);
    return memory_host(rows->address, span_of(rows)) != NULL;
}

static bool is_on_device(const struct pitched *rows)
{
    return memory_holding(rows->address) != NULL;
}

static const char *const kinds[] = {
    [cudaMemcpyHostToHost] = "cudaMemcpyHostToHost",
    [cudaMemcpyHostToDevice] = "cudaMemcpyHostToDevice",
    [cudaMemcpyDeviceToHost] = "cudaMemcpyDeviceToHost",
    [cudaMemcpyDeviceToDevice] = "cudaMemcpyDeviceToDevice",
    [cudaMemcpyDefault] = "cudaMemcpyDefault",
};

// Not all of the bytes are where something is. `what` is what they are for.
static cudaError_t not_there(const struct pitched *rows, const char *what)
{
    const struct allocation *near = memory_nearest(rows->address);
    const uint64_t offset = near == NULL ? 0 : rows->address - near->address;
    if (rows->address == 0)
        return because(cudaErrorInvalidValue, "the %s is a null pointer", what);
    if (near == NULL || offset >= near->bytes)
        return because(cudaErrorInvalidValue, "the %s %p is in no allocation", what,
                       pointer_to(rows->address));
    if (near->host == NULL)
        return because(cudaErrorInvalidValue, "the %s has been freed", what);
    char from[40] = "";
    if (offset > 0)
        snprintf(from, sizeof from, " from byte %llu on", (unsigned long long)offset);
    return because(cudaErrorInvalidValue, "%llu bytes%s, and the %s is an allocation of %llu",
                   (unsigned long long)span_of(rows), from, what, (unsigned long long)near->bytes);
}

// A kind is wrong where it takes memory of the host for the device's, and only there.
static cudaError_t wrong_side(const struct pitched *rows, enum cudaMemcpyKind kind,
                              const char *what)
{
    return because(cudaErrorInvalidValue, "%s, and the %s %p is no pointer to device memory",
                   kinds[kind], what, pointer_to(rows->address));
}

static cudaError_t check_copy(const struct pitched *to, const struct pitched *from,
                              enum cudaMemcpyKind kind)
{
    const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
    const bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!is_somewhere(to))
        return not_there(to, "destination");
    if (!is_somewhere(from))
        return not_there(from, "source");
    if (kind == cudaMemcpyDefault)
        return cudaSuccess;
    if (!to_host && !is_on_device(to))
        return wrong_side(to, kind, "destination");
    if (!from_host && !is_on_device(from))
        return wrong_side(from, kind, "source");
    return cudaSuccess;
}

static void copy_row(uint64_t to, uint64_t from, size_t bytes)
{
    const uint8_t *source = memory_host(from, bytes);
    if (source == NULL)
        source = pointer_to(from);
    if (memory_holding(to) == NULL)
        memmove(pointer_to(to), source, bytes);
    else if (memory_holding(from) == NULL)
        memory_write(to, source, bytes);
    else
        memory_copy(to, from, bytes);
}

// A copy from or to memory that only the host knows has been made when the call returns.
static void note_copy(const struct pitched *to, const struct pitched *from)
{
    if (!is_on_device(to) || !is_on_device(from)) {
        device_gives_back();
        return;
    }
    device_takes(memory_holding(to->address), true, "a copy");
    device_takes(memory_holding(from->address), false, "a copy");
}

// What the host gets from a kernel has been written, at least in part: there may be padding.
static void check_written(const struct pitched *to, const struct pitched *from)
{
    char place[512];
    const struct allocation *source = memory_holding(from->address);
    bool written = source == NULL || !memory_is_host(to->address) || !emulator_settings.checks;
    for (size_t row = 0; row < to->height && !written; row++)
        written = memory_any_valid(source, from->address + row * from->pitch - source->address,
                                   to->width);
    if (!written)
        emulator_fail("uninitialized: a copy to the host of %zu bytes that nobody has written, "
                      "neither a kernel nor a copy: %s",
                      to->width * to->height,
                      describe_address(from->address, span_of(from), place, sizeof place));
}

static cudaError_t copy_rows(const struct pitched *to, const struct pitched *from,
                             enum cudaMemcpyKind kind)
{
    if (span_of(to) == 0)
        return cudaSuccess;
    const cudaError_t error = check_copy(to, from, kind);
    if (error == cudaSuccess)
        check_written(to, from);
    for (size_t row = 0; row < to->height && error == cudaSuccess; row++)
        copy_row(to->address + row * to->pitch, from->address + row * from->pitch, to->width);
    if (error == cudaSuccess)
        note_copy(to, from);
    return error;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return copy_rows(&(struct pitched){address_of(to), bytes, bytes, 1},
                     &(struct pitched){address_of(from), bytes, bytes, 1}, kind);
}

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind)
{
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidPitchValue;
    return copy_rows(&(struct pitched){address_of(to), to_pitch, width, height},
                     &(struct pitched){address_of(from), from_pitch, width, height}, kind);
}

static cudaError_t fill_rows(struct pitched rows, int value)
{
    if (span_of(&rows) == 0)
        return cudaSuccess;
    if (rows.width > rows.pitch)
        return cudaErrorInvalidValue;
    if (memory_host(rows.address, span_of(&rows)) == NULL)
        return not_there(&rows, "destination");
    for (size_t row = 0; row < rows.height; row++)
        memory_fill(rows.address + row * rows.pitch, value, rows.width);
    device_takes(memory_holding(rows.address), true, "a fill");
    return cudaSuccess;
}

// The end of a function that waits for what it has started.
static cudaError_t wait_for(const char *function, cudaError_t error)
{
    known_as(function, error);
    enter_runtime(function);
    device_gives_back();
    leave_runtime(cudaSuccess);
    return error;
}

// One dimension ----------------------------------------------------------------------------------

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return wait_for(__func__, cudaMemcpyAsync(to, from, bytes, kind, NULL));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(copy(to, from, bytes, kind));
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return wait_for(__func__, cudaMemsetAsync(to, value, bytes, NULL));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return known_as(__func__, cudaMemset2DAsync(to, bytes, value, bytes, 1, stream));
}

// Two and three dimensions -----------------------------------------------------------------------

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return wait_for(__func__,
                    cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(copy_2d(to, to_pitch, from, from_pitch, width, height, kind));
}

// Arrays. The offset and the width count bytes, as elsewhere, not texels.
static cudaError_t copy_array(cudaArray_const_t array, size_t x, size_t y, void *other,
                              size_t other_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, bool to_array)
{
    struct pitched rows;
    if (!find_array(&rows, array))
        return cudaErrorInvalidResourceHandle;
    if (x > rows.width || width > rows.width - x || y > rows.height || height > rows.height - y)
        return cudaErrorInvalidValue;
    if (width > other_pitch)
        return cudaErrorInvalidPitchValue;
    const struct pitched here = {rows.address + y * rows.pitch + x, rows.pitch, width, height};
    const struct pitched there = {address_of(other), other_pitch, width, height};
    return to_array ? copy_rows(&here, &there, kind) : copy_rows(&there, &here, kind);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return wait_for(__func__,
                    cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL));
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                     size_t pitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(copy_array(to, x, y, (void *)from, pitch, width, height, kind, true));
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return wait_for(__func__,
                    cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL));
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(copy_array(from, x, y, to, pitch, width, height, kind, false));
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return wait_for(__func__, cudaMemset2DAsync(to, pitch, value, width, height, NULL));
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(fill_rows((struct pitched){address_of(to), pitch, width, height}, value));
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    return wait_for(__func__, cudaMemset3DAsync(to, value, extent, NULL));
}

// Slices lie ysize rows apart, of which extent.height are filled.
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    for (size_t slice = 0; slice < extent.depth && error == cudaSuccess; slice++)
        error = fill_rows((struct pitched){address_of(to.ptr) + slice * to.pitch * to.ysize,
                                           to.pitch, extent.width, extent.height},
                          value);
    return leave_runtime(error);
}

// The first byte of a box in pitched memory.
static uint64_t box_address(struct cudaPitchedPtr memory, struct cudaPos position)
{
    return address_of(memory.ptr) + (position.z * memory.ysize + position.y) * memory.pitch +
           position.x;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *box)
{
    const struct cudaExtent extent = box->extent;
    cudaError_t error = cudaSuccess;
    if (box->srcArray != NULL || box->dstArray != NULL)
        return cudaErrorNotSupported;
    if (extent.width > box->srcPtr.pitch || extent.width > box->dstPtr.pitch)
        return cudaErrorInvalidPitchValue;
    const uint64_t to = box_address(box->dstPtr, box->dstPos);
    const uint64_t from = box_address(box->srcPtr, box->srcPos);
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = copy_rows(&(struct pitched){to + z * box->dstPtr.ysize * box->dstPtr.pitch,
                                            box->dstPtr.pitch, extent.width, extent.height},
                          &(struct pitched){from + z * box->srcPtr.ysize * box->srcPtr.pitch,
                                            box->srcPtr.pitch, extent.width, extent.height},
                          box->kind);
    return error;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *box)
{
    return wait_for(__func__, cudaMemcpy3DAsync(box, NULL));
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *box, cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(box == NULL ? cudaErrorInvalidValue : copy_3d(box));
}

// Symbols ----------------------------------------------------------------------------------------

// Where a range of a variable is on the device.
static cudaError_t find_range(void **pointer, const void *symbol, size_t bytes, size_t offset)
{
    uint64_t address;
    size_t size;
    const cudaError_t error = find_symbol(&address, &size, symbol);
    if (error != cudaSuccess)
        return error;
    if (offset > size || bytes > size - offset)
        return cudaErrorInvalidValue;
    *pointer = pointer_to(address + offset);
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    return wait_for(__func__, cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *to;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return leave_runtime(cudaErrorInvalidMemcpyDirection);
    const cudaError_t error = find_range(&to, symbol, bytes, offset);
    return leave_runtime(error != cudaSuccess ? error : copy(to, from, bytes, kind));
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    return wait_for(__func__, cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *from;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return leave_runtime(cudaErrorInvalidMemcpyDirection);
    const cudaError_t error = find_range(&from, symbol, bytes, offset);
    return leave_runtime(error != cudaSuccess ? error : copy(to, from, bytes, kind));
}
