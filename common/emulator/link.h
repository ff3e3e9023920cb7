// What is known only when a whole module has been read.
#ifndef EMULATOR_LINK_H
#define EMULATOR_LINK_H

#include "module.h"

// Turns the names of functions into the functions, finds what each kernel can call, gives shared
// variables their places, and writes initial values that are addresses.
void link_module(struct module *module);

#endif
