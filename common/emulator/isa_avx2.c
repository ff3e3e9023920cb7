// For x86 CPUs with AVX2 and FMA; on any other, and on CPUs without them, isa_base.c is used.
#include "opcodes.h"

#if defined(__x86_64__)
#    include <math.h>
#    include <string.h>
#    ifdef __clang__
#        pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#    else
#        pragma GCC target("avx2,fma")
#    endif
#    define INSTRUCTION_SET instruction_set_avx2
#    include "isa.inc"
#    ifdef __clang__
#        pragma clang attribute pop
#    endif
#endif
