#include "frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "execute.h"
#include "fault.h"
#include "footprint.h"
#include "specials.h"

enum {
    GREATEST_DEPTH = 1024, // of calls
    FILE_ALIGNMENT = 64,
    LOCAL_ALIGNMENT = 16,
};

static uint8_t *new_file(int slots)
{
    const size_t bytes = (size_t)SLOT_BYTES * (size_t)(slots + 1);
    void *memory = NULL;
    if (posix_memalign(&memory, FILE_ALIGNMENT, bytes) != 0)
        emulator_fail("out of host memory: %zu bytes wanted", bytes);
    memset(memory, 0xff, bytes);
    return memory;
}

static struct frame *new_frame(struct warp *warp, const struct function_code *function)
{
    struct frame *frame = zeroed(1, sizeof *frame);
    frame->function = function;
    frame->next = warp->frames;
    warp->frames = frame;
    frame->file = new_file(function->slots);
    frame->predicates = zeroed((size_t)function->predicates, sizeof *frame->predicates);
    frame->variables = zeroed(LANES, function->kernel->frame_bytes);
    return frame;
}

static uint64_t round_local(uint64_t bytes)
{
    return (bytes + LOCAL_ALIGNMENT - 1) / LOCAL_ALIGNMENT * LOCAL_ALIGNMENT;
}

void frames_open(struct warp *warp)
{
    const struct code *code = warp->block->launch->code;
    warp->kernel_frame = new_frame(warp, &code->functions[0]);
    warp->kernel_frame->top = round_local(code->kernel->local_bytes);
    warp->spare_frames = zeroed((size_t)code->function_count, sizeof(struct frame *));
    warp->local_bytes = warp->kernel_frame->top;
    warp->local = zeroed(LANES, warp->local_bytes + 1);
    warp->local_valid = zeroed(LANES, warp->local_bytes + 1);
}

static void spare(struct warp *warp, struct frame *frame)
{
    struct frame **list =
        &warp->spare_frames[frame->function - warp->block->launch->code->functions];
    frame->next_spare = *list;
    *list = frame;
}

void frames_close(struct warp *warp)
{
    while (warp->frames != NULL) {
        struct frame *frame = warp->frames;
        warp->frames = frame->next;
        free(frame->file);
        free(frame->predicates);
        free(frame->variables);
        free(frame);
    }
    free(warp->spare_frames);
    free(warp->local);
    free(warp->local_valid);
}

// Local variables hold NaNs that nobody has written.
static void clear_local(struct warp *warp, const struct frame *frame, uint32_t lanes)
{
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1) {
            const uint64_t start = (uint64_t)l * warp->local_bytes + frame->local;
            memset(warp->local + start, 0xff, frame->top - frame->local);
            memset(warp->local_valid + start, 0, frame->top - frame->local);
        }
}

void frames_reset(struct warp *warp)
{
    frame_enter(warp, warp->kernel_frame);
    warp->kernel_frame->lanes = warp->live;
    set_constants(warp, !warp->block->used);
    clear_local(warp, warp->kernel_frame, ALL_LANES);
}

void frame_enter(struct warp *warp, struct frame *frame)
{
    warp->frame = frame;
    warp->file = frame->file;
    warp->predicates = frame->predicates;
}

// Calls -----------------------------------------------------------------------------------------

static uint8_t *variable_of(const struct frame *frame, const struct variable *variable, int lane)
{
    return frame->variables + (uint64_t)lane * frame->function->kernel->frame_bytes +
           variable->offset;
}

static void copy_variables(const struct frame *to, struct variable *const *into,
                           const struct frame *from, struct variable *const *out_of, int count,
                           uint32_t lanes)
{
    for (int i = 0; i < count; i++)
        for (int l = 0; l < LANES; l++)
            if (lanes >> l & 1)
                memcpy(variable_of(to, into[i], l), variable_of(from, out_of[i], l),
                       into[i]->bytes);
}

// What a call passes must be what the function takes: a compiler sees to that, a text by hand may
// not.
static void check_variables(struct warp *warp, const struct instruction *call, int lane,
                            struct variable *const *given, int given_count,
                            struct variable *const *wanted, int wanted_count, const char *what)
{
    bool same = given_count == wanted_count;
    for (int i = 0; i < wanted_count && same; i++)
        same = given[i]->bytes == wanted[i]->bytes;
    if (!same)
        fault(warp, call, lane, "call: the %s are not those of the function", what);
}

// Gives every lane of the warp more room for local variables.
static void grow_local(struct warp *warp, uint64_t bytes)
{
    uint8_t *local = zeroed(LANES, bytes + 1);
    uint8_t *valid = zeroed(LANES, bytes + 1);
    for (uint64_t l = 0; l < LANES; l++) {
        memcpy(local + l * bytes, warp->local + l * warp->local_bytes, warp->local_bytes);
        memcpy(valid + l * bytes, warp->local_valid + l * warp->local_bytes, warp->local_bytes);
    }
    free(warp->local);
    free(warp->local_valid);
    warp->local = local;
    warp->local_valid = valid;
    warp->local_bytes = bytes;
}

static struct frame *take_frame(struct warp *warp, int function)
{
    struct frame *frame = warp->spare_frames[function];
    if (frame == NULL)
        return new_frame(warp, &warp->block->launch->code->functions[function]);
    warp->spare_frames[function] = frame->next_spare;
    return frame;
}

struct frame *frame_call(struct warp *warp, const struct instruction *instruction, int function,
                         uint32_t lanes)
{
    struct frame *caller = warp->frame;
    const struct call *call = detail_of(warp, instruction)->call;
    const struct kernel *kernel = warp->block->launch->code->functions[function].kernel;
    check_variables(warp, instruction, first_lane(lanes), call->arguments, call->argument_count,
                    kernel->parameters, kernel->parameter_count, "arguments");
    check_variables(warp, instruction, first_lane(lanes), call->results, call->result_count,
                    kernel->results, kernel->result_count, "results");
    if (caller->depth == GREATEST_DEPTH)
        fault(warp, instruction, first_lane(lanes),
              "call: %d calls deep, which is as deep as the emulator goes", GREATEST_DEPTH);
    struct frame *frame = take_frame(warp, function);
    frame->caller = caller;
    frame->call = instruction;
    frame->depth = caller->depth + 1;
    frame->lanes = lanes;
    frame->local = caller->top;
    frame->top = caller->top + round_local(kernel->local_bytes);
    if (frame->top > warp->local_bytes)
        grow_local(warp, 2 * frame->top);
    copy_variables(frame, kernel->parameters, caller, call->arguments, call->argument_count, lanes);
    clear_local(warp, frame, lanes);
    frame_enter(warp, frame);
    set_constants(warp, true);
    frame_enter(warp, caller);
    return frame;
}

void frame_return(struct warp *warp, uint32_t lanes)
{
    struct frame *frame = warp->frame;
    const struct call *call = detail_of(warp, frame->call)->call;
    copy_variables(frame->caller, call->results, frame, frame->function->kernel->results,
                   call->result_count, lanes);
    frame->lanes &= ~lanes;
    if (frame->lanes == 0)
        spare(warp, frame);
}

void frame_exit(struct warp *warp, uint32_t lanes)
{
    for (struct frame *frame = warp->frame; frame->caller != NULL; frame = frame->caller) {
        frame->lanes &= ~lanes;
        if (frame->lanes == 0)
            spare(warp, frame);
    }
}

int frame_target(struct warp *warp, const struct instruction *call, int lane)
{
    const struct code *code = warp->block->launch->code;
    const uint64_t *addresses = wide_words_of(warp, call->s[0]);
    for (int i = 1; i < code->function_count; i++)
        if (addresses[lane] == FUNCTION_WINDOW + 16 * code->functions[i].kernel->number)
            return i;
    fault(warp, call, lane, "call: 0x%" PRIx64 " is the address of no function", addresses[lane]);
}
