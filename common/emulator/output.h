// Files that appear whole or not at all: they are written beside their place and then moved there.
// What was there before stays until then. Devices and pipes are written directly.
#ifndef EMULATOR_OUTPUT_H
#define EMULATOR_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
    const char *path; // the caller's
    char beside[4096];
    FILE *file;
};

// False where the file cannot be opened: errno says why.
bool output_open(struct output *output, const char *path);

// Closes the file and leaves it in its place. False where that cannot be: errno says why, and
// nothing is left.
bool output_keep(struct output *output);

// Closes the file, and leaves nothing of it.
void output_drop(struct output *output);

#endif
