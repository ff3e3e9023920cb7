// What the parts of the CUDA runtime share. Streams run in order and at once: when a call returns,
// its work is done. What a kernel's end makes of later calls is as on a GPU.
#ifndef EMULATOR_RUNTIME_H
#define EMULATOR_RUNTIME_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

// A kernel, by the host address that stands for it.
struct function {
    const void *host;
    const char *name;
    struct image *image;   // what it was registered with
    struct kernel *kernel; // NULL until it is wanted
    int dynamic_limit;     // bytes of dynamic shared memory it may ask for; -1: the usual 48 KiB
    int carveout;          // the part of an SM's memory to be shared memory, in percent; -1: any
    struct function *next;
};

// Every function that uses the device begins and ends with these. The first waits until no other
// thread is in the runtime. It returns false where a kernel has failed before: nothing works after
// that, and the second returns that kernel's error. Otherwise it returns the error it is given.
// `function` is what the program has called.
bool enter_runtime(const char *function);
cudaError_t leave_runtime(cudaError_t error);

// For functions that use no device: notes the error for cudaGetLastError and returns it.
cudaError_t note_error(const char *function, cudaError_t error);

// For functions that call another one of the runtime: the program has called `function`.
cudaError_t known_as(const char *function, cudaError_t error);

// The program has launched this kernel, whose name is mangled.
void has_launched(const char *kernel);

// Says why there is this error, for the message of one that nobody asks for. Returns it.
cudaError_t because(cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// A kernel has ended like this. What is wrong with it shows in the next call, not in this one.
void note_ending(enum ending ending);

// The device is reset. After a kernel that failed no later call of this process gets it back.
void note_reset(void);

// Whether any call has gone wrong.
bool any_error(void);

// Finds a kernel and parses its module if that has not been done.
cudaError_t find_function(struct function **function, const void *host);

// Finds a variable by the host address that stands for it: where it is on the device.
cudaError_t find_symbol(uint64_t *address, size_t *bytes, const void *host);

// Of a function that has been found: from the machine code built for it, 0 where there is none.
int function_registers(const struct function *function);
int function_frame_bytes(const struct function *function);

// How much dynamic shared memory a launch of it may ask for.
int64_t function_dynamic_limit(const struct function *function);

// Rows of `width` bytes that begin `pitch` bytes apart.
struct pitched {
    uint64_t address;
    size_t pitch, width, height;
};

// The rows of an array; false where there is no such array.
bool find_array(struct pitched *rows, cudaArray_const_t array);

// Whether there is such a stream.
bool stream_known(cudaStream_t stream);

static inline void *pointer_to(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr): most are the device's
}

static inline uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

#endif
