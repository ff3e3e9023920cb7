#include "opcodes.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"

const struct instruction_set *instruction_set(void)
{
#if defined(__x86_64__)
    const int widest = emulator_settings.vector_bits == 0 ? 512 : emulator_settings.vector_bits;
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    if (widest >= 512 && avx2 && avx512)
        return &instruction_set_avx512;
    if (widest >= 256 && avx2)
        return &instruction_set_avx2;
#endif
    return &instruction_set_base;
}

static int compare_rows(const void *a, const void *b)
{
    const struct opcode *const *x = a;
    const struct opcode *const *y = b;
    return strcmp((*x)->text, (*y)->text);
}

static int compare_text(const void *key, const void *row)
{
    const struct text *text = key;
    const struct opcode *const *opcode = row;
    const int order = strncmp(text->start, (*opcode)->text, text->length);
    return order != 0 ? order : -((*opcode)->text[text->length] != '\0');
}

const struct opcode *find_opcode(struct text text)
{
    static const struct opcode **sorted;
    const struct instruction_set *set = instruction_set();
    if (sorted == NULL) {
        sorted = zeroed((size_t)set->count, sizeof(void *));
        for (int i = 0; i < set->count; i++)
            sorted[i] = &set->opcodes[i];
        qsort(sorted, (size_t)set->count, sizeof(void *), compare_rows);
    }
    const struct opcode **row =
        bsearch(&text, sorted, (size_t)set->count, sizeof(void *), compare_text);
    return row == NULL ? NULL : *row;
}
