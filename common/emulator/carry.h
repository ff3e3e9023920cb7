// Sums that take part in arithmetic with more than 64 bits.
#ifndef EMULATOR_CARRY_H
#define EMULATOR_CARRY_H

#include "warp.h"

// s[0], s[1], of a product also s[2]; the predicates s[3] and d[1] are the carry.
operation add_with_carry;

// What the opcode stands for; false where it is none of these.
bool find_carrying(struct text opcode, struct carrying *how);

#endif
