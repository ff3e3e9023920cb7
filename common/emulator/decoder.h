// The decoder's parts, and what they share: decode.c has the operands, the other files one kind of
// instruction each.
#ifndef EMULATOR_DECODER_H
#define EMULATOR_DECODER_H

#include "draft.h"
#include "opcodes.h"

struct decoder {
    const struct kernel *entry;  // the kernel whose code it becomes
    const struct kernel *kernel; // it, or a function that it calls
    struct drafts drafts;
    const struct statement *statement; // the one being decoded
    int carry;                         // the predicate that is the carry; -1: not needed yet
    bool sequential, groups;           // as in struct code
    int granule_shift;
};

// Each of these turns a statement into drafts; false where it does not know it. What has been
// drafted by then does not count.
bool decode_computation(struct decoder *decoder, const struct statement *statement);
bool decode_memory(struct decoder *decoder, const struct statement *statement);
bool decode_bulk(struct decoder *decoder, const struct statement *statement);
bool decode_flow(struct decoder *decoder, const struct statement *statement);
bool decode_warp(struct decoder *decoder, const struct statement *statement);
bool decode_warpgroup(struct decoder *decoder, const struct statement *statement);

// Finds the loads and atomics whose values decide whether a loop goes on, when all statements have
// drafts.
void find_polls(struct decoder *decoder);

// Finds the other instructions that touch registers of wgmmas.
void find_touches(struct decoder *decoder);

// The next instruction, with the statement's guard and nothing else yet.
struct draft *new_draft(struct decoder *decoder);

// The same for an operation that reads registers, as many as count.
struct draft *draft_to_run(struct decoder *decoder, operation *run, const int s[], int count);

// A register of this kind that no other part of the code knows.
int new_register(struct decoder *decoder, enum register_kind kind);

bool is_kind(const struct decoder *decoder, int reg, enum register_kind kind);

// The register that holds a source of this class (enum operand_class), or that a destination is.
// False for what cannot be one.
bool source(struct decoder *decoder, const struct operand *operand, int class, int *reg);
bool destination(struct decoder *decoder, const struct operand *operand, int class, int *reg);

// The registers of {r0, r1, ...}, as many as count, or of a lone one. False also where there are
// others.
bool read_registers(struct decoder *decoder, const struct operand *operand, int count, bool written,
                    int class, int regs[]);

// The address of an access: a register and an offset.
bool read_address(struct decoder *decoder, const struct operand *memory, int *reg, bool *wide,
                  int64_t *offset);

static inline struct operand register_operand(int reg)
{
    return (struct operand){.kind = OPERAND_REGISTER, .reg = reg};
}

#endif
