// Texture objects over linear memory.
#ifndef EMULATOR_TEXTURE_H
#define EMULATOR_TEXTURE_H

#include "warp.h"

struct texture {
    uint64_t address; // of the first texel
    uint64_t texels;  // 16 bytes each
    bool live;
};

operation texture_fetch;

// A new object; its handle is never given out again. 0 is no handle.
uint64_t texture_create(uint64_t address, uint64_t texels);
bool texture_destroy(uint64_t handle);
void textures_destroy_all(void);
int textures_live(void);

#endif
