// Where the program runs: on a GPU, or on the emulator in common/emulator.
//
// Each program has a twin in build/, made of the same objects and linked with the emulator in place
// of the CUDA runtime and cuBLAS. The program starts its twin where there is no GPU.
#ifndef EMULATION_H
#define EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether this is a twin.
bool emulated(void);

// In a twin: makes the options that the emulator has its settings, and of a run what the emulator
// can do, which is to verify. Ends the program where the options ask for a measurement, or for a
// drawing where none can be written.
void prepare_emulation(struct options *options);

// In a twin: from here on kernels are counted, those before are forgotten; and from there on they
// are not.
void begin_counting(void);
void end_counting(void);

// In a twin: prints what the kernels counted did for one product of this shape, with `lines` by
// line of the source, too; and writes the same as JSON, every line but the first with this indent.
void print_counts(const struct shape *shape, bool lines);
void write_counts(FILE *file, const char *indent);

// What the kernels counted did, on the average: NaN in a program that is no twin.
struct counted {
    double sectors;      // of 32 bytes of global memory, a load
    double idle_percent; // of the lanes of a warp, an instruction
};
struct counted counted(void);

// In a twin: makes the drawing that the options ask for, of the kernels counted. Where there is
// nothing to draw, or the file cannot be written: one line and exit 2.
void draw_figure(const struct options *options);

// In a twin, where everything has been given back: ends the program where it has not.
void finish_emulation(void);

// In a program that is no twin: goes on as its twin, with the same command line. Returns only where
// there is none.
void become_twin(char **argv);

// In a twin: kernels may touch these bytes of the allocation that they are in, and no others.
// Messages call them `name`.
void limit_kernels(const void *first, size_t bytes, char name);

#ifdef __cplusplus
}
#endif

#endif
