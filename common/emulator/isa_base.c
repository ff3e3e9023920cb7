#define INSTRUCTION_SET instruction_set_base
#include "isa.inc"
