// Runs the kernels of a PTX file on the emulator, for tests that compute what they must give.
//
//   ptx_runner list                                            the opcodes that compute
//   ptx_runner unknown FILE                                    instructions of k0 that nobody knows
//   ptx_runner run FILE INPUT OUTPUT KERNELS THREADS [VECTOR_BITS]
//
// The kernels are k0, k1, ... with two parameters: where a thread finds its 32 bytes of the input,
// and where its 16 bytes of the output go. INPUT has the threads' operands kernel by kernel, OUTPUT
// gets the results.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/decode.h"
#include "emulator/emulator.h"
#include "emulator/execute.h"
#include "emulator/launch.h"
#include "emulator/memory.h"
#include "emulator/opcodes.h"
#include "emulator/parser.h"

enum {
    INPUT_BYTES = 32,
    OUTPUT_BYTES = 16,
    BLOCK_THREADS = 64,
};

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(*size + 1, 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
        exit(2);
    fclose(file);
    return bytes;
}

static int list_opcodes(void)
{
    for (int i = 0; i < instruction_set()->count; i++)
        puts(instruction_set()->opcodes[i].text);
    return 0;
}

static int list_unknown(const char *path)
{
    size_t size;
    const struct module *module = parse_module(read_file(path, &size));
    struct kernel *kernel = module_kernel(module, "k0");

    if (kernel == NULL)
        return 2;
    const struct code *code = decode(kernel);
    for (int i = 0; i < code->count; i++)
        if (code->instructions[i].run == unknown_instruction) {
            const struct text text = code->details[i].statement->source;
            printf("%.*s\n", (int)text.length, text.start);
        }
    return 0;
}

// Runs one kernel on its part of the input.
static void run_kernel(struct kernel *kernel, const char *input, char *output, size_t threads)
{
    struct allocation *const in = memory_allocate(MEMORY_DEVICE, threads * INPUT_BYTES);
    struct allocation *const out = memory_allocate(MEMORY_DEVICE, threads * OUTPUT_BYTES);
    const struct position grid = {(unsigned)(threads / BLOCK_THREADS), 1, 1};

    if (in == NULL || out == NULL)
        exit(2);
    void *const arguments[] = {&in->address, &out->address};
    memory_write(in->address, input, threads * INPUT_BYTES);
    memory_fill(out->address, 0, threads * OUTPUT_BYTES);
    launch_kernel(kernel, grid, (struct position){BLOCK_THREADS, 1, 1}, arguments, 0, false);
    memcpy(output, out->host, threads * OUTPUT_BYTES);
    memory_release(in);
    memory_release(out);
}

static int run(char **arguments)
{
    size_t size;
    const struct module *module = parse_module(read_file(arguments[0], &size));
    const char *input = read_file(arguments[1], &size);
    const size_t kernels = strtoul(arguments[3], NULL, 10);
    const size_t threads = strtoul(arguments[4], NULL, 10);
    char *output = calloc(kernels * threads, OUTPUT_BYTES);
    FILE *file = fopen(arguments[2], "wb");

    if (output == NULL || file == NULL || size != kernels * threads * INPUT_BYTES)
        exit(2);
    for (size_t i = 0; i < kernels; i++) {
        char name[32];
        snprintf(name, sizeof name, "k%zu", i);
        struct kernel *kernel = module_kernel(module, name);
        if (kernel == NULL)
            exit(2);
        run_kernel(kernel, input + i * threads * INPUT_BYTES, output + i * threads * OUTPUT_BYTES,
                   threads);
    }
    const bool written = fwrite(output, OUTPUT_BYTES, kernels * threads, file) == kernels * threads;
    free(output);
    return fclose(file) == 0 && written ? 0 : 2;
}

int main(int argc, char **argv)
{
    emulator_settings.program = "ptx_runner";
    emulator_settings.vector_bits = argc > 7 ? (int)strtol(argv[7], NULL, 10) : 0;
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list_opcodes();
    if (argc == 3 && strcmp(argv[1], "unknown") == 0)
        return list_unknown(argv[2]);
    return argc >= 7 && strcmp(argv[1], "run") == 0 ? run(argv + 2) : 2;
}
