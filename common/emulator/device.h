// The modelled GPU: its limits, and what fits on it.
#ifndef EMULATOR_DEVICE_H
#define EMULATOR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MAX_GRID_X = 2147483647,
    MAX_GRID_YZ = 65535,
    MAX_BLOCK_THREADS = 1024,
    MAX_BLOCK_Z = 64,
    BLOCK_SHARED_BYTES = 48 * 1024, // that a block may have unless its kernel asks for more
    SM_REGISTERS = 65536,           // and as many for a block
    SM_PARTS = 4,                   // each with a quarter of the registers
    REGISTER_UNIT = 256,            // registers of a warp are given out in units of this many
    WARP_THREADS = 32,
    MAX_TEXELS = 1 << 28,
    TEXTURE_ALIGNMENT = 512,
    TEXTURE_PITCH_ALIGNMENT = 32,
    CONSTANT_BYTES = 65536,
    MAX_PITCH = 2147483647,
};

struct device_model {
    int capability; // times ten
    const char *name;
    int sms;
    int64_t l2_bytes;
    int sm_threads, sm_blocks;
    int sm_shared_bytes;    // with what the system keeps of it
    int block_shared_bytes; // that a block can ask for
    int clock_khz;
};

// The modelled GPU's capability, times ten.
int device_capability(void);

// Those of the GPUs that there are models of, in ascending order; 0 behind the last.
int device_capability_of(int index);

// The model with the greatest capability that is not above the settings'.
const struct device_model *device_model(void);

// How much device memory there is: what the host has.
uint64_t device_memory_bytes(void);

// What the system keeps of an SM's shared memory for each block.
int device_reserved_bytes(void);

// Shared memory is given out in units of this many bytes.
int device_shared_unit(void);

// Whether a block of this many threads finds registers enough.
bool device_has_registers(int threads, int registers);

// How many blocks of this many threads, registers per thread and bytes of shared memory fit on an
// SM.
int device_blocks_per_sm(int threads, int registers, int64_t shared_bytes);

// The shared memory that each of so many blocks on an SM can have.
int64_t device_shared_share(int blocks);

#endif
