// A piece of the PTX text. Nothing is copied: the text lives as long as the module it came from.
#ifndef EMULATOR_TEXT_H
#define EMULATOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    const char *start;
    size_t length;
};

static inline bool text_same(struct text a, struct text b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static inline bool text_is(struct text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.start, word, text.length) == 0;
}

#endif
