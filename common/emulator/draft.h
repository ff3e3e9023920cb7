// Between the parsed and the decoded form: instructions whose registers have no slots yet.
#ifndef EMULATOR_DRAFT_H
#define EMULATOR_DRAFT_H

#include "warp.h"

// The registers of a kernel, then those that hold constants, in one numbering.
struct draft_register {
    enum register_kind kind;
    bool constant;
    enum space window;    // of constants, as in struct constant
    enum special special; //
    uint64_t value;       //
    bool of_product;      // a wgmma computes with it
    int slot;             // in the end: a slot, or the index of a predicate; -1: not needed
};

struct draft {
    operation *run;
    enum flow flow;
    int guard; // -1: none; as are unused ones of d and s
    bool guard_negated;
    int d[4];
    int s[5];
    struct detail detail;
    int *targets; // of a switch: detail.target_count of them
};

struct drafts {
    struct arena *arena;
    struct draft *list;
    int count;
    struct draft_register *registers;
    int register_count;
    int slots, predicates; // in the end: how many are needed
};

// Gives every register a slot. Registers that are never needed at the same time share one: a warp's
// registers then fit the host's first-level cache.
void assign_slots(struct drafts *drafts);

#endif
