// Reads PTX text.
#ifndef EMULATOR_PARSER_H
#define EMULATOR_PARSER_H

#include "module.h"

// Parses one PTX module. The text must live as long as the result, which is never given back.
// Instructions that nobody knows are no error here: they stop the kernel when they are executed.
// Text that is no PTX at all ends the program with the line.
struct module *parse_module(const char *ptx);

#endif
