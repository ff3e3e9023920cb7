#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

enum {
    BLOCK_BYTES = 1 << 18,
    ALIGNMENT = 64,
};

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    unsigned char *bytes;
};

void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        out_of_memory(count * size);
    return memory;
}

void *enlarged(void *list, size_t count, size_t room, size_t size)
{
    void *larger = zeroed(room, size);
    if (count > 0)
        memcpy(larger, list, count * size);
    free(list);
    return larger;
}

static struct arena_block *new_block(size_t size)
{
    struct arena_block *block = zeroed(1, sizeof *block + size + ALIGNMENT);
    uintptr_t first = (uintptr_t)(block + 1);
    block->bytes = (unsigned char *)block + sizeof *block + (ALIGNMENT - first % ALIGNMENT);
    block->size = size;
    return block;
}

void *arena_get(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->blocks;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (block == NULL || block->size - block->used < bytes) {
        block = new_block(bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += bytes;
    return memory;
}

void *arena_grow(struct arena *arena, void *list, size_t count, size_t size)
{
    // There is room for 8, then it doubles whenever the count reaches a power of two.
    if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
        return list;
    void *larger = arena_get(arena, (count < 8 ? 8 : 2 * count) * size);
    if (count > 0)
        memcpy(larger, list, count * size);
    return larger;
}

void arena_free(struct arena *arena)
{
    while (arena->blocks != NULL) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
