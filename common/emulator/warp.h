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

// Whether 32 addresses lie around `first` as a pattern says: delta[l] is where lane l's is.
typedef bool same_function(const uint32_t addresses[LANES], uint32_t first,
                           const int32_t delta[LANES]);
typedef bool same_wide_function(const uint64_t addresses[LANES], uint64_t first,
                                const int32_t delta[LANES]);

// Where each lane's bytes are, the first one's being here.
typedef void spread_function(uint8_t *first, const int32_t delta[LANES], uint8_t *at[LANES]);

// What an instruction means for the flow of control.
enum flow {
    FLOW_NEXT,    // `run` carries it out for all lanes
    FLOW_GUARDED, // for those that the guard lets
    FLOW_BRANCH,  // to detail.target
    FLOW_SWITCH,  // to detail.targets[s[0]]
    FLOW_CALL,    // of detail.call
    FLOW_RETURN,  // from a call
    FLOW_EXIT,
    FLOW_BARRIER,   // waits for the block, or for as many threads as s[1] says; or only arrives
    FLOW_SYNC_WARP, // waits for the lanes of the mask in s[0]
    FLOW_TOGETHER,  // as FLOW_NEXT, once all lanes of the mask in s[4] have come
    FLOW_WARPGROUP, // waits for the four warps' products
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

// What an atomic does.
enum atomic {
    ATOMIC_NONE,
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCHANGE,
    ATOMIC_COMPARE,
};

// What a barrier, a vote, a match or a reduction makes of the lanes' values; a shuffle's mode.
enum combination {
    COMBINE_NONE,
    COMBINE_AND, // also: all
    COMBINE_OR,  // also: any
    COMBINE_XOR,
    COMBINE_COUNT,
    COMBINE_EQUAL,
    COMBINE_BALLOT,
    COMBINE_ADD,
    COMBINE_MIN,
    COMBINE_MAX,
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_XOR,
    SHUFFLE_INDEX,
};

// The other half, at the same index.
struct detail {
    const struct statement *statement;
    int target;       // of a branch
    bool loops;       // of a branch: it goes back to the start of a loop
    enum space space; // of an access
    bool write;
    bool wide_address;       // s[0] is a 64-bit register
    uint8_t element;         // bytes of one element
    uint8_t vector;          // elements
    uint8_t bytes;           // of all elements
    int64_t offset;          // added to s[0]
    int64_t from_offset;     // of cp.async: added to s[1]
    int groups;              // of cp.async.wait_group and wgmma.wait_group; -1: all
    bool has_size;           // of cp.async: s[2] holds the number of bytes to read
    bool has_ignore;         // of cp.async: predicate s[2] tells to read nothing
    bool wide_mbarrier;      // of a bulk copy: s[3], its mbarrier's address, is a 64-bit register
    int64_t mbarrier_offset; // added to that
    enum atomic atomic;
    enum number_type type; // of an atomic, or of lanes' values
    bool strong;           // of an access: it has a place in the order between threads
    bool is_volatile;
    bool acquires, releases, block_only; // what a strong access or a fence does, and for whom
    bool polls;                          // its value decides whether a loop goes on
    bool unused;                         // of an atomic: nobody looks at its result
    enum combination combination;
    int registers;       // of setmaxnreg
    int part;            // of a wgmma: which 8 columns
    bool a_in_registers; // of a wgmma
    uint16_t touched;    // registers of wgmmas: bits 0 to 3 are d, the next five s
    operation *checked;  // what is to be done when that has been looked at
    bool negated;        // of a barrier or a vote: the predicate; of a wgmma: the products
    bool arrives;        // of a barrier: does not wait
    bool has_count;      // of a barrier: s[1] says for how many threads it is; or how many arrive
    bool expects;        // of an mbarrier: s[1] says how many bytes of copies are to come
    bool parity;         // of a wait for one: s[1] is a phase's parity, not what an arrival gave
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
    bool groups;       // some threads of a block are put in order by more than its barriers
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
    uint32_t mask; // of those that synchronize in the warp: the lanes waited for
    int barrier;   // of those that wait in the block: its number
    int from;      // the instruction that they wait at, or at which they gave way to others
    int poll;      // of those that go on: as in struct warp
};

struct warp {
    uint8_t *file; // of the frame that is being executed, as is the next one
    uint32_t *predicates;
    struct block *block;
    int index; // in the block
    uint32_t live;
    uint32_t time; // when the warp's lanes last synchronized, by the block's clock
    struct fragment ready[LANES], syncing[LANES], waiting[LANES], yielded[LANES];
    int ready_count, syncing_count, waiting_count, yielded_count;
    int poll; // the last instruction at which lanes have read what others may change; -1: none
    struct frame *frame;          // the one that is being executed
    struct frame *kernel_frame;   //
    struct frame *frames;         // all
    struct frame **spare_frames;  // by function: what may be used again
    uint8_t *local, *local_valid; // LANES times local_bytes; the latter a byte a byte
    uint64_t local_bytes;         // that each lane has room for
    struct copy_queue *copies;    // cp.async: what has been asked for and not waited for
    struct products *products;    // wgmma: what has been begun
    struct lane_order *order;     // LANES; NULL where nobody needs it
    int waited_for[LANES];        // the mbarrier that a lane has waited for last
    uint32_t tensor_a[4][LANES], tensor_b[2][LANES]; // operands of tensor cores, on their way
};

struct position {
    unsigned x, y, z;
};

// A barrier for some of the block's warps.
struct barrier {
    uint32_t expected;     // threads; 0: nobody has come
    uint32_t arrived;      // threads, whole warps
    uint32_t lanes[LANES]; // of warps that have come in part
    struct knowledge *brought;
    bool all, any; // of what bar.red combines
    uint32_t count;
};

enum {
    BARRIERS = 16,
    MBARRIERS = 512, // that a block makes, at different places
};

// A barrier in shared memory that counts arrivals and bytes of bulk copies, phase after phase.
struct mbarrier {
    uint32_t place; // from the start of the window
    bool live;
    uint32_t count, pending; // arrivals of each phase, and those that this one still lacks
    int64_t bytes;           // that this phase still lacks
    uint32_t phase;          // how many have ended
    int maker;               // the thread that has made it, and when
    uint32_t made;           //
    bool fenced;             // bulk copies may use it
    struct knowledge *brought, *passed; // to this phase, and by all that have ended
};

// A block that runs. Reused for block after block.
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
    struct notes *notes;               // where threads of a block are put in order in other ways
    struct publications *publications; // where there is an order to note at all
    struct barrier barriers[BARRIERS];
    struct mbarrier mbarriers[MBARRIERS];
    int mbarrier_count;
    struct knowledge *shown;           // to the async proxy: what comes before its fences
    struct bulk_queue *bulk;           // bulk copies that nobody has waited for
    uint64_t phase;                    // counts the times that all warps have had their turn
    uint64_t turn_end;                 // instructions after which others get a turn
    bool moved;                        // has changed something since its turn began
    uint64_t state;                    // a fingerprint of it some time ago
    uint32_t clock;                    // counts barriers and warp synchronizations
    uint32_t barrier_time;             // the clock at the last barrier of the block
    const struct instruction_set *set; // the host's
    uint64_t executed;                 // warp instructions
    uint64_t readings;                 // of clocks
    jmp_buf escape;                    // where a fault goes
    // The worker's:
    struct footprints *footprints;
    struct recent *recent;               // for each instruction: its last accesses
    struct allocation **last_allocation; // and where they were
    struct counters *counters;           // NULL where nobody wants to know
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
    uint64_t grid_barrier;  // device memory that the grid counts in; 0: the launch has none
    uint64_t shared_bytes;  // with those, and the static ones
    uint8_t *parameters;
    uint64_t shared_base;
    uint64_t schedule;
    bool checks;
    struct allocation *touched;        // the allocations that the kernel has touched so far
    struct notes *notes;               // of sequential code: accesses to global memory
    struct publications *publications; // and what has been published there
    int resident;                      // blocks that the GPU runs at a time
    int workers, stuck;                // threads that run blocks; those whose blocks all wait
    uint64_t next;                     // the next block's place in the schedule
    uint64_t done;                     // blocks that have ended
    int64_t begun, next_news;          // seconds: when it began, when to say that it still runs
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
