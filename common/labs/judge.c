// judge GUEST [options of a step]: verifies a submission as ./stepNN verifies a step.
//
// It is the harness, with a step whose three functions ask the submission's host code, in the
// process GUEST, what to start, and start it. Inputs, results, counters and the verdict are in
// this process, which runs no code of the submission but its kernels. It comes in two builds: with
// the emulator, and with the CUDA runtime for a GPU. Exit codes are those of a step; a guest that
// breaks the rules is exit 3.
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "emulator/nvcc.h"
#include "program.h"
#include "wire.h"

enum {
    HOST_SECONDS = 2,    // of CPU time, for all that the host code does
    ANSWER_SECONDS = 60, // until it has to have answered: the machine may be busy
    MOST_DESCRIPTORS = 1024,
};

static struct {
    int socket;
    pid_t process;
    const char *doing; // what it has been told to do
    unsigned char *container;
    size_t container_bytes;
    void **handle; // of the container, with the runtime
    struct kernel kernels[MOST_KERNELS];
    int kernel_count;
} guest;

// The other process
// --------------------------------------------------------------------------------

// In the new process, which keeps no descriptor but its socket.
static _Noreturn void become_guest(const char *program, int socket)
{
    char *arguments[] = {strdup(program), NULL}, *environment[] = {NULL};
    struct rlimit cpu;
    int descriptor;

    getrlimit(RLIMIT_CPU, &cpu);
    cpu.rlim_cur = HOST_SECONDS; // less than the hard limit, which would not say what it was
    setrlimit(RLIMIT_CPU, &cpu);
    dup2(socket, GUEST_SOCKET);
    for (descriptor = 0; descriptor < MOST_DESCRIPTORS; descriptor++) {
        if (descriptor != GUEST_SOCKET)
            close(descriptor);
    }
    execve(program, arguments, environment);
    _exit(127);
}

static void start_guest(const char *program)
{
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    int sockets[2];

    signal(SIGPIPE, SIG_IGN);
    if (access(program, X_OK) != 0)
        fail(EXIT_USAGE, "cannot run '%s': %s", program, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        fail(EXIT_CUDA, "no socket for the submission: %s", strerror(errno));
    guest.process = fork();
    if (guest.process < 0)
        fail(EXIT_CUDA, "no process for the submission: %s", strerror(errno));
    if (guest.process == 0)
        become_guest(program, sockets[1]);
    close(sockets[1]);
    guest.socket = sockets[0];
    guest.doing = "its start";
    setsockopt(guest.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(guest.socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// Nothing more has come from the guest: says why, and ends the program.
static _Noreturn void give_up_on_guest(void)
{
    int status = 0;
    const bool silent = errno == EAGAIN || errno == EWOULDBLOCK;

    if (silent)
        kill(guest.process, SIGKILL);
    waitpid(guest.process, &status, 0);
    if (silent)
        fail(EXIT_CUDA, "host code: %s did not answer within %d s", guest.doing, ANSWER_SECONDS);
    if (!WIFSIGNALED(status))
        fail(EXIT_CUDA, "host code: %s ended the program", guest.doing);
    if (WTERMSIG(status) == SIGXCPU)
        fail(EXIT_CUDA, "host code: %s took more than %d s: does every loop end?", guest.doing,
             HOST_SECONDS);
    if (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGSYS)
        fail(EXIT_CUDA,
             "host code: %s did what it may not: it has no files, processes, clock or network, "
             "and 1 MiB of memory",
             guest.doing);
    fail(EXIT_CUDA, "host code: %s crashed: %s (device memory is out of the host's reach)",
         guest.doing, strsignal(WTERMSIG(status)));
}

static void tell(const struct message *message)
{
    if (!send_bytes(guest.socket, message, sizeof *message))
        give_up_on_guest();
}

static void hear(void *bytes, size_t count)
{
    errno = 0;
    if (!receive_bytes(guest.socket, bytes, count))
        give_up_on_guest();
}

// What it asks for
// ---------------------------------------------------------------------------------
//
// Nothing that comes from the guest is taken on trust: sizes and indices are checked here, pointers
// by the runtime or the emulator when they are used.

static cudaError_t take_container(struct message *message)
{
    static struct wrapper wrapper = {.magic = 0x466243b1, .version = 1};

    if (guest.container != NULL || message->bytes < 16 || message->bytes > CONTAINER_BYTES)
        fail(EXIT_CUDA, "host code: device code of %zu bytes, one piece of at most %d is allowed",
             message->bytes, (int)CONTAINER_BYTES);
    guest.container = malloc(message->bytes + 1);
    if (guest.container == NULL)
        fail(EXIT_CUDA, "out of host memory: %zu bytes of device code", message->bytes);
    hear(guest.container, message->bytes);
    guest.container[message->bytes] = '\0';
    guest.container_bytes = message->bytes;
    wrapper.container = guest.container;
    guest.handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFatBinaryEnd(guest.handle);
    return cudaSuccess;
}

// Where the PTX of the container declares the parameters of this kernel: behind their "(". Machine
// code may hold the same text for debuggers, with a NUL in place of each newline: not that.
static const char *find_parameters(const char *name)
{
    static const char entry[] = ".entry ";
    const size_t length = strlen(name);
    const char *at = (const char *)guest.container;
    const char *const end = at + guest.container_bytes;

    for (; (size_t)(end - at) > sizeof entry + length; at++) {
        if (*at != '.' || strncmp(at, entry, sizeof entry - 1) != 0)
            continue;
        at += sizeof entry - 1;
        if ((size_t)(end - at) > length && strncmp(at, name, length) == 0 && at[length] == '(' &&
            strchr(at + length, ')') != NULL)
            return at + length + 1;
    }
    return NULL;
}

// The bytes of one parameter: ".param .u64 n" has 8, ".param .align 8 .b8 n[88]" has 88.
static size_t parameter_bytes(const char *text, const char *end)
{
    size_t bits = 0, count = 1;

    for (; text < end; text++) {
        if (text[0] == '.' && strchr("bsuf", text[1]) != NULL && isdigit((unsigned char)text[2]))
            bits = strtoul(text + 2, NULL, 10);
        if (text[0] == '[')
            count = strtoul(text + 1, NULL, 10);
    }
    return bits / 8 * (count < PARAMETER_BYTES ? count : PARAMETER_BYTES);
}

static cudaError_t read_parameters(struct kernel *kernel)
{
    const char *text = find_parameters(kernel->name);
    size_t offset = 0;

    if (text == NULL)
        return cudaErrorInvalidDeviceFunction;
    for (kernel->parameters = 0; *text != ')' && *text != '\0'; kernel->parameters++) {
        const char *const end = text + strcspn(text, ",)");
        const size_t bytes = parameter_bytes(text, end);

        if (memchr(text, '.', (size_t)(end - text)) == NULL)
            break; // a kernel without parameters
        offset = parameter_offset(offset) + bytes;
        if (kernel->parameters == MOST_PARAMETERS || offset > PARAMETER_BYTES)
            return cudaErrorNotSupported;
        kernel->bytes[kernel->parameters] = bytes;
        text = *end == ',' ? end + 1 : end;
    }
    return cudaSuccess;
}

// What stands for a kernel with the runtime is the address where the judge describes it.
static cudaError_t take_kernel(struct message *message)
{
    struct kernel *kernel;
    cudaError_t error;

    if (guest.kernel_count == MOST_KERNELS)
        fail(EXIT_CUDA, "a file may have %d kernels, and this one has more", MOST_KERNELS);
    if (guest.handle == NULL)
        return cudaErrorInvalidDeviceFunction;
    kernel = &guest.kernels[guest.kernel_count];
    *kernel = message->kernel;
    kernel->name[NAME_BYTES - 1] = '\0';
    kernel->index = guest.kernel_count;
    error = read_parameters(kernel);
    if (error != cudaSuccess)
        fail(EXIT_CUDA, "kernel '%.80s': at most %d parameters and %d bytes of them can be passed",
             kernel->name, MOST_PARAMETERS, PARAMETER_BYTES);
    __cudaRegisterFunction(guest.handle, (const char *)kernel, kernel->name, kernel->name, -1, NULL,
                           NULL, NULL, NULL, NULL);
    guest.kernel_count++;
    message->kernel = *kernel;
    return cudaSuccess;
}

static const struct kernel *kernel_at(int index)
{
    return index >= 0 && index < guest.kernel_count ? &guest.kernels[index] : NULL;
}

static cudaError_t start_kernel(struct start *start)
{
    const struct kernel *kernel = kernel_at(start->index);
    void *arguments[MOST_PARAMETERS];
    size_t offset = 0;
    int i;

    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    for (i = 0; i < kernel->parameters; i++) {
        offset = parameter_offset(offset);
        arguments[i] = start->parameters + offset;
        offset += kernel->bytes[i];
    }
    return cudaLaunchKernel(kernel, start->grid, start->block, arguments, start->shared, NULL);
}

static cudaError_t allow_shared(const struct message *message)
{
    const struct kernel *kernel = kernel_at(message->index);

    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                message->value);
}

static cudaError_t find_attribute(struct message *message)
{
    int device;
    const cudaError_t error = cudaGetDevice(&device);

    if (error != cudaSuccess)
        return error;
    return cudaDeviceGetAttribute(&message->value, (enum cudaDeviceAttr)message->value, device);
}

static cudaError_t make_texture(struct texture *texture)
{
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};

    resource.res.linear.devPtr = texture->texels;
    resource.res.linear.sizeInBytes = texture->bytes;
    resource.res.linear.desc = texture->format;
    return cudaCreateTextureObject(&texture->object, &resource, &texture->reading, NULL);
}

static cudaError_t answer(struct message *message)
{
    struct memory *memory = &message->memory;

    switch (message->kind) {
    case MESSAGE_CONTAINER:
        return take_container(message);
    case MESSAGE_KERNEL:
        return take_kernel(message);
    case MESSAGE_START:
        return start_kernel(&message->start);
    case MESSAGE_SHARED:
        return allow_shared(message);
    case MESSAGE_ATTRIBUTE:
        return find_attribute(message);
    case MESSAGE_LAST_ERROR:
        return cudaGetLastError();
    case MESSAGE_MALLOC:
        return cudaMalloc(&memory->pointer, memory->bytes);
    case MESSAGE_FREE:
        return cudaFree(memory->pointer);
    case MESSAGE_MEMSET:
        return cudaMemsetAsync(memory->pointer, memory->value, memory->bytes, NULL);
    case MESSAGE_TEXTURE:
        return make_texture(&message->texture);
    case MESSAGE_END_TEXTURE:
        return cudaDestroyTextureObject(message->texture.object);
    default:
        fail(EXIT_CUDA, "host code: %s sent what is no request", guest.doing);
    }
}

// Until the guest is done with what it has been told.
static struct message serve(void)
{
    struct message message;

    for (;;) {
        hear(&message, sizeof message);
        if (message.kind == MESSAGE_NO_SANDBOX)
            fail(EXIT_CUDA, "this system cannot shut a process in: prctl(PR_SET_SECCOMP) fails");
        if (message.kind == MESSAGE_DONE)
            return message;
        message.error = answer(&message);
        tell(&message);
    }
}

// The step ----------------------------------------------------------------------------------------

static cudaError_t command(const char *doing, enum message_kind kind, struct sgemm *problem)
{
    struct message message = {.kind = kind, .problem = *problem};

    guest.doing = doing;
    tell(&message);
    message = serve();
    problem->workspace = message.problem.workspace;
    return message.error;
}

static cudaError_t prepare(struct sgemm *problem)
{
    return command("prepare()", MESSAGE_PREPARE, problem);
}

static cudaError_t launch(const struct sgemm *problem, cudaStream_t stream)
{
    struct sgemm copy = *problem;

    (void)stream; // the harness's is the default one
    return command("launch()", MESSAGE_LAUNCH, &copy);
}

static cudaError_t release(struct sgemm *problem)
{
    return command("release()", MESSAGE_RELEASE, problem);
}

static bool is_between(int number, int least, int most)
{
    return number >= least && number <= most;
}

static struct step describe_step(const struct ready *ready)
{
    struct step step = {.number = ready->number,
                        .name = "submission",
                        .title = "submission",
                        .tile_m = ready->tile_m,
                        .tile_n = ready->tile_n,
                        .tile_k = ready->tile_k,
                        .threads = ready->threads,
                        .dynamic_shared = ready->dynamic_shared,
                        .minimum_capability = ready->minimum_capability,
                        .prepare = prepare,
                        .launch = launch,
                        .release = release};
    int i;

    if (!is_between(step.number, 0, 99) || !is_between(step.tile_m, 1, 4096) ||
        !is_between(step.tile_n, 1, 4096) || !is_between(step.tile_k, 0, 4096) ||
        !is_between(step.threads, 1, 1024) || !is_between(step.dynamic_shared, 0, 1 << 20))
        fail(EXIT_CUDA, "the descriptor at the file's end: tiles of 1 to 4096, threads 1 to 1024");
    for (i = 0; i < STEP_KERNELS - 1; i++) {
        const struct kernel *kernel = kernel_at(ready->kernels[i]);

        if (kernel == NULL)
            break;
        step.kernels[i] = (struct step_kernel){.path = "", .function = kernel};
    }
    return step;
}

int main(int argc, char **argv)
{
    struct message ready;
    struct step step;

    if (argc < 2)
        fail(EXIT_USAGE, "which guest? judge GUEST [options of a step]");
    start_guest(argv[1]);
    ready = serve();
    step = describe_step(&ready.ready);
    return (int)run_program(&step, argc - 1, argv + 1);
}
