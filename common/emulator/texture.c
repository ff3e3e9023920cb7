#include "texture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "arena.h"
#include "fault.h"
#include "footprint.h"
#include "memory.h"

enum {
    TEXEL_BYTES = 16,
};

static struct texture *textures;
static uint64_t count;

uint64_t texture_create(uint64_t address, uint64_t texels)
{
    struct texture *larger = zeroed(count + 1, sizeof *larger);
    if (count > 0)
        memcpy(larger, textures, count * sizeof *larger);
    free(textures);
    textures = larger;
    textures[count++] = (struct texture){address, texels, true};
    return count;
}

bool texture_destroy(uint64_t handle)
{
    if (handle == 0 || handle > count || !textures[handle - 1].live)
        return false;
    textures[handle - 1].live = false;
    return true;
}

void textures_destroy_all(void)
{
    for (uint64_t i = 0; i < count; i++)
        textures[i].live = false;
}

int textures_live(void)
{
    int live = 0;
    for (uint64_t i = 0; i < count; i++)
        live += textures[i].live;
    return live;
}

static const struct texture *texture_of(struct warp *warp, const struct instruction *instruction,
                                        int lane, uint64_t handle)
{
    if (handle == 0 || handle > count)
        fault(warp, instruction, lane, "out of bounds: 0x%" PRIx64 " is no texture object", handle);
    if (!textures[handle - 1].live)
        fault(warp, instruction, lane, "use after free: the texture object has been destroyed");
    return &textures[handle - 1];
}

// Texels outside the texture are zero.
void texture_fetch(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    static uint8_t zero[TEXEL_BYTES];
    const struct detail *detail = detail_of(warp, instruction);
    uint64_t handles[LANES];
    uint64_t addresses[LANES];
    uint8_t *at[LANES];
    uint32_t inside = 0;
    lane_addresses(warp, instruction->s[0], true, 0, handles);
    lane_addresses(warp, instruction->s[1], false, 0, addresses);
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        const struct texture *texture = texture_of(warp, instruction, l, handles[l]);
        if (addresses[l] < texture->texels) // a negative coordinate is a large one
            inside |= 1U << l;
        addresses[l] = texture->address + TEXEL_BYTES * addresses[l];
    }
    if (inside != 0)
        locate_global(warp, instruction, inside, addresses, TEXEL_BYTES, false, at);
    for (int l = 0; l < LANES; l++)
        if ((inside >> l & 1) == 0)
            at[l] = zero;
    detail->move(warp, instruction, active, at);
}
