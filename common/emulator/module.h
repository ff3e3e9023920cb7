// The parsed form of a PTX module: what its text says, with names resolved, and no more.
#ifndef EMULATOR_MODULE_H
#define EMULATOR_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "text.h"

enum space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_CONST,
    SPACE_PARAM,
};

// Registers narrower than 32 bits are kept in 32.
enum register_kind {
    REGISTER_PREDICATE,
    REGISTER_32,
    REGISTER_64,
};

// Registers that the hardware provides. The first twelve are x, y, z of four vectors.
enum special {
    SPECIAL_TID,
    SPECIAL_NTID = 3,
    SPECIAL_CTAID = 6,
    SPECIAL_NCTAID = 9,
    SPECIAL_LANE = 12,
    SPECIAL_WARP,
    SPECIAL_NONE,
};

struct variable {
    struct text name;
    enum space space;
    uint64_t bytes; // 0 for an array whose size the launch gives
    uint64_t align;
    bool managed; // of global memory: the host can touch it, too
    uint64_t
        offset; // from the start of its window; the device address where space is global or const
    struct variable *next;
};

enum operand_kind {
    OPERAND_REGISTER, // reg
    OPERAND_SPECIAL,  // special
    OPERAND_INTEGER,  // value
    OPERAND_FLOAT32,  // value: the bit pattern
    OPERAND_FLOAT64,  // value: the bit pattern
    OPERAND_VARIABLE, // variable: its address
    OPERAND_LABEL,    // value: the index of a statement
    OPERAND_NAME,     // name: nothing that has been declared
    OPERAND_VECTOR,   // {elements}
    OPERAND_MEMORY,   // [elements[0] + offset], or [elements[0], elements[1]] of a texture
    OPERAND_SINK,     // _
};

struct operand {
    enum operand_kind kind;
    int reg;
    enum special special;
    uint64_t value;
    int64_t offset;
    bool negated; // !p
    struct text name;
    struct variable *variable;
    struct operand *elements;
    int count;              // of elements
    struct operand *second; // q of p|q
};

// A line of the program that was compiled, from the PTX's .loc and .file.
struct place {
    int file, line; // 0 where the PTX says nothing
};

struct statement {
    struct text opcode; // with its modifiers
    struct text source; // the whole instruction, from its guard to the semicolon
    int line;           // in the PTX
    struct place place;
    int guard; // a predicate register or -1
    bool guard_negated;
    bool understood; // false where the operands have a form that the parser does not know
    struct operand *operands;
    int count;
    struct scope *scope;
};

struct kernel {
    struct module *module;
    const char *name;
    struct variable **parameters; // offset: in the block of all parameters
    int parameter_count;
    uint64_t parameter_bytes;
    int max_threads; // of a block; 0 where the PTX does not say

    struct statement *statements;
    int count;
    enum register_kind *registers;
    int register_count;

    struct variable **shared; // the shared variables that the kernel names
    int shared_count;
    uint64_t shared_bytes;    // static
    struct variable *dynamic; // the shared array whose size the launch gives, or NULL
    uint64_t local_bytes;     // per thread
    struct code *code;        // the decoded form, once something has asked for it
    struct kernel *next;
};

struct source_file {
    int number;
    struct text name;
    struct source_file *next;
};

struct module {
    struct arena arena;
    struct kernel *kernels;
    struct source_file *files;
    struct scope *globals;
    const void *container; // where the PTX comes from; NULL where nobody has said
};

// The kernel with this name, or NULL.
struct kernel *module_kernel(const struct module *module, const char *name);

// The device address of the variable with this name in global or constant memory; 0 where there is
// none.
uint64_t module_variable(const struct module *module, const char *name);

// The file's name as the PTX has it, less the current directory; an empty text where it names none.
struct text module_file(const struct module *module, int number);

#endif
