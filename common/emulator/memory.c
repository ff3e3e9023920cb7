#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"

enum {
    ALIGNMENT = 512, // what cudaMalloc gives, and what textures ask for
    MINIMUM_GAP = 1 << 20,
};

static const uint64_t FIRST_ADDRESS = UINT64_C(1) << 48; // no x86-64 or AArch64 pointer reaches it

// In the order of their addresses, which is also that of their creation.
static struct allocation **allocations;
static int count;
static uint64_t next_address = UINT64_C(1) << 48;

static struct allocation *append(uint64_t bytes)
{
    // The room doubles whenever the count is a power of two.
    if ((count & (count - 1)) == 0) {
        const size_t room = count == 0 ? 1 : 2 * (size_t)count;
        struct allocation **larger = zeroed(room, sizeof(void *));
        if (count > 0)
            memcpy(larger, allocations, (size_t)count * sizeof(void *));
        free(allocations);
        allocations = larger;
    }
    struct allocation *allocation = zeroed(1, sizeof *allocation);
    allocation->address = next_address;
    allocation->bytes = bytes;
    allocation->first = next_address;
    allocation->last = next_address + bytes;
    const uint64_t gap = bytes > MINIMUM_GAP ? bytes : MINIMUM_GAP;
    next_address += (bytes + gap + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    allocations[count++] = allocation;
    return allocation;
}

uint64_t memory_allocate(uint64_t bytes)
{
    uint8_t *host = malloc(bytes);
    uint8_t *valid = calloc(bytes / 8 + 1, 1);
    if (host == NULL || valid == NULL) {
        free(host);
        free(valid);
        return 0;
    }
    struct allocation *allocation = append(bytes);
    memset(host, 0xff, bytes);
    allocation->host = host;
    allocation->valid = valid;
    return allocation->address;
}

uint64_t memory_allocate_variable(struct text name, uint64_t bytes)
{
    struct allocation *allocation = append(bytes);
    allocation->host = zeroed(bytes, 1);
    allocation->variable = true;
    snprintf(allocation->name, sizeof allocation->name, "%.*s", (int)name.length, name.start);
    return allocation->address;
}

// The index of the last allocation that starts at or below the address; -1 where there is none.
static int index_below(uint64_t address)
{
    int low = -1;
    int high = count;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (allocations[middle]->address <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct allocation *memory_holding(uint64_t address)
{
    const int index = index_below(address);
    if (index < 0 || allocations[index]->host == NULL)
        return NULL;
    struct allocation *below = allocations[index];
    return address - below->address < below->bytes ? below : NULL;
}

struct allocation *memory_nearest(uint64_t address)
{
    const int index = index_below(address);
    if (index < 0)
        return count > 0 ? allocations[0] : NULL;
    struct allocation *below = allocations[index];
    if (index + 1 == count || address - below->address < below->bytes)
        return below;
    const uint64_t past = address - (below->address + below->bytes);
    const uint64_t before = allocations[index + 1]->address - address;
    return before < past ? allocations[index + 1] : below;
}

uint8_t *memory_host(uint64_t address, uint64_t bytes)
{
    const struct allocation *allocation = memory_holding(address);
    if (allocation == NULL || bytes > allocation->bytes - (address - allocation->address))
        return NULL;
    return allocation->host + (address - allocation->address);
}

bool memory_is_device(uint64_t address)
{
    return address >= FIRST_ADDRESS;
}

bool memory_release(uint64_t address)
{
    struct allocation *allocation = memory_holding(address);
    if (allocation == NULL || allocation->address != address || allocation->variable)
        return false;
    free(allocation->host);
    free(allocation->valid);
    allocation->host = NULL;
    allocation->valid = NULL;
    return true;
}

bool memory_valid(const struct allocation *allocation, uint64_t offset, uint64_t bytes)
{
    if (allocation->valid == NULL)
        return true;
    for (uint64_t i = offset; i < offset + bytes; i++) {
        const uint8_t bits = __atomic_load_n(&allocation->valid[i / 8], __ATOMIC_RELAXED);
        if (i % 8 == 0 && i + 8 <= offset + bytes && bits == 0xff)
            i += 7;
        else if ((bits >> i % 8 & 1) == 0)
            return false;
    }
    return true;
}

void memory_mark(struct allocation *allocation, uint64_t offset, uint64_t bytes)
{
    if (allocation->valid == NULL)
        return;
    for (uint64_t i = offset; i < offset + bytes;) {
        const uint64_t first = i % 8;
        const uint64_t last = offset + bytes - i < 8 - first ? first + offset + bytes - i : 8;
        const uint8_t mask = (uint8_t)((0xff >> (8 - last)) & (0xff << first));
        uint8_t *bits = &allocation->valid[i / 8];
        if ((__atomic_load_n(bits, __ATOMIC_RELAXED) & mask) != mask)
            __atomic_fetch_or(bits, mask, __ATOMIC_RELAXED);
        i += last - first;
    }
}

// Marks what the host has written. A write over all of an allocation settles it for good.
static void mark_by_host(struct allocation *allocation, uint64_t offset, uint64_t bytes)
{
    if (bytes < allocation->bytes) {
        memory_mark(allocation, offset, bytes);
        return;
    }
    free(allocation->valid);
    allocation->valid = NULL;
}

void memory_written(uint64_t address, uint64_t bytes)
{
    struct allocation *allocation = memory_holding(address);
    mark_by_host(allocation, address - allocation->address, bytes);
}

void memory_write(uint64_t address, const void *from, uint64_t bytes)
{
    struct allocation *allocation = memory_holding(address);
    memcpy(allocation->host + (address - allocation->address), from, bytes);
    mark_by_host(allocation, address - allocation->address, bytes);
}

void memory_fill(uint64_t address, int value, uint64_t bytes)
{
    struct allocation *allocation = memory_holding(address);
    memset(allocation->host + (address - allocation->address), value, bytes);
    mark_by_host(allocation, address - allocation->address, bytes);
}

static void copy_valid(struct allocation *to, uint64_t at, const struct allocation *from,
                       uint64_t first, uint64_t bytes)
{
    if (from->valid == NULL) {
        mark_by_host(to, at, bytes);
        return;
    }
    if (to->valid == NULL) {
        to->valid = zeroed(to->bytes / 8 + 1, 1);
        memset(to->valid, 0xff, to->bytes / 8 + 1);
    }
    for (uint64_t i = 0; i < bytes; i++) {
        const uint64_t bit = at + i;
        const int valid = from->valid[(first + i) / 8] >> (first + i) % 8 & 1;
        to->valid[bit / 8] =
            (uint8_t)((to->valid[bit / 8] & ~(1U << bit % 8)) | ((unsigned)valid << bit % 8));
    }
}

void memory_copy(uint64_t to, uint64_t from, uint64_t bytes)
{
    struct allocation *target = memory_holding(to);
    const struct allocation *source = memory_holding(from);
    memmove(target->host + (to - target->address), source->host + (from - source->address), bytes);
    copy_valid(target, to - target->address, source, from - source->address, bytes);
}

void memory_visit(void (*visit)(struct allocation *allocation, void *context), void *context)
{
    for (int i = 0; i < count; i++)
        if (allocations[i]->host != NULL)
            visit(allocations[i], context);
}

static void add_bytes(struct allocation *allocation, void *context)
{
    *(uint64_t *)context += allocation->bytes;
}

uint64_t memory_used(void)
{
    uint64_t bytes = 0;
    memory_visit(add_bytes, &bytes);
    return bytes;
}

const char *memory_leaks(int *leaks, uint64_t *bytes)
{
    static char first[128];
    for (int i = 0; i < count; i++) {
        const struct allocation *allocation = allocations[i];
        if (allocation->host == NULL || allocation->variable)
            continue;
        if (*leaks == 0)
            snprintf(first, sizeof first, "%s%s%llu bytes at 0x%llx", allocation->name,
                     allocation->name[0] != '\0' ? ", " : "", (unsigned long long)allocation->bytes,
                     (unsigned long long)allocation->address);
        *leaks += 1;
        *bytes += allocation->bytes;
    }
    return first;
}

void emulator_limit(const void *first, size_t bytes, const char *name)
{
    const uint64_t address = (uint64_t)(uintptr_t)first;
    struct allocation *allocation = memory_holding(address);
    if (allocation == NULL)
        return;
    allocation->first = address;
    allocation->last = address + bytes;
    snprintf(allocation->name, sizeof allocation->name, "%s", name);
}
