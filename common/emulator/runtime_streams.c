// Streams and events. What a stream is given is done at once, so that waiting is for nothing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "emulator.h"
#include "runtime.h"
#include "sharing.h"

struct CUstream_st {
    unsigned flags;
    int priority;
    struct CUstream_st *next;
};

struct CUevent_st {
    unsigned flags;
    bool recorded;
    struct CUevent_st *next;
};

enum {
    GREATEST_PRIORITY = -5, // smaller is more urgent
};

static struct CUstream_st *streams;
static struct CUevent_st *events;

// Streams ----------------------------------------------------------------------------------------

bool stream_known(cudaStream_t stream)
{
    const struct CUstream_st *known = streams;
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return true;
    while (known != NULL && known != stream)
        known = known->next;
    return known != NULL;
}

static bool is_created(cudaStream_t stream)
{
    return stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread &&
           stream_known(stream);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return known_as(__func__, cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return known_as(__func__, cudaStreamCreateWithPriority(stream, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (stream == NULL || flags > cudaStreamNonBlocking)
        return leave_runtime(cudaErrorInvalidValue);
    struct CUstream_st *created = zeroed(1, sizeof *created);
    created->flags = flags;
    created->priority = priority > 0                   ? 0
                        : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                                                       : priority;
    created->next = streams;
    streams = created;
    *stream = created;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!is_created(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    struct CUstream_st **link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    free(stream);
    return leave_runtime(cudaSuccess);
}

static cudaError_t check_stream(const char *function, cudaStream_t stream)
{
    if (!enter_runtime(function))
        return leave_runtime(cudaSuccess);
    return leave_runtime(stream_known(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

// Who has waited for one stream is taken to have waited for all: so nothing is called a race that
// may be none.
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    device_gives_back();
    return leave_runtime(stream_known(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return known_as(__func__, cudaStreamSynchronize(stream));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (flags == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    *flags = is_created(stream) ? stream->flags : cudaStreamDefault;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (priority == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    *priority = is_created(stream) ? stream->priority : 0;
    return leave_runtime(cudaSuccess);
}

// There are no graphs to capture for.
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    if (status == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    *status = cudaStreamCaptureStatusNone;
    return check_stream(__func__, stream);
}

// Which stream managed memory belongs to makes no difference.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes,
                                     unsigned flags)
{
    (void)pointer;
    (void)bytes;
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return note_error(__func__, cudaErrorInvalidValue);
    return check_stream(__func__, stream);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = GREATEST_PRIORITY;
    return cudaSuccess;
}

// The host's functions run without the lock: they may wait for a thread that is in the runtime.
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned flags)
{
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess)
        return error;
    if (callback == NULL || flags != 0)
        return note_error(__func__, cudaErrorInvalidValue);
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess)
        return error;
    if (function == NULL)
        return note_error(__func__, cudaErrorInvalidValue);
    function(data);
    return cudaSuccess;
}

// Events -----------------------------------------------------------------------------------------

static bool event_known(cudaEvent_t event)
{
    const struct CUevent_st *known = events;
    while (known != NULL && known != event)
        known = known->next;
    return known != NULL;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return known_as(__func__, cudaEventCreateWithFlags(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (event == NULL || (flags & ~known) != 0)
        return leave_runtime(cudaErrorInvalidValue);
    struct CUevent_st *created = zeroed(1, sizeof *created);
    created->flags = flags;
    created->next = events;
    events = created;
    *event = created;
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!event_known(event))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    struct CUevent_st **link = &events;
    while (*link != event)
        link = &(*link)->next;
    *link = event->next;
    free(event);
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return known_as(__func__, cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!event_known(event) || !stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (flags > cudaEventRecordExternal)
        return leave_runtime(cudaErrorInvalidValue);
    event->recorded = true;
    return leave_runtime(cudaSuccess);
}

// With an event that nobody has recorded there is nothing to wait for.
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!event_known(event))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    if (event->recorded)
        device_gives_back();
    return leave_runtime(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return known_as(__func__, cudaEventSynchronize(event));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (!event_known(event) || !stream_known(stream))
        return leave_runtime(cudaErrorInvalidResourceHandle);
    return leave_runtime(flags > cudaEventWaitExternal ? cudaErrorInvalidValue : cudaSuccess);
}

// How long an interpreter takes says nothing about a GPU, and for a short kernel it may even look
// like it: the time is no number, and no rate can be made from it.
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    static bool told;
    if (!enter_runtime(__func__))
        return leave_runtime(cudaSuccess);
    if (milliseconds == NULL)
        return leave_runtime(cudaErrorInvalidValue);
    if (!event_known(start) || !event_known(end) || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & cudaEventDisableTiming) != 0)
        return leave_runtime(cudaErrorInvalidResourceHandle);
    *milliseconds = NAN;
    if (!told)
        fprintf(stderr,
                "%s: emulator: the time between two events is not a number here: only a GPU can "
                "be timed\n",
                emulator_settings.program);
    told = true;
    return leave_runtime(cudaSuccess);
}
