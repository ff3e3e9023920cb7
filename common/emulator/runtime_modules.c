// What nvcc's start-up code registers before main: containers of device code, and the host
// addresses that stand for kernels and variables.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"
#include "fatbin.h"
#include "fault.h"
#include "memory.h"
#include "nvcc.h"
#include "parser.h"
#include "runtime.h"
#include "texture.h"
#include "unasked.h"

// A container that has been registered.
struct image {
    const void *container;
    struct module *module; // NULL until something of it is wanted
    struct image *next;
};

// A variable, by the host address that stands for it.
struct symbol {
    const void *host;
    const char *name;
    size_t bytes;
    void **managed; // the host's pointer to it, set once the module is there; or NULL
    struct image *image;
    struct symbol *next;
};

static struct image *images;
static struct function *functions;
static struct symbol *symbols;

// Leaks ------------------------------------------------------------------------------------------

// True where something has been left behind, and has been told.
static bool report_leaks(void)
{
    uint64_t bytes = 0;
    int count = 0;
    const char *const name = memory_leaks(&count, &bytes);
    const int textures = textures_live();
    if (!emulator_settings.checks || (count == 0 && textures == 0))
        return false;
    fflush(NULL);
    fprintf(stderr, "%s: emulator: leak: ", emulator_settings.program);
    if (count > 0)
        fprintf(stderr, "%d allocation%s of %llu bytes never freed%s %s%s", count,
                count > 1 ? "s" : "", (unsigned long long)bytes, count > 1 ? ", the first:" : ":",
                name, textures > 0 ? "; " : "");
    if (textures > 0)
        fprintf(stderr, "%d texture object%s never destroyed", textures, textures > 1 ? "s" : "");
    fputc('\n', stderr);
    return true;
}

void emulator_check_leaks(void)
{
    emulator_settings.leaks_at_exit = false;
    if (report_leaks())
        exit(EMULATOR_FAULT);
}

// After an error a program need not give back anything.
static void check_at_exit(void)
{
    if (!emulator_has_failed())
        unasked_tell();
    if (emulator_settings.leaks_at_exit && !any_error() && !emulator_has_failed() && report_leaks())
        _Exit(EMULATOR_FAULT);
}

// Before any other constructor, so that the check comes after every destructor.
__attribute__((constructor(101))) static void register_check(void)
{
    atexit(check_at_exit);
}

// Registration -----------------------------------------------------------------------------------

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter): the names
// and the types are nvcc's.
static cudaError_t load(struct image *image);

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct image *image = zeroed(1, sizeof *image);
    image->container = ((const struct wrapper *)wrapper)->container;
    if (emulator_settings.capability == 0)
        emulator_settings.capability = fatbin_newest_machine_code(image->container);
    // A program that was built for a newer GPU than the model gets a model that it runs on.
    const int lowest = fatbin_lowest_capability(image->container);
    if (lowest > emulator_settings.capability && !emulator_settings.only_this_gpu)
        emulator_settings.capability = lowest;
    image->next = images;
    images = image;
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

// Called before the host first touches a managed variable.
char __cudaInitModule(void **handle)
{
    enter_runtime(__func__);
    const cudaError_t error = load((struct image *)(void *)handle);
    leave_runtime(error);
    return error == cudaSuccess ? 1 : 0;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size)
{
    struct function *function = zeroed(1, sizeof *function);
    (void)device;
    (void)thread_limit;
    (void)thread;
    (void)block;
    (void)block_size;
    (void)grid_size;
    (void)warp_size;
    function->host = host;
    function->name = name;
    function->image = (struct image *)(void *)handle;
    function->dynamic_limit = -1;
    function->carveout = -1;
    function->next = functions;
    functions = function;
}

static struct symbol *add_symbol(void **handle, const void *host, const char *name, size_t bytes)
{
    struct symbol *symbol = zeroed(1, sizeof *symbol);
    symbol->host = host;
    symbol->name = name;
    symbol->bytes = bytes;
    symbol->image = (struct image *)(void *)handle;
    symbol->next = symbols;
    symbols = symbol;
    return symbol;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)device;
    (void)external;
    (void)constant;
    (void)global;
    add_symbol(handle, host, name, size);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global)
{
    (void)device;
    (void)external;
    (void)constant;
    (void)global;
    add_symbol(handle, host, name, size)->managed = host;
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-non-const-parameter)

// Finding ----------------------------------------------------------------------------------------

// From now on the pointer stands for the variable, in place of its own address.
static void point_to_managed(struct symbol *symbol)
{
    const uint64_t address = module_variable(symbol->image->module, symbol->name);
    *symbol->managed = pointer_to(address);
    symbol->host = *symbol->managed;
}

static cudaError_t load(struct image *image)
{
    if (image->module != NULL)
        return cudaSuccess;
    const char *ptx = fatbin_ptx(image->container, emulator_settings.capability);
    if (ptx == NULL)
        return cudaErrorNoKernelImageForDevice;
    image->module = parse_module(ptx);
    image->module->container = image->container;
    for (struct symbol *symbol = symbols; symbol != NULL; symbol = symbol->next)
        if (symbol->image == image && symbol->managed != NULL)
            point_to_managed(symbol);
    return cudaSuccess;
}

cudaError_t find_function(struct function **function, const void *host)
{
    struct function *found = functions;
    while (found != NULL && found->host != host)
        found = found->next;
    if (host == NULL)
        return because(cudaErrorInvalidDeviceFunction, "the kernel is a null pointer");
    if (found == NULL)
        return because(cudaErrorInvalidResourceHandle, "%p is no kernel", host);
    const cudaError_t error = load(found->image);
    if (error != cudaSuccess)
        return error;
    if (found->kernel == NULL)
        found->kernel = module_kernel(found->image->module, found->name);
    if (found->kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    found->kernel->machine_registers = function_registers(found);
    *function = found;
    return cudaSuccess;
}

cudaError_t find_symbol(uint64_t *address, size_t *bytes, const void *host)
{
    const struct symbol *found = symbols;
    while (found != NULL && found->host != host)
        found = found->next;
    if (found == NULL)
        return cudaErrorInvalidSymbol;
    const cudaError_t error = load(found->image);
    if (error != cudaSuccess)
        return error;
    *bytes = found->bytes;
    *address = module_variable(found->image->module, found->name);
    return *address == 0 ? cudaErrorInvalidSymbol : cudaSuccess;
}

int function_registers(const struct function *function)
{
    const int registers = fatbin_registers(function->image->container, function->name);
    return registers > 0 ? registers : 0;
}

int function_frame_bytes(const struct function *function)
{
    const int bytes = fatbin_frame_bytes(function->image->container, function->name);
    return bytes > 0 ? bytes : 0;
}
