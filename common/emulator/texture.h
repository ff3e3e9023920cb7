// Texture objects, over linear memory, over rows in memory and over arrays.
#ifndef EMULATOR_TEXTURE_H
#define EMULATOR_TEXTURE_H

#include "warp.h"

enum texel_kind {
    TEXEL_SIGNED,
    TEXEL_UNSIGNED,
    TEXEL_FLOAT,
};

// What happens outside the texture, in the runtime's order.
enum address_mode {
    ADDRESS_WRAP,
    ADDRESS_CLAMP,
    ADDRESS_MIRROR,
    ADDRESS_BORDER,
};

struct texture {
    uint64_t address;       // of the first texel
    uint64_t pitch;         // bytes from row to row
    uint64_t width, height; // in texels; the height of one dimension is 1
    int components;         // of a texel: 1, 2 or 4
    int component_bytes;    // 1, 2 or 4
    enum texel_kind kind;
    bool normalized_values; // integers are read as floats, the greatest one as 1
    bool normalized;        // coordinates run from 0 to 1
    bool filtered;          // between texels, linearly
    bool linear_memory;     // fetched by index: outside it is 0
    enum address_mode modes[2];
    float border[4];
    bool live;
};

operation texture_by_index, texture_1d, texture_2d;

// A new object; its handle is never given out again. 0 is no handle.
uint64_t texture_create(const struct texture *texture);
bool texture_destroy(uint64_t handle);
void textures_destroy_all(void);
int textures_live(void);

#endif
