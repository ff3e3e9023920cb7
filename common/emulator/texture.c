#include "texture.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "arena.h"
#include "fault.h"
#include "footprint.h"
#include "memory.h"

enum {
    COMPONENTS = 4,
    FRACTIONS = 256, // a filter weighs texels in steps of 1/256 (CUDA C++ Programming Guide)
};

// Texels that the lanes of a warp fetch from one texture.
struct fetch {
    struct warp *warp;
    const struct instruction *instruction;
    const struct texture *texture;
    uint32_t lanes;
    int dimensions;
};

// A texel as the registers get it: the bits of floats or of integers.
struct texel {
    uint32_t bits[COMPONENTS];
};

static struct texture *textures;
static uint64_t count;

uint64_t texture_create(const struct texture *texture)
{
    struct texture *larger = zeroed(count + 1, sizeof *larger);
    if (count > 0)
        memcpy(larger, textures, count * sizeof *larger);
    free(textures);
    textures = larger;
    textures[count] = *texture;
    textures[count++].live = true;
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

// Texels -----------------------------------------------------------------------------------------

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The smallest integer of a normalized texture is read as -1, like the one above it.
static float normalize(const struct texture *texture, uint32_t bits)
{
    const uint32_t greatest = (texture->kind == TEXEL_SIGNED ? UINT32_C(0x7fffffff) : UINT32_MAX) >>
                              (32 - 8 * texture->component_bytes);
    if (texture->kind == TEXEL_UNSIGNED)
        return (float)bits / (float)greatest;
    return fmaxf((float)(int32_t)bits / (float)greatest, -1);
}

static struct texel read_texel(const struct texture *texture, const uint8_t *from)
{
    struct texel texel = {{0}};
    const int unused = 32 - 8 * texture->component_bytes; // bits
    for (int i = 0; i < texture->components; i++) {
        uint32_t bits = 0;
        memcpy(&bits, from + (ptrdiff_t)i * texture->component_bytes,
               (size_t)texture->component_bytes);
        if (texture->kind == TEXEL_SIGNED)
            bits = (uint32_t)((int32_t)(bits << unused) >> unused);
        texel.bits[i] = texture->normalized_values ? bits_of(normalize(texture, bits)) : bits;
    }
    return texel;
}

static struct texel border_texel(const struct texture *texture)
{
    struct texel texel = {{0}};
    const bool floats = texture->kind == TEXEL_FLOAT || texture->normalized_values;
    for (int i = 0; i < COMPONENTS && floats && !texture->linear_memory; i++)
        texel.bits[i] = bits_of(texture->border[i]);
    return texel;
}

// How wide a texel is shows at the first fetch: the counters want to know.
static void learn_width(const struct fetch *fetch, int bytes)
{
    const struct code *code = fetch->warp->block->launch->code;
    uint8_t *known = &code->details[fetch->instruction - code->instructions].bytes;
    if (__atomic_load_n(known, __ATOMIC_RELAXED) != bytes)
        __atomic_store_n(known, (uint8_t)bytes, __ATOMIC_RELAXED);
}

// Reads the lanes' texels; those at an x below 0 are outside.
static void read_texels(const struct fetch *fetch, const int64_t x[LANES], const int64_t y[LANES],
                        struct texel texels[LANES])
{
    const struct texture *texture = fetch->texture;
    const int bytes = texture->components * texture->component_bytes;
    uint64_t addresses[LANES];
    uint8_t *at[LANES];
    uint32_t inside = 0;
    for (int l = 0; l < LANES; l++)
        if ((fetch->lanes >> l & 1) && x[l] >= 0 && y[l] >= 0) {
            inside |= 1U << l;
            addresses[l] =
                texture->address + (uint64_t)y[l] * texture->pitch + (uint64_t)(x[l] * bytes);
        }
    learn_width(fetch, bytes);
    if (inside != 0)
        locate_global(fetch->warp, fetch->instruction, inside, addresses, (uint32_t)bytes, false,
                      at);
    for (int l = 0; l < LANES; l++)
        if (fetch->lanes >> l & 1)
            texels[l] = inside >> l & 1 ? read_texel(texture, at[l]) : border_texel(texture);
}

// Coordinates ------------------------------------------------------------------------------------

// The texel for a place outside; -1 where it is the border.
static int64_t resolve(const struct texture *texture, int axis, int64_t index)
{
    const int64_t size = (int64_t)(axis == 0 ? texture->width : texture->height);
    const enum address_mode mode = texture->modes[axis];
    if (index >= 0 && index < size)
        return index;
    if (mode == ADDRESS_BORDER)
        return -1;
    if (mode == ADDRESS_CLAMP || !texture->normalized)
        return index < 0 ? 0 : size - 1;
    const int64_t period = mode == ADDRESS_WRAP ? size : 2 * size;
    const int64_t place = (index % period + period) % period;
    return place < size ? place : period - 1 - place;
}

// Where a coordinate lies, in texels. What is no number lies at 0.
static double position(const struct texture *texture, int axis, uint64_t coordinate)
{
    const double far = (double)(INT64_C(1) << 40);
    const double size = (double)(axis == 0 ? texture->width : texture->height);
    const double value = (double)float_of((uint32_t)coordinate) * (texture->normalized ? size : 1);
    return isnan(value) ? 0 : fmin(fmax(value, -far), far);
}

static void read_nearest(const struct fetch *fetch, uint64_t coordinates[2][LANES],
                         struct texel texels[LANES])
{
    int64_t places[2][LANES] = {{0}};
    for (int axis = 0; axis < fetch->dimensions; axis++)
        for (int l = 0; l < LANES; l++)
            places[axis][l] =
                resolve(fetch->texture, axis,
                        (int64_t)floor(position(fetch->texture, axis, coordinates[axis][l])));
    read_texels(fetch, places[0], places[1], texels);
}

// The mean of the 2 or 4 texels around a place, by how near they are.
static void read_filtered(const struct fetch *fetch, uint64_t coordinates[2][LANES],
                          struct texel texels[LANES])
{
    float sums[LANES][COMPONENTS] = {{0}};
    for (int corner = 0; corner < 1 << fetch->dimensions; corner++) {
        int64_t places[2][LANES] = {{0}};
        double weights[LANES];
        struct texel here[LANES];
        for (int l = 0; l < LANES; l++)
            weights[l] = 1;
        for (int axis = 0; axis < fetch->dimensions; axis++)
            for (int l = 0; l < LANES; l++) {
                const int next = corner >> axis & 1;
                const double place = position(fetch->texture, axis, coordinates[axis][l]) - 0.5;
                const double part = round((place - floor(place)) * FRACTIONS) / FRACTIONS;
                places[axis][l] = resolve(fetch->texture, axis, (int64_t)floor(place) + next);
                weights[l] *= next ? part : 1 - part;
            }
        read_texels(fetch, places[0], places[1], here);
        for (int l = 0; l < LANES; l++)
            for (int i = 0; i < COMPONENTS && (fetch->lanes >> l & 1); i++)
                sums[l][i] += (float)weights[l] * float_of(here[l].bits[i]);
    }
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < COMPONENTS && (fetch->lanes >> l & 1); i++)
            texels[l].bits[i] = bits_of(sums[l][i]);
}

// By index: a negative one is a large one, and outside as well.
static void read_indexed(const struct fetch *fetch, uint64_t coordinates[2][LANES],
                         struct texel texels[LANES])
{
    int64_t places[2][LANES] = {{0}};
    for (int l = 0; l < LANES; l++)
        places[0][l] = coordinates[0][l] < fetch->texture->width ? (int64_t)coordinates[0][l] : -1;
    read_texels(fetch, places[0], places[1], texels);
}

// Instructions -----------------------------------------------------------------------------------

typedef void read_function(const struct fetch *fetch, uint64_t coordinates[2][LANES],
                           struct texel texels[LANES]);

// Lanes with the same texture together.
static void fetch_all(struct warp *warp, const struct instruction *instruction, uint32_t active,
                      int dimensions, read_function *nearest, read_function *filtered)
{
    uint64_t handles[LANES];
    uint64_t coordinates[2][LANES];
    struct texel texels[LANES];
    uint8_t *at[LANES];
    lane_addresses(warp, instruction->s[0], true, 0, handles);
    for (int axis = 0; axis < dimensions; axis++)
        lane_addresses(warp, instruction->s[1 + axis], false, 0, coordinates[axis]);
    for (uint32_t left = active; left != 0;) {
        const int leader = first_lane(left);
        struct fetch fetch = {.warp = warp, .instruction = instruction, .dimensions = dimensions};
        fetch.texture = texture_of(warp, instruction, leader, handles[leader]);
        for (int l = leader; l < LANES; l++)
            if ((left >> l & 1) && handles[l] == handles[leader])
                fetch.lanes |= 1U << l;
        (fetch.texture->filtered ? filtered : nearest)(&fetch, coordinates, texels);
        left &= ~fetch.lanes;
    }
    for (int l = 0; l < LANES; l++)
        at[l] = (uint8_t *)texels[l].bits;
    detail_of(warp, instruction)->move(warp, instruction, active, at);
}

void texture_by_index(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    fetch_all(warp, instruction, active, 1, read_indexed, read_indexed);
}

void texture_1d(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    fetch_all(warp, instruction, active, 1, read_nearest, read_filtered);
}

void texture_2d(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    fetch_all(warp, instruction, active, 2, read_nearest, read_filtered);
}
