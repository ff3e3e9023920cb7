// How a submission is run: what the judge and its guest say to each other.
//
// The judge (judge.c) has the device, or the emulator, the matrices and the verdict. The guest
// (guest.c) is a process that runs the submission's host code and can do nothing else: it may ask
// for the calls of the CUDA runtime that are below, and the judge makes them. What a submission
// could forge is not in its process.
//
// Messages have one size. The judge says what to do (prepare, launch, release); until the guest
// says that it is done, it may ask, and has an answer of the same kind before it goes on. The first
// thing that it does is to start, and the first MESSAGE_DONE has `ready`.
#ifndef WIRE_H
#define WIRE_H

#include "step.h"

enum {
    GUEST_SOCKET = 3,       // the guest's descriptor
    MOST_KERNELS = 32,      // of a submission
    MOST_PARAMETERS = 16,   // of a kernel
    PARAMETER_BYTES = 4096, // all of them, each from a multiple of 16 on
    NAME_BYTES = 512,
    CONTAINER_BYTES = 8 << 20, // the most device code
};

enum message_kind {
    MESSAGE_DONE,
    MESSAGE_NO_SANDBOX, // the guest's only one, where the system does not shut it in
    MESSAGE_PREPARE,    // these three: problem
    MESSAGE_LAUNCH,
    MESSAGE_RELEASE,
    MESSAGE_CONTAINER, // bytes: that many bytes of device code follow, as nvcc packs them
    MESSAGE_KERNEL,    // kernel: its name; the answer has its index and its parameters
    MESSAGE_START,     // start: a kernel, with its parameters
    MESSAGE_SHARED,    // value: so many bytes of dynamic shared memory may kernel `index` have
    MESSAGE_ATTRIBUTE, // value: of the device; the answer has its value
    MESSAGE_LAST_ERROR,
    MESSAGE_MALLOC, // memory, and so for the next two
    MESSAGE_FREE,
    MESSAGE_MEMSET,
    MESSAGE_TEXTURE, // texture: over an array of texels in device memory
    MESSAGE_END_TEXTURE,
};

// What the judge has to know of a step (struct step). `kernels` are indices; -1 ends the list.
struct ready {
    int number, tile_m, tile_n, tile_k, threads, dynamic_shared, minimum_capability;
    int kernels[STEP_KERNELS];
};

struct kernel {
    char name[NAME_BYTES];
    int index, parameters;
    size_t bytes[MOST_PARAMETERS]; // of each parameter
};

struct start {
    int index;
    dim3 grid, block;
    size_t shared;
    unsigned char parameters[PARAMETER_BYTES];
};

struct memory {
    void *pointer;
    size_t bytes;
    int value;
};

struct texture {
    cudaTextureObject_t object;
    void *texels;
    size_t bytes;
    struct cudaChannelFormatDesc format;
    struct cudaTextureDesc reading;
};

struct message {
    enum message_kind kind;
    cudaError_t error; // of an answer, and of MESSAGE_DONE
    int index, value;
    size_t bytes;
    union {
        struct ready ready;
        struct sgemm problem; // its workspace is an address in the guest
        struct kernel kernel;
        struct start start;
        struct memory memory;
        struct texture texture;
    };
};

// Where a parameter that follows `offset` bytes of others begins.
static inline size_t parameter_offset(size_t offset)
{
    return (offset + 15) / 16 * 16;
}

// Each moves all the bytes, and returns false where the other side is gone or says nothing.
bool send_bytes(int socket, const void *bytes, size_t count);
bool receive_bytes(int socket, void *bytes, size_t count);

#endif
