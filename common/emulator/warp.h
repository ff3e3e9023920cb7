// What executes: launches, blocks, warps, and the decoded form of their code.
#ifndef EMULATOR_WARP_H
#define EMULATOR_WARP_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "module.h"
#include "numbers.h"

enum {
    LANES = 32,
    SLOT_BYTES = 4 * LANES, // one 32-bit register of a warp; a 64-bit register takes two slots
};

static const uint32_t ALL_LANES = 0xffffffff;

// A generic address is one of global memory as it is, or lies in one of these windows.
static const uint64_t SHARED_WINDOW = UINT64_C(0x10) << 48;
static const uint64_t LOCAL_WINDOW = UINT64_C(0x20) << 48;
static const uint64_t PARAMETER_WINDOW = UINT64_C(0x30) << 48;

struct instruction;
struct warp;

// Carries out an instruction for the active lanes (bit l is lane l), at least one.
typedef void operation(struct warp *warp, const struct instruction *instruction, uint32_t active);

// Moves the elements of a load or a store between registers and memory; at[l] is lane l's address.
// Inactive lanes have an address, too, that may be read.
typedef void transfer(struct warp *warp, const struct instruction *instruction, uint32_t active,
                      uint8_t *const at[LANES]);

// The smallest and the greatest of 32 addresses, the bitwise or of all of them, and whether they
// lie as they do in a pattern: `pattern` has where each is from the first active lane's on.
struct span {
    uint64_t smallest, greatest, bits;
    bool matches;
};
typedef struct span span_function(const uint64_t addresses[LANES], uint64_t first,
                                  const int32_t pattern[LANES]);

// Turns 32 addresses of the shared window into offsets from `base`: those below it become large.
// at[l] is where `memory` has the byte. Returns what a span_function does, of the offsets;
// `smallest` is 0.
typedef struct span offsets_function(uint32_t addresses[LANES], uint32_t base, uint32_t first,
                                     const int32_t pattern[LANES], uint8_t *memory,
                                     uint8_t *at[LANES]);

// What an instruction means for the flow of control.
enum flow {
    FLOW_NEXT,    // `run` carries it out for all lanes
    FLOW_GUARDED, // for those that the guard lets
    FLOW_BRANCH,  // to detail.target
    FLOW_SWITCH,  // to detail.targets[s[0]]
    FLOW_CALL,    // of detail.call
    FLOW_RETURN,  // from a call
    FLOW_EXIT,
    FLOW_BARRIER,   // waits for the block
    FLOW_SYNC_WARP, // waits for the lanes of the mask in s[0]
};

// One decoded instruction, the half that every execution reads. Registers are given as slots of the
// warp's register file, predicates as indices of its predicate words.
struct instruction {
    operation *run;
    int16_t guard; // -1 where there is none
    uint8_t guard_negated;
    uint8_t flow;
    uint16_t d[4];
    uint16_t s[5];
};

// A call: the variables in its frame that it passes, and those that it gets results in.
struct call {
    int function; // of the code's functions; -1: s[0] has its address
    struct variable **arguments, **results;
    int argument_count, result_count;
};

// The other half, at the same index.
struct detail {
    const struct statement *statement;
    int target;       // of a branch
    enum space space; // of an access
    bool write;
    bool wide_address;   // s[0] is a 64-bit register
    uint8_t element;     // bytes of one element
    uint8_t vector;      // elements
    uint8_t bytes;       // of all elements
    int64_t offset;      // added to s[0]
    int64_t from_offset; // of cp.async: added to s[1]
    int groups;          // of cp.async.wait_group; -1: all
    bool has_size;       // of cp.async: s[2] holds the number of bytes to read
    bool has_ignore;     // of cp.async: predicate s[2] tells to read nothing
    transfer *move;
    struct conversion conversion; // of cvt
    struct carrying carrying;     // of a sum with a carry
    const struct call *call;
    const int *targets; // of a switch
    int target_count;
    enum special special; // of a reading
};

// What a register holds before the first instruction, the same in all lanes but for the thread's
// index.
struct constant {
    uint16_t slot; // of a predicate: its index
    enum register_kind kind;
    enum space window;    // SPACE_SHARED, SPACE_LOCAL: add where that begins, for this call
    enum special special; // SPECIAL_NONE: value
    uint64_t value;
};

// The kernel or one of the functions that it calls.
struct function_code {
    const struct kernel *kernel;
    int first; // instruction
    int slots, predicates;
    struct constant *constants;
    int constant_count;
};

struct code {
    const struct kernel *kernel;
    struct instruction *instructions; // of all functions
    struct detail *details;
    int count;
    struct function_code *functions; // the first is the kernel
    int function_count;
    bool sequential;   // blocks run on one core, so that their order is the schedule's
    int granule_shift; // checks see memory in granules of this many bytes: 1 << shift
};

// A call that lanes of a warp have made together and not all have returned from; or the kernel.
struct frame {
    const struct function_code *function;
    struct frame *caller; // NULL: it is the kernel's
    int depth;            // 0: it is the kernel's
    const struct instruction *call;
    uint32_t lanes;           // that have not returned
    uint8_t *file;            // function->slots slots
    uint32_t *predicates;     //
    uint8_t *variables;       // LANES times function->kernel->frame_bytes
    uint64_t local, top;      // where its local variables begin, and those of its calls
    struct frame *next_spare; // of the same function
    struct frame *next;       // of all that the warp has made
};

// Lanes that go on at the same instruction.
struct fragment {
    struct frame *frame;
    int at;
    uint32_t lanes;
    uint32_t mask; // of a __syncwarp: the lanes waited for
};

struct warp {
    uint8_t *file; // of the frame that is being executed, as is the next one
    uint32_t *predicates;
    struct block *block;
    int index; // in the block
    uint32_t live;
    uint32_t time; // when the warp's lanes last synchronized, by the block's clock
    struct fragment ready[LANES], syncing[LANES], waiting[LANES];
    int ready_count, syncing_count, waiting_count;
    struct frame *frame;          // the one that is being executed
    struct frame *kernel_frame;   //
    struct frame *frames;         // all
    struct frame **spare_frames;  // by function: what may be used again
    uint8_t *local, *local_valid; // LANES times local_bytes; the latter a byte a byte
    uint64_t local_bytes;         // that each lane has room for
    struct copy_queue *copies;    // cp.async: what has been asked for and not waited for
};

struct position {
    unsigned x, y, z;
};

// A block, and everything that one worker needs to run it. Reused for block after block.
struct block {
    struct launch *launch;
    uint64_t place; // in the schedule
    uint64_t index; // x + grid.x * (y + grid.y * z)
    struct position position;
    bool used; // has run a block before
    struct warp *warps;
    int warp_count;
    uint8_t *shared;
    uint64_t shared_bytes;
    struct shadow *shadow;             // one for each granule of shared memory
    uint32_t clock;                    // counts barriers and warp synchronizations
    uint32_t barrier_time;             // the clock at the last barrier of the block
    const struct instruction_set *set; // the host's
    struct footprints *footprints;
    struct recent *recent;               // for each instruction: its last accesses
    struct allocation **last_allocation; // and where they were
    uint64_t executed;                   // warp instructions
    uint64_t readings;                   // of clocks
    struct counters *counters;           // NULL where nobody wants to know
    jmp_buf escape;                      // where a fault goes
};

// How a launch ends. All but the first two end it as on a GPU: the program goes on, and the runtime
// returns an error from then on.
enum ending {
    ENDING_GOOD,
    ENDING_FAULT, // ends the program, too
    ENDING_ILLEGAL_ADDRESS,
    ENDING_MISALIGNED,
    ENDING_TRAP,
    ENDING_ASSERT,
};

struct launch {
    struct code *code;
    struct position grid, dimensions; // blocks, threads of a block
    uint64_t blocks;
    int threads;            // of a block
    uint64_t dynamic_bytes; // of shared memory
    uint8_t *parameters;
    uint64_t shared_base;
    uint64_t schedule;
    bool checks;
    uint64_t next;      // the next block's place in the schedule
    uint64_t failed;    // the place of the earliest block that failed; UINT64_MAX: none
    enum ending ending; // how that block ended
    char message[2048]; // and what there is to say about it
};

static inline const struct detail *detail_of(const struct warp *warp,
                                             const struct instruction *instruction)
{
    const struct code *code = warp->block->launch->code;
    return &code->details[instruction - code->instructions];
}

#endif
