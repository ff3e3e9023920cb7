#include "fault.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"
#include "launch.h"
#include "memory.h"
#include "unasked.h"
#include "warp.h"

enum {
    NEAR_NULL = 1 << 20,   // an index added to a null pointer is hardly greater
    CLOSE_BYTES = 1 << 16, // and an index too small or too large hardly further off
};

static bool failed;

bool emulator_has_failed(void)
{
    return failed;
}

static void say(const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "%s: emulator: ", emulator_settings.program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void emulator_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

_Noreturn void emulator_fail(const char *format, ...)
{
    va_list arguments;
    unasked_tell();
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    failed = true;
    exit(EMULATOR_FAULT);
}

_Noreturn void out_of_memory(uint64_t bytes)
{
    emulator_say("out of host memory: %llu bytes wanted", (unsigned long long)bytes);
    failed = true;
    exit(EMULATOR_NO_MEMORY);
}

// Whether an address is a host's, and not a little outside what kernels may touch.
static bool is_host_pointer(const struct allocation *near, uint64_t address)
{
    const bool close = near != NULL && address - (near->address - CLOSE_BYTES) <
                                           near->bytes + CLOSE_BYTES + CLOSE_BYTES;
    return memory_is_host(address) && !close;
}

const char *describe_address(uint64_t address, uint64_t bytes, char *out, size_t size)
{
    const struct allocation *near = memory_nearest(address);
    if (is_host_pointer(near, address)) {
        snprintf(out, size, "0x%" PRIx64 ", %s", address,
                 address < NEAR_NULL ? "a null pointer"
                                     : "a pointer to memory of the host (kernels reach that of "
                                       "cudaMalloc, cudaMallocManaged and cudaMallocHost)");
        return out;
    }
    if (near == NULL) {
        snprintf(out, size, "0x%" PRIx64 ", and nothing has been allocated", address);
        return out;
    }
    char name[160];
    snprintf(name, sizeof name, "%s%s%" PRIu64 " bytes at 0x%" PRIx64, near->name,
             near->name[0] != '\0' ? ", " : "the allocation of ",
             near->host != NULL ? near->last - near->first : near->bytes, near->first);
    if (near->host == NULL && address - near->address < near->bytes)
        snprintf(out, size, "0x%" PRIx64 " in %s, which has been freed", address, name);
    else if (address < near->first)
        snprintf(out, size, "0x%" PRIx64 ", %" PRIu64 " bytes before %s", address,
                 near->first - address, name);
    else if (address + bytes > near->last)
        snprintf(out, size, "0x%" PRIx64 ", %" PRIu64 " bytes past the end of %s", address,
                 address > near->last ? address - near->last : 0, name);
    else
        snprintf(out, size, "0x%" PRIx64 ", %" PRIu64 " bytes into %s", address,
                 address - near->first, name);
    return out;
}

struct text readable_name(struct text name)
{
    struct text last = name;
    if (name.length < 2 || name.start[0] != '_' || name.start[1] != 'Z')
        return name;
    for (size_t i = 2; i < name.length;) {
        size_t length = 0;
        size_t digits = 0;
        while (i + digits < name.length && isdigit((unsigned char)name.start[i + digits]))
            length = 10 * length + (size_t)(name.start[i + digits++] - '0');
        if (length > 0 && length <= name.length - i - digits) {
            last = (struct text){name.start + i + digits, length};
            i += digits + length;
            if (name.start[2] != 'Z' && name.start[2] != 'N')
                break; // what follows are the types of parameters
        } else {
            i += digits > 0 ? digits : 1;
        }
    }
    return last;
}

const char *describe_shared(const struct block *block, uint64_t address, char *out, size_t size)
{
    const struct launch *launch = block->launch;
    const struct kernel *kernel = launch->code->kernel;
    const uint64_t offset = address - launch->shared_base;
    const uint64_t end = launch->shared_base + block->shared_bytes;
    if (address < launch->shared_base) {
        snprintf(out, size,
                 "shared address 0x%" PRIx64 ", %" PRIu64 " bytes before the block's %" PRIu64
                 " bytes at 0x%" PRIx64,
                 address, launch->shared_base - address, block->shared_bytes, launch->shared_base);
        return out;
    }
    if (address >= end) {
        snprintf(out, size,
                 "shared address 0x%" PRIx64 ", %" PRIu64 " bytes past the end of the "
                 "block's %" PRIu64 " bytes at 0x%" PRIx64 "%s",
                 address, address - end, block->shared_bytes, launch->shared_base,
                 kernel->dynamic != NULL && launch->dynamic_bytes == 0
                     ? " (the launch asked for no dynamic shared memory: its third argument)"
                     : "");
        return out;
    }
    snprintf(out, size, "shared address 0x%" PRIx64, address);
    for (int i = 0; i < kernel->shared_count; i++) {
        const struct placement *place = &kernel->shared[i];
        const struct variable *variable = place->variable;
        const uint64_t bytes = variable->bytes == 0 ? launch->dynamic_bytes : variable->bytes;
        const struct text name = readable_name(variable->name);
        if (offset - place->offset < bytes)
            snprintf(out, size, "shared address 0x%" PRIx64 ", %" PRIu64 " bytes into %.*s",
                     address, offset - place->offset, (int)name.length, name.start);
    }
    return out;
}

const char *describe_block(const struct block *block, uint64_t number, char *out, size_t size)
{
    const struct position grid = block->launch->grid;
    snprintf(out, size, "in block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", number % grid.x,
             number / grid.x % grid.y, number / grid.x / grid.y);
    return out;
}

const char *describe_thread(const struct warp *warp, int thread, char *out, size_t size)
{
    const struct position d = warp->block->launch->dimensions;
    const unsigned t = (unsigned)thread;
    snprintf(out, size, "(%u,%u,%u)", t % d.x, t / d.x % d.y, t / d.x / d.y);
    return out;
}

const char *describe_place(const struct warp *warp, const struct instruction *instruction,
                           char *out, size_t size)
{
    const struct statement *statement = detail_of(warp, instruction)->statement;
    const struct text file =
        module_file(warp->block->launch->code->kernel->module, statement->place.file);
    if (file.length > 0)
        snprintf(out, size, "at %.*s:%d", (int)file.length, file.start, statement->place.line);
    else
        snprintf(out, size, "at PTX line %d", statement->line);
    return out;
}

// The instruction's text with single blanks.
static const char *describe_text(struct text text, char *out, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < text.length && length + 1 < size; i++) {
        const bool blank = isspace((unsigned char)text.start[i]) != 0;
        if (!blank)
            out[length++] = text.start[i];
        else if (length > 0 && out[length - 1] != ' ')
            out[length++] = ' ';
    }
    out[length] = '\0';
    return out;
}

static _Noreturn void end_block(struct warp *warp, const struct instruction *instruction, int lane,
                                enum ending ending, const char *format, va_list arguments)
{
    char what[1024];
    char place[512];
    char text[256];
    char thread[64];
    const struct statement *statement = detail_of(warp, instruction)->statement;
    const struct position block = warp->block->position;
    const char *const mangled = warp->block->launch->code->kernel->name;
    const struct text kernel = readable_name((struct text){mangled, strlen(mangled)});
    vsnprintf(what, sizeof what, format, arguments);
    launch_failed(warp->block, ending,
                  "%s; %s (PTX line %d: %s), kernel %.*s, block (%u,%u,%u), thread %s", what,
                  describe_place(warp, instruction, place, sizeof place), statement->line,
                  describe_text(statement->source, text, sizeof text), (int)kernel.length,
                  kernel.start, block.x, block.y, block.z,
                  describe_thread(warp, warp->index * LANES + lane, thread, sizeof thread));
}

_Noreturn void fault(struct warp *warp, const struct instruction *instruction, int lane,
                     const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_block(warp, instruction, lane, ENDING_FAULT, format, arguments);
}

_Noreturn void device_fault(struct warp *warp, const struct instruction *instruction, int lane,
                            enum ending ending, const char *format, ...)
{
    const bool by_itself = ending == ENDING_TRAP || ending == ENDING_ASSERT;
    va_list arguments;
    va_start(arguments, format);
    end_block(warp, instruction, lane,
              warp->block->launch->checks && !by_itself ? ENDING_FAULT : ending, format, arguments);
}
