// The container in which nvcc leaves device code in an object file.
#ifndef EMULATOR_FATBIN_H
#define EMULATOR_FATBIN_H

#include <stddef.h>

// The PTX for the newest GPU that is not newer than `capability` (90 for sm_90), as a copy that
// ends with a zero byte and belongs to the caller; NULL where the container holds none. Ends the
// program where the PTX is compressed.
char *fatbin_ptx(const void *container, int capability);

// The lowest capability that the container has PTX for; 0 where it holds none.
int fatbin_lowest_capability(const void *container);

// The newest capability that the container has machine code for; 0 where it holds none.
int fatbin_newest_machine_code(const void *container);

// The registers per thread that the container's machine code takes for a kernel, and the bytes of
// its stack frame; -1 where the container does not say. Of machine code for several GPUs, that
// which the modelled one would run; and the capability of the one that it was made for, 0 where
// there is none.
int fatbin_registers(const void *container, const char *kernel);
int fatbin_frame_bytes(const void *container, const char *kernel);
int fatbin_code_capability(const void *container, const char *kernel);

#endif
