#include "warpgroup.h"

#include "execute.h"
#include "fault.h"
#include "footprint.h"

enum {
    LEAST_REGISTERS = 24,
    MOST_REGISTERS = 256,
    REGISTERS_UNIT = 8,
};

void set_registers(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const int registers = detail_of(warp, instruction)->registers;
    if (active != ALL_LANES)
        fault(warp, instruction, first_lane(active),
              "warpgroup: setmaxnreg takes all 32 lanes of a warp, and 0x%08x are not there",
              ~active);
    if (registers < LEAST_REGISTERS || registers > MOST_REGISTERS ||
        registers % REGISTERS_UNIT != 0)
        fault(warp, instruction, 0, "warpgroup: %d registers are no multiple of %d from %d to %d",
              registers, REGISTERS_UNIT, LEAST_REGISTERS, MOST_REGISTERS);
}
