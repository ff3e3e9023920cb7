// The emulator, as the program that runs on it sees it.
//
// A program that is linked with the emulator's objects in place of the CUDA runtime and cuBLAS runs
// its kernels on the CPU: the emulator interprets the PTX that nvcc left in the program's own
// object files, and checks every access. Where the checker finds a fault it prints one line on
// stderr and ends the program with exit code EMULATOR_FAULT.
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EMULATOR_FAULT = 4,       // exit code
    EMULATOR_NO_MEMORY = 3,   // that where the host has not enough memory for the emulator
    EMULATOR_BAD_SETTING = 2, // and that where a setting of the environment makes no sense
};

// May be changed at any time; a launch reads them when it starts.
struct emulator_settings {
    const char *program; // what messages start with
    // Of the modelled GPU, times ten: 90 is sm_90, unless the program needs more. 0: the newest
    // that the program has machine code for.
    int capability;
    bool only_this_gpu;  // kernels that need a newer one than that do not run, as on it
    int64_t shared_base; // where shared memory starts in its window; -1: as on the modelled GPU
    uint64_t schedule;   // 0: warps and blocks in order; any other number: a permutation of both
    bool checks;         // false: only accesses outside every allocation are faults
    bool counters;       // count what kernels do
    int workers;         // threads that run blocks; 0: one for each core
    bool own_program;    // emucc has built it: tell what helps to find its mistakes
    bool leaks_at_exit;  // look for leaks when the program exits, whatever the reason
    int figure_line;     // draw an access of this line of the source; 0: of none
    int vector_bits;     // 128, 256: no vector instructions wider than that; 0: the CPU's widest
};
extern struct emulator_settings emulator_settings;

// Narrows what kernels may touch of the allocation that holds `first` to these bytes, and gives it
// a name for messages, which is copied. Copies by the host may still touch all of it. A second call
// for the same allocation replaces the first.
void emulator_limit(const void *first, size_t bytes, const char *name);

// Ends the program with a message where a cudaMalloc or a texture object has not been given back.
// The same happens at exit where the settings say so.
void emulator_check_leaks(void);

// Forgets what has been counted: kernels launched from here on are counted anew.
void emulator_clear_counts(void);

// Prints what the kernels launched since then have done: for each kernel what it takes of an SM,
// its instructions and its accesses; with `lines`, also by line of the source.
void emulator_print_counts(FILE *out, bool lines);

// What they come to, all kernels together.
struct emulator_totals {
    uint64_t instructions;                // of PTX, by warps
    uint64_t idle_lanes;                  // that did not take part in them, of 32 each
    uint64_t load_requests, load_sectors; // of global memory
};
struct emulator_totals emulator_totals(void);

// Writes the same as a JSON array, an object a kernel (docs/emulator.md lists its fields). Every
// line but the first begins with `indent`.
void emulator_write_counts(FILE *out, const char *indent);

// Why a file cannot be written there, known before there is anything to write; NULL where it can.
// What the file holds stays.
const char *emulator_output_problem(const char *path);

// Draws, as SVG, what one warp's access in line emulator_settings.figure_line of the source
// touches: of the accesses counted since then the first by a whole warp, or else by the most lanes.
// False where there is none, or the file cannot be written: it stays as it was, and `problem`, room
// for `size` bytes, says why.
bool emulator_draw(const char *path, char *problem, size_t size);

// Prints what the emulator takes the hardware to do, a line for each fact and modelled GPU: its
// name, the GPU, the value, and "measured" where a test on that GPU has shown it, else "assumed".
void emulator_print_facts(FILE *out);

// Warp instructions executed by all launches so far.
uint64_t emulator_warp_instructions(void);

#ifdef __cplusplus
}
#endif

#endif
