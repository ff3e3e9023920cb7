// The program of one step: compiled once a step with -DSTEP=stepNN.
#include "program.h"

int main(int argc, char **argv)
{
    return run_program(&STEP, argc, argv);
}
