// For x86 CPUs with AVX-512: a register of a warp is two vectors.
#include "opcodes.h"

#if defined(__x86_64__)
#    include <math.h>
#    include <string.h>
#    ifdef __clang__
#        pragma clang attribute push(                                                              \
            __attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq"))),                \
            apply_to = function)
#    else
#        pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")
#    endif
#    define INSTRUCTION_SET instruction_set_avx512
#    include "isa.inc"
#    ifdef __clang__
#        pragma clang attribute pop
#    endif
#endif
