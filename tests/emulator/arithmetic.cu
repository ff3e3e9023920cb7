// What kernels compute, bit by bit against the host.
#include <math.h>
#include <stdint.h>

#include "cases.h"

enum {
    COUNT = 4096,
    RESULTS = 16,
};

// The same C on both sides.
static __host__ __device__ void integers(uint32_t a, uint32_t b, uint32_t c, uint64_t *out)
{
    const int32_t s = (int32_t)a;
    const int32_t t = (int32_t)(b | 1);
    const uint64_t wide = (uint64_t)a << 32 | b;
    out[0] = a * b + c;
    out[1] = (uint64_t)a * b + c;
    out[2] = (uint64_t)((int64_t)s * t);
    out[3] = wide * c;
    out[4] = wide >> (c & 63);
    out[5] = (uint64_t)((int64_t)wide >> (c & 63));
    out[6] = wide << (c & 63);
    out[7] = (uint32_t)(s >> (c & 31));
    out[8] = a / (b | 1);
    out[9] = (uint32_t)((s >> 1) / t);
    out[10] = (uint32_t)((s >> 1) % t);
    out[11] = wide / (c | 1);
    out[12] = wide % (c | 1);
    out[13] = a < b ? a ^ c : (uint64_t)(s < t ? s & t : s | t);
    out[14] = (a >> 5 & 0x7ff) + (uint64_t)(int64_t)(int16_t)b + (uint8_t)c;
    out[15] = (int64_t)wide < (int64_t)s ? ~wide : 0 - wide;
}

static __global__ void compute_integers(const uint32_t *in, uint64_t *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    integers(in[i], in[i + 1], in[i + 2], &out[RESULTS * i]);
}

static __global__ void compute_floats(const float *in, float *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[4 * i] = fmaf(in[i], in[i + 1], in[i + 2]);
    out[4 * i + 1] = __fadd_rn(in[i], in[i + 1]);
    out[4 * i + 2] = __fmul_rn(in[i], in[i + 1]);
    out[4 * i + 3] = in[i] < in[i + 1] ? in[i] : in[i + 2];
}

static __global__ void compute_bits(const uint32_t *in, uint32_t *out, uint64_t *fields)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[4 * i] = __byte_perm(in[i], in[i + 1], in[i + 2]);
    out[4 * i + 1] = __funnelshift_l(in[i], in[i + 1], in[i + 2]);
    out[4 * i + 2] = __funnelshift_rc(in[i], in[i + 1], in[i + 2] & 63);
    uint32_t field;
    uint64_t wide;
    asm("bfi.b32 %0, %1, %2, %3, 7;" : "=r"(field) : "r"(in[i]), "r"(in[i + 1]), "r"(in[i + 2]));
    asm("bfe.s32 %0, %0, %1, 9;" : "+r"(field) : "r"(in[i + 2] >> 8 & 31));
    asm("bfe.s64 %0, %1, %2, 40;"
        : "=l"(wide)
        : "l"((uint64_t)in[i + 1] << 32 | in[i]), "r"(in[i + 2] & 31));
    fields[2 * i] = field;
    fields[2 * i + 1] = wide;
    out[4 * i + 3] = (uint32_t)__popc(in[i]) + 64 * (uint32_t)__clz((int)in[i + 1]) +
                     (__brev(in[i + 2]) & 0xfff00000);
}

// Lanes that go through loops of different lengths, with branches inside.
static __global__ void collatz(const uint32_t *in, uint32_t *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    uint64_t n = in[i] % 1000 + 1;
    uint32_t steps = 0;
    while (n != 1) {
        if (n & 1)
            n = 3 * n + 1;
        else
            n /= 2;
        if (++steps > 100000)
            return;
    }
    out[i] = steps;
}

static uint32_t host_words[COUNT + 2];

// Random bit patterns, with many that are small, large, or special as float32.
static uint32_t *words(void)
{
    static const uint32_t special[] = {0,          1,          0x80000000, 0xffffffff, 0x7fffffff,
                                       0x3f800000, 0x3f800001, 0x33800000, 0x7f7fffff, 0x00800000,
                                       0x7f800000, 0xff800000, 0x00000fff, 31,         32};
    uint64_t state = 1;
    uint32_t *device;
    for (int i = 0; i < COUNT + 2; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint32_t word = (uint32_t)(state >> 32);
        host_words[i] = word % 5 == 0   ? special[word / 5 % (sizeof special / sizeof *special)]
                        : word % 5 == 1 ? 0x3f000000 | (word >> 8)
                                        : word;
    }
    cudaMalloc((void **)&device, sizeof host_words);
    cudaMemcpy(device, host_words, sizeof host_words, cudaMemcpyHostToDevice);
    return device;
}

static void fail_at(int i, const char *what)
{
    fprintf(stderr, "%s differs for %08x %08x %08x\n", what, host_words[i], host_words[i + 1],
            host_words[i + 2]);
    exit(1);
}

static void check_integers(void)
{
    static uint64_t got[RESULTS * COUNT];
    uint32_t *in = words();
    uint64_t *out;
    cudaMalloc((void **)&out, sizeof got);
    compute_integers<<<COUNT / 256, 256>>>(in, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < COUNT; i++) {
        uint64_t want[RESULTS];
        integers(host_words[i], host_words[i + 1], host_words[i + 2], want);
        if (memcmp(want, &got[RESULTS * i], sizeof want) != 0)
            fail_at(i, "integer arithmetic");
    }
    cudaFree(in);
    cudaFree(out);
}

static int same_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_floats(void)
{
    static float got[4 * COUNT];
    static float values[COUNT + 2];
    uint32_t *in = words();
    float *out;
    memcpy(values, host_words, sizeof values);
    cudaMalloc((void **)&out, sizeof got);
    compute_floats<<<COUNT / 256, 256>>>((const float *)in, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < COUNT; i++) {
        const float a = values[i], b = values[i + 1], c = values[i + 2];
        if (!same_float(got[4 * i], fmaf(a, b, c)))
            fail_at(i, "fma");
        if (!same_float(got[4 * i + 1], a + b) || !same_float(got[4 * i + 2], a * b))
            fail_at(i, "a sum or product");
        if (!same_float(got[4 * i + 3], a < b ? a : c))
            fail_at(i, "a comparison");
    }
    cudaFree(in);
    cudaFree(out);
}

static uint32_t host_byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t choice = selector >> 4 * i & 7;
        result |= ((choice < 4 ? a >> 8 * choice : b >> 8 * (choice - 4)) & 0xff) << 8 * i;
    }
    return result;
}

// A field's bits as a signed number.
static int64_t signed_field(uint64_t word, int first, int length, int width)
{
    int64_t value = 0;
    for (int bit = length - 1; bit >= 0; bit--) {
        const int from = first + bit < width ? first + bit : width - 1;
        value = bit == length - 1 ? -(int64_t)(word >> from & 1)
                                  : 2 * value + (int64_t)(word >> from & 1);
    }
    return value;
}

static void check_fields(int i, const uint64_t *got)
{
    const uint32_t a = host_words[i], b = host_words[i + 1], c = host_words[i + 2];
    const uint32_t first = c & 0xff;
    const uint32_t mask = first > 31 ? 0 : (uint32_t)(0x7fULL << first);
    const uint32_t inserted = (b & ~mask) | (first > 31 ? 0 : a << first & mask);
    if ((uint32_t)got[0] != (uint32_t)signed_field(inserted, (int)(c >> 8 & 31), 9, 32))
        fail_at(i, "bfi or bfe.s32");
    if (got[1] != (uint64_t)signed_field((uint64_t)b << 32 | a, (int)(c & 31), 40, 64))
        fail_at(i, "bfe.s64");
}

static void check_bits(void)
{
    static uint32_t got[4 * COUNT];
    static uint64_t fields[2 * COUNT];
    uint32_t *in = words();
    uint32_t *out;
    uint64_t *out_fields;
    cudaMalloc((void **)&out, sizeof got);
    cudaMalloc((void **)&out_fields, sizeof fields);
    compute_bits<<<COUNT / 256, 256>>>(in, out, out_fields);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    cudaMemcpy(fields, out_fields, sizeof fields, cudaMemcpyDeviceToHost);
    for (int i = 0; i < COUNT; i++)
        check_fields(i, &fields[2 * i]);
    cudaFree(out_fields);
    for (int i = 0; i < COUNT; i++) {
        const uint32_t a = host_words[i], b = host_words[i + 1], c = host_words[i + 2];
        const uint64_t both = (uint64_t)b << 32 | a;
        const uint32_t clamped = (c & 63) > 32 ? 32 : c & 63;
        uint32_t reversed = 0;
        for (int bit = 0; bit < 32; bit++)
            reversed |= (c >> bit & 1) << (31 - bit);
        if (got[4 * i] != host_byte_perm(a, b, c))
            fail_at(i, "prmt");
        if (got[4 * i + 1] != (uint32_t)(both << (c & 31) >> 32) ||
            got[4 * i + 2] != (uint32_t)(both >> clamped))
            fail_at(i, "shf");
        if (got[4 * i + 3] != (uint32_t)__builtin_popcount(a) +
                                  64 * (b == 0 ? 32 : (uint32_t)__builtin_clz(b)) +
                                  (reversed & 0xfff00000))
            fail_at(i, "popc, clz or brev");
    }
    cudaFree(in);
    cudaFree(out);
}

static void check_divergence(void)
{
    static uint32_t got[COUNT];
    uint32_t *in = words();
    uint32_t *out;
    cudaMalloc((void **)&out, sizeof got);
    collatz<<<COUNT / 256, 256>>>(in, out);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < COUNT; i++) {
        uint32_t steps = 0;
        for (uint64_t n = host_words[i] % 1000 + 1; n != 1; steps++)
            n = n & 1 ? 3 * n + 1 : n / 2;
        if (got[i] != steps)
            fail_at(i, "a loop");
    }
    cudaFree(in);
    cudaFree(out);
}

static const struct test_case cases[] = {
    {"integers", check_integers},
    {"floats", check_floats},
    {"bits", check_bits},
    {"divergence", check_divergence},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
