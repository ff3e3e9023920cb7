// One warp, one access: what does the hardware count for a pattern of lanes?
//
// Each launch is one load or store of one warp, to the 32 addresses that the host has chosen. The
// program prints the patterns in the order of its launches: the kind of access, the pattern's name,
// the words a lane, and the word that each lane starts at. tests/access_patterns.py runs it under
// ncu and writes down both; on the emulator it prints what that has counted itself.
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/emulator/emulator.h"

enum {
    LANES = 32,
    WORDS = 8192
};

struct pattern {
    int word[LANES]; // where a lane's access starts, in 4-byte words; -1: the lane takes no part
};

static __device__ unsigned shared_address(const float *words, int word)
{
    return (unsigned)__cvta_generic_to_shared(words) + 4U * (unsigned)word;
}

static __global__ void calibrate_shared_load(struct pattern p, int width, float *out)
{
    __shared__ __align__(128) float words[WORDS];
    const int word = p.word[threadIdx.x];
    float a = 0, b = 0, c = 0, d = 0;

    if (word >= 0) {
        const unsigned address = shared_address(words, word);
        if (width == 1)
            asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(address) : "memory");
        else if (width == 2)
            asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                         : "=f"(a), "=f"(b)
                         : "r"(address)
                         : "memory");
        else
            asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                         : "r"(address)
                         : "memory");
    }
    if (a + b + c + d == 12345.0F)
        *out = a;
}

static __global__ void calibrate_shared_store(struct pattern p, int width, float *out)
{
    __shared__ __align__(128) float words[WORDS];
    const int word = p.word[threadIdx.x];
    const float v = (float)threadIdx.x;

    if (word >= 0) {
        const unsigned address = shared_address(words, word);
        if (width == 1)
            asm volatile("st.shared.f32 [%0], %1;" : : "r"(address), "f"(v) : "memory");
        else if (width == 2)
            asm volatile("st.shared.v2.f32 [%0], {%1, %1};" : : "r"(address), "f"(v) : "memory");
        else
            asm volatile("st.shared.v4.f32 [%0], {%1, %1, %1, %1};"
                         :
                         : "r"(address), "f"(v)
                         : "memory");
    }
    if (out == NULL)
        printf("%f\n", words[threadIdx.x]);
}

static __global__ void calibrate_global_load(struct pattern p, int width, float *data)
{
    const int word = p.word[threadIdx.x];
    float a = 0, b = 0, c = 0, d = 0;

    if (word >= 0) {
        const float *address = data + word;
        if (width == 1)
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(address) : "memory");
        else if (width == 2)
            asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
                         : "=f"(a), "=f"(b)
                         : "l"(address)
                         : "memory");
        else
            asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                         : "l"(address)
                         : "memory");
    }
    if (a + b + c + d == 12345.0F)
        asm volatile("trap;");
}

static __global__ void calibrate_global_store(struct pattern p, int width, float *data)
{
    const int word = p.word[threadIdx.x];
    const float v = (float)threadIdx.x;

    if (word >= 0) {
        float *address = data + word;
        if (width == 1)
            asm volatile("st.global.f32 [%0], %1;" : : "l"(address), "f"(v) : "memory");
        else if (width == 2)
            asm volatile("st.global.v2.f32 [%0], {%1, %1};" : : "l"(address), "f"(v) : "memory");
        else
            asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};"
                         :
                         : "l"(address), "f"(v)
                         : "memory");
    }
}

// Only a program that is linked with the emulator has these.
#pragma weak emulator_settings
#pragma weak emulator_write_counts
#pragma weak emulator_clear_counts

static float *data;

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "access_patterns: %s: %s\n", cudaGetErrorName(error),
                cudaGetErrorString(error));
        exit(3);
    }
}

static void run(const char *name, int width, const struct pattern *p, bool global)
{
    static const char *const kinds[] = {"shared_load", "shared_store", "global_load",
                                        "global_store"};
    int kind, lane;

    for (kind = global ? 2 : 0; kind < (global ? 4 : 2); kind++) {
        printf("%s\t%s\t%d\t", kinds[kind], name, width);
        for (lane = 0; lane < LANES; lane++)
            printf("%d%c", p->word[lane], lane == LANES - 1 ? '\n' : ' ');
        if (kind == 0)
            calibrate_shared_load<<<1, LANES>>>(*p, width, data);
        else if (kind == 1)
            calibrate_shared_store<<<1, LANES>>>(*p, width, data);
        else if (kind == 2)
            calibrate_global_load<<<1, LANES>>>(*p, width, data);
        else
            calibrate_global_store<<<1, LANES>>>(*p, width, data);
        check(cudaGetLastError());
        check(cudaDeviceSynchronize());
        if (&emulator_settings != NULL) {
            emulator_write_counts(stdout, "");
            emulator_clear_counts();
            putchar('\n');
        }
    }
}

enum map {
    STRIDE,
    SHARE,
    XOR_SHARE,
    BROADCAST,
    STEP05_A,
    STEP05_B,
    UNPAIRED_A,
    UNPAIRED_B,
    A_STORE,
    HALF_OFF,
    ODD_OFF,
    OFFSET,
    REVERSE
};

// Fills a pattern; x is the map's parameter.
static struct pattern make(enum map map, int width, int x)
{
    struct pattern p;
    int n;

    for (n = 0; n < LANES; n++) {
        int word = 0;
        switch (map) {
        case STRIDE:
            word = n * x * width;
            break;
        case SHARE:
            word = n / x * width;
            break;
        case XOR_SHARE:
            word = (n & ~x) * width;
            break;
        case BROADCAST:
            word = x * width;
            break;
        case STEP05_A:
            word = n / 16 * 8 + n % 2 * 4;
            break;
        case STEP05_B:
            word = n / 2 % 8 * 4;
            break;
        case UNPAIRED_A:
            word = n / 8 * 4;
            break;
        case UNPAIRED_B:
            word = n % 8 * 4;
            break;
        case A_STORE:
            word = n % 8 * x + n / 8 * 4;
            break;
        case HALF_OFF:
            word = n < 16 ? n * width : -1;
            break;
        case ODD_OFF:
            word = n % 2 == 0 ? n * width : -1;
            break;
        case OFFSET:
            word = n * width + x;
            break;
        case REVERSE:
            word = (LANES - 1 - n) * width;
            break;
        }
        p.word[n] = word;
    }
    return p;
}

static void one(const char *format, enum map map, int width, int x, bool global)
{
    const struct pattern p = make(map, width, x);
    char name[64];

    snprintf(name, sizeof name, format, x);
    run(name, width, &p, global);
}

int main(void)
{
    static const int widths[] = {1, 2, 4};
    uint32_t state = 12345;
    int w, x, n, i;

    if (&emulator_settings != NULL)
        emulator_settings.checks = false; // shared memory is read that nobody has written
    check(cudaMalloc((void **)&data, 64 << 20));
    check(cudaMemset(data, 0, 64 << 20));
    for (w = 0; w < 3; w++) {
        const int width = widths[w];
        for (x = 1; x <= 33; x++)
            one("stride %d", STRIDE, width, x, false);
        for (x = 2; x <= 16; x *= 2)
            one("neighbours share by %d", SHARE, width, x, false);
        for (x = 1; x <= 31; x++)
            one("lanes that differ in bits %d share", XOR_SHARE, width, x, false);
        one("broadcast", BROADCAST, width, 3, false);
        one("lower half only", HALF_OFF, width, 0, false);
        one("even lanes only", ODD_OFF, width, 0, false);
        one("reversed", REVERSE, width, 0, false);
        for (i = 0; i < 24; i++) { // random: all different, few different, few banks
            struct pattern p;
            char name[32];
            for (n = 0; n < LANES; n++) {
                state = state * 1664525U + 1013904223U;
                p.word[n] = (int)(state >> 8) % (i % 3 == 0 ? 2048 : i % 3 == 1 ? 16 : 64) * width;
                if (i >= 12 && state >> 30 == 0)
                    p.word[n] = -1;
            }
            snprintf(name, sizeof name, "random %d", i);
            run(name, width, &p, false);
        }
        for (x = 1; x <= 9; x++)
            one("stride %d", STRIDE, width, x, true);
        for (x = 16; x <= 33; x += 8)
            one("stride %d", STRIDE, width, x, true);
        one("broadcast", BROADCAST, width, 3, true);
        for (x = width; x <= 8; x += width)
            one("offset %d", OFFSET, width, x, true);
        one("even lanes only", ODD_OFF, width, 0, true);
        for (x = 2; x <= 16; x *= 2)
            one("neighbours share by %d", SHARE, width, x, true);
    }
    one("step 05 reads A", STEP05_A, 4, 0, false);
    one("step 05 reads B", STEP05_B, 4, 0, false);
    one("unpaired lanes read A", UNPAIRED_A, 4, 0, false);
    one("unpaired lanes read B", UNPAIRED_B, 4, 0, false);
    one("A store, leading dimension %d", A_STORE, 4, 128, false);
    one("A store, leading dimension %d", A_STORE, 4, 132, false);
    one("A store in words, leading dimension %d", A_STORE, 1, 128, false);
    one("A store in words, leading dimension %d", A_STORE, 1, 132, false);
    return 0;
}
