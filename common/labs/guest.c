// The guest: runs a submission's host code, and stands in for the CUDA runtime there. Each call
// goes to the judge (wire.h). Compiled once a step with -DSTEP=stepNN, and linked with the
// submission's object in place of the runtime.
//
// Before anything of the submission runs, the process gives up every system call but reading,
// writing and ending: no files, no processes, no clock, no network. Its environment is empty, and
// it has never seen an element of a matrix.
#include "emulator/nvcc.h"
#include "wire.h"

#include <linux/seccomp.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    HEAP_BYTES = 1 << 20, // all the memory that the submission can have
    NESTED_LAUNCHES = 16,
};

// A kernel by the address that stands for it in the submission's host code.
struct known_kernel {
    const void *host;
    struct kernel kernel;
};

// What <<<...>>> leaves for the function that it calls.
struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

static struct known_kernel known_kernels[MOST_KERNELS];
static int kernel_count;
static struct configuration configurations[NESTED_LAUNCHES];
static int configuration_count;

// The sandbox has no way to end a process in good order: this way it ends it, too.
static _Noreturn void end(void)
{
    _exit(EXIT_FAILURE);
}

static void tell(const struct message *message)
{
    if (!send_bytes(GUEST_SOCKET, message, sizeof *message))
        end();
}

static struct message hear(void)
{
    struct message message;

    if (!receive_bytes(GUEST_SOCKET, &message, sizeof message))
        end();
    return message;
}

static struct message ask(const struct message *question)
{
    tell(question);
    return hear();
}

// The heap has to be there before: it cannot grow afterwards.
static void enter_sandbox(void)
{
    const struct message refused = {.kind = MESSAGE_NO_SANDBOX};
    void *volatile piece; // so that no compiler leaves it out

    mallopt(M_MMAP_THRESHOLD, 2 * HEAP_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
    mallopt(M_TOP_PAD, HEAP_BYTES);
    piece = malloc(1);
    free(piece);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        tell(&refused);
        end();
    }
}

// Before every constructor.
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = enter_sandbox;

// What nvcc's code calls
// ---------------------------------------------------------------------------

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter): the names
// and the types are nvcc's.
cudaError_t __cudaGetKernel(struct known_kernel **kernel, const void *host);
cudaError_t __cudaLaunchKernel(const struct known_kernel *kernel, dim3 grid, dim3 block,
                               void **arguments, size_t shared, cudaStream_t stream);

void **__cudaRegisterFatBinary(void *wrapper)
{
    const unsigned char *container = ((const struct wrapper *)wrapper)->container;
    struct message message = {.kind = MESSAGE_CONTAINER};
    uint16_t header_bytes;
    uint64_t content_bytes;

    memcpy(&header_bytes, container + 6, sizeof header_bytes);
    memcpy(&content_bytes, container + 8, sizeof content_bytes);
    message.bytes = header_bytes + content_bytes;
    tell(&message);
    if (!send_bytes(GUEST_SOCKET, container, message.bytes))
        end();
    hear();
    return wrapper;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size)
{
    struct message message = {.kind = MESSAGE_KERNEL};

    (void)handle;
    (void)device;
    (void)thread_limit;
    (void)thread;
    (void)block;
    (void)block_size;
    (void)grid_size;
    (void)warp_size;
    snprintf(message.kernel.name, sizeof message.kernel.name, "%s", name);
    message = ask(&message);
    if (kernel_count == MOST_KERNELS)
        end();
    known_kernels[kernel_count++] = (struct known_kernel){host, message.kernel};
}

// The host has no way to reach a variable: that its name is known is enough.
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)handle;
    (void)host;
    (void)device;
    (void)name;
    (void)external;
    (void)size;
    (void)constant;
    (void)global;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (configuration_count == NESTED_LAUNCHES)
        return 1;
    configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (configuration_count == 0)
        return cudaErrorMissingConfiguration;
    const struct configuration *top = &configurations[--configuration_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(struct known_kernel **kernel, const void *host)
{
    int i;

    for (i = 0; i < kernel_count; i++) {
        *kernel = &known_kernels[i];
        if (known_kernels[i].host == host)
            return cudaSuccess;
    }
    *kernel = NULL;
    return cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(const struct known_kernel *kernel, dim3 grid, dim3 block,
                               void **arguments, size_t shared, cudaStream_t stream)
{
    struct message message = {.kind = MESSAGE_START};
    size_t offset = 0;
    int i;

    (void)stream; // the judge's, the only one there is
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    message.start.index = kernel->kernel.index;
    message.start.grid = grid;
    message.start.block = block;
    message.start.shared = shared;
    for (i = 0; i < kernel->kernel.parameters; i++) {
        const size_t bytes = kernel->kernel.bytes[i];

        offset = parameter_offset(offset);
        memcpy(message.start.parameters + offset, arguments[i], bytes);
        offset += bytes;
    }
    return ask(&message).error;
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter)

// The CUDA runtime, as far as a submission may use it
// ----------------------------------------------

cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    struct known_kernel *kernel;

    __cudaGetKernel(&kernel, host);
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
    struct message message = {.kind = MESSAGE_SHARED, .value = value};
    struct known_kernel *kernel;
    const cudaError_t error = __cudaGetKernel(&kernel, host);

    if (error != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return error;
    message.index = kernel->kernel.index;
    return ask(&message).error;
}

cudaError_t cudaGetLastError(void)
{
    const struct message message = {.kind = MESSAGE_LAST_ERROR};

    return ask(&message).error;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0; // the judge knows which
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    const struct message question = {.kind = MESSAGE_ATTRIBUTE, .value = (int)attribute};
    const struct message answer = ask(&question);

    (void)device;
    *value = answer.value;
    return answer.error;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    const struct message question = {.kind = MESSAGE_MALLOC, .memory = {.bytes = bytes}};
    const struct message answer = ask(&question);

    *pointer = answer.memory.pointer;
    return answer.error;
}

cudaError_t cudaFree(void *pointer)
{
    const struct message question = {.kind = MESSAGE_FREE, .memory = {.pointer = pointer}};

    return ask(&question).error;
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    const struct message question = {.kind = MESSAGE_MEMSET, .memory = {pointer, bytes, value}};

    (void)stream;
    return ask(&question).error;
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    return cudaMemsetAsync(pointer, value, bytes, NULL);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *reading,
                                    const struct cudaResourceViewDesc *view)
{
    struct message message = {.kind = MESSAGE_TEXTURE};

    if (resource->resType != cudaResourceTypeLinear || view != NULL)
        return cudaErrorNotSupported;
    message.texture.texels = resource->res.linear.devPtr;
    message.texture.bytes = resource->res.linear.sizeInBytes;
    message.texture.format = resource->res.linear.desc;
    message.texture.reading = *reading;
    message = ask(&message);
    *object = message.texture.object;
    return message.error;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    const struct message question = {.kind = MESSAGE_END_TEXTURE, .texture = {.object = object}};

    return ask(&question).error;
}

// What a submission prints counts for nothing
// ------------------------------------------------------

int printf(const char *format, ...)
{
    (void)format;
    return 0;
}

int fprintf(FILE *file, const char *format, ...)
{
    (void)file;
    (void)format;
    return 0;
}

int puts(const char *text)
{
    (void)text;
    return 0;
}

int putchar(int character)
{
    return character;
}

int fputs(const char *text, FILE *file)
{
    (void)text;
    (void)file;
    return 0;
}

int fputc(int character, FILE *file)
{
    (void)file;
    return character;
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file)
{
    (void)bytes;
    (void)size;
    (void)file;
    return count;
}

// --------------------------------------------------------------------------------------------------

static struct message describe_step(const struct step *step)
{
    struct message message = {.kind = MESSAGE_DONE};
    struct ready *ready = &message.ready;
    struct known_kernel *kernel;
    int i;

    ready->number = step->number;
    ready->tile_m = step->tile_m;
    ready->tile_n = step->tile_n;
    ready->tile_k = step->tile_k;
    ready->threads = step->threads;
    ready->dynamic_shared = step->dynamic_shared;
    ready->minimum_capability = step->minimum_capability;
    for (i = 0; i < STEP_KERNELS; i++) {
        __cudaGetKernel(&kernel, step->kernels[i].function);
        ready->kernels[i] = kernel != NULL ? kernel->kernel.index : -1;
    }
    return message;
}

static cudaError_t obey(const struct step *step, enum message_kind kind, struct sgemm *problem)
{
    if (kind == MESSAGE_PREPARE)
        return step->prepare != NULL ? step->prepare(problem) : cudaSuccess;
    if (kind == MESSAGE_RELEASE)
        return step->release != NULL ? step->release(problem) : cudaSuccess;
    return step->launch(problem, NULL);
}

int main(void)
{
    struct message message = describe_step(&STEP);

    for (;;) {
        tell(&message);
        message = hear();
        message.error = obey(&STEP, message.kind, &message.problem);
        message.kind = MESSAGE_DONE;
    }
}
