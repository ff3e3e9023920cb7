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

static inline bool text_starts(struct text text, const char *prefix)
{
    const size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.start, prefix, length) == 0;
}

static inline bool text_ends(struct text text, const char *suffix)
{
    const size_t length = strlen(suffix);
    return text.length >= length && memcmp(text.start + text.length - length, suffix, length) == 0;
}

static inline struct text text_of(const char *word)
{
    return (struct text){word, strlen(word)};
}

// Takes what stands before the first separator off `rest`. False where nothing is left.
static inline bool text_split(struct text *rest, char separator, struct text *word)
{
    if (rest->length == 0)
        return false;
    size_t length = 0;
    while (length < rest->length && rest->start[length] != separator)
        length++;
    *word = (struct text){rest->start, length};
    const size_t step = length < rest->length ? length + 1 : length;
    rest->start += step;
    rest->length -= step;
    return true;
}

#endif
