// mbarriers, for kernels of the cases.
#ifndef MBARRIERS_H
#define MBARRIERS_H

static __device__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __device__ void init(unsigned mbarrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(mbarrier), "r"(count)
                 : "memory");
}

static __device__ void show_to_copies(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ void arrive(unsigned mbarrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(mbarrier) : "memory");
}

static __device__ void wait(unsigned mbarrier, int parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}"
                 :
                 : "r"(mbarrier), "r"(parity)
                 : "memory");
}

#endif
