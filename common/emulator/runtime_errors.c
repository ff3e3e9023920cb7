// Errors: the last one of each thread, and the one of a kernel, from which nothing recovers.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "fault.h"
#include "runtime.h"
#include "sharing.h"
#include "unasked.h"

static pthread_mutex_t lock;
static pthread_once_t lock_made = PTHREAD_ONCE_INIT;
static _Thread_local cudaError_t last_error;
static _Thread_local char called[160]; // what the program has called
static _Thread_local char reason[512]; // of the error that this call is about to give
static _Thread_local bool noted;       // nobody has asked for this call's error
static cudaError_t sticky;             // every later call returns it
static cudaError_t coming;             // what will be sticky from the next call on
static bool seen_any;

// A destructor that runs when a fault ends the program may call the runtime once more.
static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void take_lock(void)
{
    pthread_once(&lock_made, make_lock);
    pthread_mutex_lock(&lock);
}

bool enter_runtime(const char *function)
{
    take_lock();
    snprintf(called, sizeof called, "%s", function);
    reason[0] = '\0';
    noted = false;
    in_emulator = true;
    if (coming != cudaSuccess)
        sticky = coming;
    return sticky == cudaSuccess;
}

cudaError_t leave_runtime(cudaError_t error)
{
    const cudaError_t result = note_error(called, sticky != cudaSuccess ? sticky : error);
    in_emulator = false;
    pthread_mutex_unlock(&lock);
    return result;
}

cudaError_t because(cudaError_t error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return error;
}

cudaError_t note_error(const char *function, cudaError_t error)
{
    if (error == cudaSuccess)
        return error;
    take_lock();
    last_error = error;
    seen_any = true;
    if (sticky == cudaSuccess) // of that one its kernel has told
        noted |= unasked_note(function, cudaGetErrorString(error), reason);
    reason[0] = '\0';
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t known_as(const char *function, cudaError_t error)
{
    take_lock();
    if (error != cudaSuccess && noted)
        unasked_rename(function);
    pthread_mutex_unlock(&lock);
    return error;
}

void has_launched(const char *kernel)
{
    const struct text name = readable_name(text_of(kernel));
    snprintf(called, sizeof called, "the launch of %.*s", (int)name.length, name.start);
}

static void forget_unasked(void)
{
    take_lock();
    if (last_error != cudaSuccess)
        unasked_forget();
    pthread_mutex_unlock(&lock);
}

bool any_error(void)
{
    return seen_any;
}

void note_ending(enum ending ending)
{
    static const cudaError_t errors[] = {
        [ENDING_GOOD] = cudaSuccess,
        [ENDING_ILLEGAL_ADDRESS] = cudaErrorIllegalAddress,
        [ENDING_MISALIGNED] = cudaErrorMisalignedAddress,
        [ENDING_TRAP] = cudaErrorLaunchFailure,
        [ENDING_ASSERT] = cudaErrorAssert,
    };
    coming = errors[ending];
    seen_any |= coming != cudaSuccess;
}

void note_reset(void)
{
    if (sticky != cudaSuccess)
        coming = cudaErrorDevicesUnavailable;
    sticky = cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    forget_unasked();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    forget_unasked();
    return last_error;
}

// Names ------------------------------------------------------------------------------------------

// As the CUDA runtime has them, those that the emulator returns and those that programs look for.
static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidTexture, "cudaErrorInvalidTexture", "invalid texture reference"},
    {cudaErrorInvalidChannelDescriptor, "cudaErrorInvalidChannelDescriptor",
     "invalid channel descriptor"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidFilterSetting, "cudaErrorInvalidFilterSetting",
     "linear filtering not supported for non-float type"},
    {cudaErrorInvalidNormSetting, "cudaErrorInvalidNormSetting",
     "read as normalized float not supported for data type"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
     "__global__ function call is not configured"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit",
     "limit is not supported on this architecture"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction",
     "an illegal instruction was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace",
     "operation not supported on global/shared address space"},
    {cudaErrorInvalidPc, "cudaErrorInvalidPc", "invalid program counter"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize",
     "a kernel launch error has occurred due to cluster misconfiguration"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

enum {
    ERROR_COUNT = sizeof errors / sizeof *errors,
};

static int find_error(cudaError_t error)
{
    int i = 0;
    while (i < ERROR_COUNT && errors[i].error != error)
        i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const int i = find_error(error);
    return i < ERROR_COUNT ? errors[i].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const int i = find_error(error);
    return i < ERROR_COUNT ? errors[i].text : "unrecognized error code";
}
