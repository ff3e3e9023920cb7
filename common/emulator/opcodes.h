// The instructions that compute: everything but control flow and memory.
//
// To add one, add a line to opcodes.def.
#ifndef EMULATOR_OPCODES_H
#define EMULATOR_OPCODES_H

#include "warp.h"

// What a register of a type is kept in.
enum operand_class {
    CLASS_NONE,
    CLASS_PREDICATE,
    CLASS_32,
    CLASS_64,
};

struct opcode {
    const char *text; // opcode and modifiers, exactly as in the PTX
    operation *run;
    uint8_t destination; // enum operand_class
    uint8_t sources[4];
};

// What loads and stores move: one element or more of a size. Narrow elements are extended to 32
// bits on the way into a register.
enum element_form {
    FORM_U8,
    FORM_S8,
    FORM_U16,
    FORM_S16,
    FORM_U32,
    FORM_S32,
    FORM_2X32,
    FORM_4X32,
    FORM_64,
    FORM_COUNT,
};

struct instruction_set {
    const struct opcode *opcodes;
    int count;
    transfer *load[FORM_COUNT];
    transfer *store[FORM_COUNT];
    transfer *load_wide[FORM_COUNT]; // narrow elements in 64-bit registers
    transfer *store_wide[FORM_COUNT];
    same_function *same;
    same_wide_function *same_wide;
    spread_function *spread;
};

extern const struct instruction_set instruction_set_base;   // runs anywhere
extern const struct instruction_set instruction_set_avx2;   // the same, for x86 with AVX2 and FMA
extern const struct instruction_set instruction_set_avx512; // and with AVX-512

// The fastest that this CPU has and the settings allow.
const struct instruction_set *instruction_set(void);

// The opcode with this text, or NULL.
const struct opcode *find_opcode(struct text text);

#endif
