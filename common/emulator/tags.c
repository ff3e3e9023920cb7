#include "tags.h"

#include <inttypes.h>
#include <stdio.h>

#include "fault.h"

// The bytes of a lane's element, for comparison.
static uint64_t stored_value(const struct warp *warp, const struct instruction *instruction,
                             const struct detail *detail, int element, int lane)
{
    const uint8_t *slot = warp->file + (size_t)SLOT_BYTES * instruction->s[element + 1];
    if (detail->element == 8)
        return ((const uint64_t *)(const void *)slot)[lane];
    const uint32_t value = ((const uint32_t *)(const void *)slot)[lane];
    return detail->element == 4 ? value : value & ((1U << 8 * detail->element) - 1);
}

void check_overlap(struct warp *warp, const struct instruction *instruction,
                   const struct footprint *footprint)
{
    const struct detail *detail = detail_of(warp, instruction);
    for (int a = 0; a < LANES; a++)
        for (int b = a + 1; b < LANES; b++) {
            if (!(footprint->active >> a & footprint->active >> b & 1) ||
                footprint->delta[a] != footprint->delta[b])
                continue;
            for (int e = 0; e < detail->vector; e++)
                if (stored_value(warp, instruction, detail, e, a) !=
                    stored_value(warp, instruction, detail, e, b))
                    fault(warp, instruction, b,
                          "race: lanes %d and %d store different values to the same address", a, b);
        }
}

// "at 0x... (64 bytes into tile)" for granule `index`.
static const char *where(const struct visitor *v, uint64_t index, char *out, size_t size)
{
    const uint64_t address = v->base + (index << v->warp->block->launch->code->granule_shift);
    if (v->global)
        return describe_address(address, 1, out, size);
    return describe_shared(v->warp->block, address + v->warp->block->launch->shared_base, out,
                           size);
}

// Who touched it earlier. Of several readers the tag has the first one alone, which may be `lane`
// itself.
static const char *earlier_thread(const struct visitor *v, uint64_t earlier, int lane, char *out,
                                  size_t size)
{
    char name[128];
    const bool same_block = !v->global || number_of(earlier) == number_of(v->tag);
    const bool same =
        same_block && (earlier & THREAD_MASK) == (v->tag & THREAD_MASK) + (uint64_t)lane;
    if (same && (earlier & (MANY_WARPS | MANY_LANES)))
        snprintf(out, size, "%s",
                 earlier & MANY_WARPS ? "threads of another warp" : "other lanes of this warp");
    else
        snprintf(out, size, "thread %s",
                 describe_thread(v->warp, thread_in(earlier), name, sizeof name));
    return out;
}

// Where an access to shared memory was made.
static const char *place_of(const struct visitor *v, uint64_t earlier, char *out, size_t size)
{
    const struct code *code = v->warp->block->launch->code;
    return describe_place(v->warp, &code->instructions[number_of(earlier)], out, size);
}

_Noreturn void race(const struct visitor *v, uint64_t earlier, const char *wrote, int lane,
                    const char *verb, const char *reason, uint64_t index)
{
    char address[256];
    char thread[160];
    char place[256] = "";
    if (v->global)
        describe_block(v->warp->block, number_of(earlier), place, sizeof place);
    else
        place_of(v, earlier, place, sizeof place);
    fault(v->warp, v->instruction, lane, "race: %s what %s %s %s (%s): %s", verb,
          earlier_thread(v, earlier, lane, thread, sizeof thread), wrote, place, reason,
          where(v, index, address, sizeof address));
}

_Noreturn void never_written(const struct visitor *v, int lane, uint64_t index)
{
    char address[256];
    fault(v->warp, v->instruction, lane, "uninitialized: reads %s that nobody has written: %s",
          v->global ? "global memory" : "shared memory", where(v, index, address, sizeof address));
}

_Noreturn void not_waited(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                          uint64_t index)
{
    char address[256];
    char thread[128];
    char place[256];
    fault(v->warp, v->instruction, lane,
          "cp.async: %s the destination of a copy that thread %s started %s and has not waited "
          "for: %s",
          verb, describe_thread(v->warp, thread_in(earlier), thread, sizeof thread),
          place_of(v, earlier, place, sizeof place), where(v, index, address, sizeof address));
}

_Noreturn void on_mbarrier(const struct visitor *v, int lane, const char *verb, uint64_t index)
{
    char address[256];
    fault(v->warp, v->instruction, lane, "mbarrier: %s what holds an mbarrier: %s", verb,
          where(v, index, address, sizeof address));
}

_Noreturn void not_landed(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                          uint64_t index)
{
    char address[256];
    char place[256];
    fault(v->warp, v->instruction, lane, "bulk copy: %s the destination of the one %s, %s: %s",
          verb, place_of(v, earlier, place, sizeof place),
          earlier & PENDING ? "which is still on its way"
                            : "for which this thread has not waited by its mbarrier",
          where(v, index, address, sizeof address));
}

_Noreturn void not_shown(const struct visitor *v, uint64_t earlier, int lane, const char *verb,
                         uint64_t index)
{
    char address[256];
    char thread[128];
    char place[256];
    fault(v->warp, v->instruction, lane,
          "proxy: %s what thread %s wrote %s, and no fence.proxy.async has come after that: %s",
          verb, describe_thread(v->warp, thread_in(earlier), thread, sizeof thread),
          place_of(v, earlier, place, sizeof place), where(v, index, address, sizeof address));
}

_Noreturn void still_read(const struct visitor *v, uint64_t earlier, int lane, uint64_t index)
{
    char address[256];
    char place[256];
    fault(v->warp, v->instruction, lane,
          "race: writes over an operand of the wgmma %s, which may not be over (no "
          "wgmma.wait_group puts this thread behind it): %s",
          place_of(v, earlier, place, sizeof place), where(v, index, address, sizeof address));
}
