// Errors: the last one of each thread, and the one of a kernel, from which nothing recovers.
#include <pthread.h>

#include "runtime.h"
#include "sharing.h"

static pthread_mutex_t lock;
static pthread_once_t lock_made = PTHREAD_ONCE_INIT;
static _Thread_local cudaError_t last_error;
static cudaError_t sticky; // every later call returns it
static cudaError_t coming; // what will be sticky from the next call on
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

bool enter_runtime(void)
{
    pthread_once(&lock_made, make_lock);
    pthread_mutex_lock(&lock);
    in_emulator = true;
    if (coming != cudaSuccess)
        sticky = coming;
    return sticky == cudaSuccess;
}

cudaError_t leave_runtime(cudaError_t error)
{
    const cudaError_t result = note_error(sticky != cudaSuccess ? sticky : error);
    in_emulator = false;
    pthread_mutex_unlock(&lock);
    return result;
}

cudaError_t note_error(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
        seen_any = true;
    }
    return error;
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

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = sticky;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
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
