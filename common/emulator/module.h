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

// Registers that the hardware provides. The first twelve are x, y, z of four vectors. Those from
// SPECIAL_CLOCK on differ from one reading to the next.
enum special {
    SPECIAL_TID,
    SPECIAL_NTID = 3,
    SPECIAL_CTAID = 6,
    SPECIAL_NCTAID = 9,
    SPECIAL_LANE = 12,
    SPECIAL_WARP,
    SPECIAL_WARPS,
    SPECIAL_SM,
    SPECIAL_SMS,
    SPECIAL_LANES_EQ, // masks of lanes
    SPECIAL_LANES_LE,
    SPECIAL_LANES_LT,
    SPECIAL_LANES_GE,
    SPECIAL_LANES_GT,
    SPECIAL_DYNAMIC_BYTES, // of shared memory
    SPECIAL_TOTAL_BYTES,
    SPECIAL_GRID,
    SPECIAL_GRID_BARRIER_HIGH, // %envreg1 and 2: the address that a cooperative launch passes
    SPECIAL_GRID_BARRIER_LOW,
    SPECIAL_ZERO, // of clusters: every block is one
    SPECIAL_ONE,
    SPECIAL_CLOCK,
    SPECIAL_CLOCK_HIGH,
    SPECIAL_CLOCK_64,
    SPECIAL_TIMER,
    SPECIAL_TIMER_LOW,
    SPECIAL_TIMER_HIGH,
    SPECIAL_NONE,
};

struct variable {
    struct text name;
    enum space space;
    uint64_t bytes; // 0 for an array whose size the launch gives
    uint64_t align;
    bool managed;    // of global memory: the host can touch it, too
    bool in_frame;   // of parameters: it is part of a call, not of the launch
    uint64_t offset; // from the start of its window or frame; of global and constant memory: the
                     // device address; of shared memory the kernel says (struct placement)
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
    OPERAND_TARGETS,  // elements: labels
    OPERAND_FUNCTION, // function, which may be one without a body
    OPERAND_NAME,     // name: nothing that has been declared
    OPERAND_VECTOR,   // {elements}
    OPERAND_LIST,     // (elements)
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
    struct kernel *function;
    struct operand *elements;
    int count;              // of elements
    struct operand *second; // q of p|q
};

// A line of the program that was compiled, from the PTX's .loc and .file.
struct place {
    int file, line; // 0 where the PTX says nothing
};

// The call that a line has been inlined at; and the one that this has been inlined at, and so on.
struct call_site {
    struct place place;
    const struct call_site *outer; // NULL: the kernel itself has the call
};

struct statement {
    struct text opcode; // with its modifiers
    struct text source; // the whole instruction, from its guard to the semicolon
    int line;           // in the PTX
    struct place place;
    const struct call_site *inlined_at; // NULL: the kernel itself has the line
    int guard;                          // a predicate register or -1
    bool guard_negated;
    bool understood; // false where the operands have a form that the parser does not know
    struct operand *operands;
    int count;
    struct scope *scope;
};

// Where a kernel has a shared variable.
struct placement {
    struct variable *variable;
    uint64_t offset;
};

// A kernel, or a function that kernels call.
struct kernel {
    struct module *module;
    const char *name;
    bool entry;      // it is a kernel
    bool defined;    // it has a body
    uint64_t number; // of all functions of the module
    struct variable **parameters;
    int parameter_count;
    uint64_t parameter_bytes; // of a kernel: what a launch passes
    struct variable **results;
    int result_count;
    uint64_t frame_bytes;  // of a call: parameters, results, and those of the calls that it makes
    int max_threads;       // of a block; 0 where the PTX does not say
    int machine_registers; // of a thread, by the machine code beside the PTX; 0: not known

    struct statement *statements;
    int count;
    enum register_kind *registers;
    int register_count;
    uint64_t local_bytes;    // of local variables, per thread
    struct variable **named; // the shared variables that its text names
    int named_count;         //
    struct kernel **callees; // the functions that its text names
    int callee_count;        //
    bool calls_pointers;     // it calls functions by their addresses

    // Of kernels: what they and all that they call need.
    struct kernel **functions; // the first is the kernel itself
    int function_count;
    struct placement *shared;
    int shared_count;
    uint64_t shared_bytes;     // static
    struct placement *dynamic; // the shared array whose size the launch gives, or NULL
    struct code *code;         // the decoded form, once something has asked for it
    struct kernel *next;
};

struct source_file {
    int number;
    struct text name;
    struct source_file *next;
};

// An initial value that is an address: of a variable or a function.
struct pointer {
    uint64_t at; // device address
    uint64_t bytes;
    struct text name;
    int64_t offset;
    int shift; // these bytes are the address's, shifted to the right by so many bits
    struct pointer *next;
};

struct module {
    struct arena arena;
    struct kernel *kernels; // and functions
    uint64_t function_count;
    struct source_file *files;
    struct pointer *pointers;
    struct scope *globals;
    const void *container; // where the PTX comes from; NULL where nobody has said
};

// Functions have addresses, too: so far above everything else, and 16 bytes apart.
static const uint64_t FUNCTION_WINDOW = UINT64_C(0x40) << 48;

// The kernel with this name, or NULL.
struct kernel *module_kernel(const struct module *module, const char *name);

// The kernel or function with this name, or NULL.
struct kernel *module_function(const struct module *module, struct text name);

// The device address of the variable with this name in global or constant memory; 0 where there is
// none.
uint64_t module_variable(const struct module *module, const char *name);

// The file's name as the PTX has it, less the current directory; an empty text where it names none.
struct text module_file(const struct module *module, int number);

#endif
