// What every SGEMM step's program does.
#ifndef PROGRAM_H
#define PROGRAM_H

#include "step.h"

// Reads the command line, verifies the step and times it beside cuBLAS. Returns the exit status,
// one of enum exit_code; a CUDA error ends the program from where it happens.
int run_program(const struct step *step, int argc, char **argv);

#endif
