// Memory that is given back all at once: everything a module's parsed and decoded forms consist of.
#ifndef EMULATOR_ARENA_H
#define EMULATOR_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *blocks;
};

// `bytes` zeroed bytes, aligned to 64, that live until arena_free. Ends the program where memory
// has run out.
void *arena_get(struct arena *arena, size_t bytes);
void arena_free(struct arena *arena);

// A list that grows in an arena: makes room for one more element of `size` bytes behind `count`,
// and returns the list, moved or not.
void *arena_grow(struct arena *arena, void *list, size_t count, size_t size);

// calloc that ends the program where memory has run out. The caller frees what it returns.
void *zeroed(size_t count, size_t size);

// The same with the first `count` elements of `list`, which is freed.
void *enlarged(void *list, size_t count, size_t room, size_t size);

#endif
