#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"
#include "fault.h"

enum {
    ALIGNMENT = 512, // what cudaMalloc gives, and what textures ask for
    MINIMUM_GAP = 1 << 20,
};

static const uint64_t FIRST_ADDRESS = UINT64_C(1) << 48; // no x86-64 or AArch64 pointer reaches it

// In the order of their addresses.
static struct allocation **allocations;
static int count, room;
static uint64_t next_address = UINT64_C(1) << 48;
static uint64_t used_bytes; // of the device, in live allocations

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

// What an allocation takes of the device.
static uint64_t counted_bytes(const struct allocation *allocation)
{
    const bool of_host = allocation->kind == MEMORY_PINNED || allocation->kind == MEMORY_REGISTERED;
    return of_host ? 0 : allocation->bytes;
}

static void insert(struct allocation *allocation)
{
    if (count == room) {
        room = room == 0 ? 16 : 2 * room;
        struct allocation **larger = zeroed((size_t)room, sizeof(void *));
        if (count > 0)
            memcpy(larger, allocations, (size_t)count * sizeof(void *));
        free(allocations);
        allocations = larger;
    }
    const int at = index_below(allocation->address) + 1;
    memmove(&allocations[at + 1], &allocations[at], (size_t)(count - at) * sizeof(void *));
    allocations[at] = allocation;
    count++;
}

static struct allocation *new_allocation(enum memory_kind kind, uint64_t address, void *host,
                                         uint64_t bytes)
{
    struct allocation *allocation = zeroed(1, sizeof *allocation);
    allocation->kind = kind;
    allocation->address = address;
    allocation->bytes = bytes;
    allocation->first = address;
    allocation->last = address + bytes;
    allocation->host = host;
    allocation->host_may = HOST_MAY_WRITE;
    insert(allocation);
    used_bytes += counted_bytes(allocation);
    return allocation;
}

static struct allocation *new_device_allocation(enum memory_kind kind, void *host, uint64_t bytes)
{
    const uint64_t gap = bytes > MINIMUM_GAP ? bytes : MINIMUM_GAP;
    struct allocation *allocation = new_allocation(kind, next_address, host, bytes);
    next_address += (bytes + gap + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return allocation;
}

static bool is_device_kind(enum memory_kind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_ARRAY;
}

static uint64_t valid_bytes(uint64_t bytes)
{
    return bytes / 8 + 1;
}

static void all_valid(struct allocation *allocation)
{
    pages_free(allocation->valid, valid_bytes(allocation->bytes));
    allocation->valid = NULL;
}

static struct allocation *allocate_device(enum memory_kind kind, uint64_t bytes)
{
    uint8_t *host = pages_poisoned(bytes);
    uint8_t *valid = pages_zeroed(valid_bytes(bytes));
    if (host == NULL || valid == NULL) {
        pages_free(host, bytes);
        pages_free(valid, valid_bytes(bytes));
        return NULL;
    }
    struct allocation *allocation = new_device_allocation(kind, host, bytes);
    allocation->valid = valid;
    return allocation;
}

static struct allocation *allocate_shared(enum memory_kind kind, uint64_t bytes)
{
    uint8_t *own;
    void *pages = pages_new(bytes, &own);
    return pages == NULL ? NULL : new_allocation(kind, (uint64_t)(uintptr_t)pages, own, bytes);
}

struct allocation *memory_allocate(enum memory_kind kind, uint64_t bytes)
{
    if (is_device_kind(kind))
        return allocate_device(kind, bytes);
    struct allocation *allocation = allocate_shared(kind, bytes);
    if (allocation != NULL)
        memset(allocation->host, 0xff, bytes);
    return allocation;
}

void memory_made_by(struct allocation *allocation, const char *function)
{
    static struct {
        const char *function;
        int calls;
    } makers[16];
    const int most = sizeof makers / sizeof *makers;
    int i = 0;
    while (i < most && makers[i].function != NULL && strcmp(makers[i].function, function) != 0)
        i++;
    if (i == most)
        return;
    makers[i].function = function;
    allocation->made_by = function;
    allocation->number = ++makers[i].calls;
}

struct allocation *memory_register(void *host, uint64_t bytes)
{
    return new_allocation(MEMORY_REGISTERED, (uint64_t)(uintptr_t)host, host, bytes);
}

uint64_t memory_allocate_variable(struct text name, uint64_t bytes, bool managed)
{
    struct allocation *allocation = managed ? allocate_shared(MEMORY_VARIABLE, bytes) : NULL;
    if (allocation == NULL)
        allocation = new_device_allocation(MEMORY_VARIABLE, zeroed(bytes, 1), bytes);
    snprintf(allocation->name, sizeof allocation->name, "%.*s", (int)name.length, name.start);
    return allocation->address;
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

struct allocation *memory_starting(uint64_t address)
{
    struct allocation *allocation = memory_holding(address);
    return allocation != NULL && allocation->address == address ? allocation : NULL;
}

bool memory_overlaps(uint64_t address, uint64_t bytes)
{
    const int index = index_below(address + bytes - 1);
    if (index < 0 || allocations[index]->host == NULL)
        return false;
    return allocations[index]->address + allocations[index]->bytes > address;
}

bool memory_is_host(uint64_t address)
{
    return address < FIRST_ADDRESS;
}

bool memory_is_shared(const struct allocation *allocation)
{
    return memory_is_host(allocation->address) && allocation->kind != MEMORY_REGISTERED;
}

// Freed memory stays in the list, so that it is recognized; memory that was the host's own leaves
// it, because the host may use the addresses for something else.
static void forget(struct allocation *allocation)
{
    int at = index_below(allocation->address);
    count--;
    memmove(&allocations[at], &allocations[at + 1], (size_t)(count - at) * sizeof(void *));
    free(allocation);
}

void memory_release(struct allocation *allocation)
{
    if (allocation->kind == MEMORY_REGISTERED) {
        forget(allocation);
        return;
    }
    used_bytes -= counted_bytes(allocation);
    if (is_device_kind(allocation->kind))
        pages_free(allocation->host, allocation->bytes);
    else
        pages_retire((void *)(uintptr_t)allocation->address, // NOLINT(performance-no-int-to-ptr)
                     allocation->host, allocation->bytes);
    allocation->host = NULL;
    all_valid(allocation);
}

void memory_release_all(void)
{
    for (int i = 0; i < count; i++)
        if (allocations[i]->host != NULL && allocations[i]->kind != MEMORY_VARIABLE &&
            allocations[i]->kind != MEMORY_REGISTERED)
            memory_release(allocations[i]);
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

bool memory_any_valid(const struct allocation *allocation, uint64_t offset, uint64_t bytes)
{
    if (allocation->valid == NULL)
        return true;
    for (uint64_t i = offset; i < offset + bytes; i++)
        if (allocation->valid[i / 8] >> i % 8 & 1)
            return true;
    return false;
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
    all_valid(allocation);
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
        to->valid = pages_poisoned(valid_bytes(to->bytes));
        if (to->valid == NULL)
            out_of_memory(valid_bytes(to->bytes));
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

uint64_t memory_used(void)
{
    return used_bytes;
}

static void describe_leak(const struct allocation *leak, char *out, size_t size)
{
    char maker[80] = "";
    const int digit = leak->number / 10 % 10 == 1 ? 0 : leak->number % 10;
    const char *const ending = digit == 1 ? "st" : digit == 2 ? "nd" : digit == 3 ? "rd" : "th";
    if (leak->made_by != NULL)
        snprintf(maker, sizeof maker, " of the program's %d%s %s", leak->number, ending,
                 leak->made_by);
    snprintf(out, size, "%s%s%llu bytes at 0x%llx%s", leak->name, leak->name[0] != '\0' ? ", " : "",
             (unsigned long long)leak->bytes, (unsigned long long)leak->address, maker);
}

const char *memory_leaks(int *leaks, uint64_t *bytes)
{
    static char first[256];
    for (int i = 0; i < count; i++) {
        const struct allocation *allocation = allocations[i];
        if (allocation->host == NULL || allocation->kind == MEMORY_VARIABLE ||
            allocation->kind == MEMORY_REGISTERED)
            continue;
        if (*leaks == 0)
            describe_leak(allocation, first, sizeof first);
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
