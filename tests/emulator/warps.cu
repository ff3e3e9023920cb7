// Lanes of a warp that exchange values: shuffles, votes, matches, reductions.
#include <cooperative_groups.h>
#include <stdint.h>

#include "cases.h"

enum {
    LANES = 32,
    RESULTS = 16,
};

static int host_out[LANES * RESULTS];

static int *results(void)
{
    int *out;
    cudaMalloc((void **)&out, sizeof host_out);
    cudaMemset(out, 0, sizeof host_out);
    return out;
}

static void fetch(int *out)
{
    cudaMemcpy(host_out, out, sizeof host_out, cudaMemcpyDeviceToHost);
    cudaFree(out);
}

static void expect(int lane, int result, int wanted, const char *what)
{
    const int got = host_out[lane * RESULTS + result];
    if (got == wanted)
        return;
    fprintf(stderr, "lane %d, %s: %d, wanted %d\n", lane, what, got, wanted);
    exit(1);
}

// All four modes, with all widths, by different distances in different lanes.
static __global__ void shuffle_all(int *out, int width, int by)
{
    const int lane = (int)threadIdx.x;
    const int value = 100 + lane;
    int *to = out + lane * RESULTS;
    int inside;
    to[0] = __shfl_sync(~0u, value, lane * 3 + by, width);
    to[1] = __shfl_up_sync(~0u, value, (unsigned)by, width);
    to[2] = __shfl_down_sync(~0u, value, (unsigned)by, width);
    to[3] = __shfl_xor_sync(~0u, value, by, width);
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %1, %2, 31, -1; selp.s32 %0, 1, 0, p; }"
                 : "=r"(inside)
                 : "r"(value), "r"(by));
    to[4] = inside;
    const double wide = __shfl_xor_sync(~0u, 0.5 + lane, 1, width);
    to[5] = (int)(2 * wide);
}

static void check_shuffles(int width, int by)
{
    int *out = results();
    shuffle_all<<<1, LANES>>>(out, width, by);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++) {
        const int first = lane / width * width;
        const int up = lane - by, down = lane + by, other = lane ^ by;
        expect(lane, 0, 100 + first + ((lane * 3 + by) & (width - 1)), "idx");
        expect(lane, 1, 100 + (up >= first ? up : lane), "up");
        expect(lane, 2, 100 + (down < first + width ? down : lane), "down");
        expect(lane, 3, 100 + (other < first + width ? other : lane), "xor");
        expect(lane, 4, down < LANES, "predicate");
        // Of groups before one's own, all lanes may be read.
        expect(lane, 5, 1 + 2 * (width == 1 && lane % 2 == 0 ? lane : lane ^ 1), "double");
    }
}

static void shuffles(void)
{
    for (int width = 1; width <= LANES; width *= 2)
        for (int by = 0; by < width; by += 1 + width / 8)
            check_shuffles(width, by);
}

static __global__ void vote_all(int *out, unsigned bits)
{
    const int lane = (int)threadIdx.x;
    const int mine = (int)(bits >> lane & 1);
    int *to = out + lane * RESULTS;
    to[0] = __all_sync(~0u, mine);
    to[1] = __any_sync(~0u, mine);
    to[2] = __uni_sync(~0u, mine);
    to[3] = (int)__ballot_sync(~0u, mine);
    to[4] = (int)__activemask();
    if (lane % 3 == 0) {
        const unsigned mask = 0x49249249;
        to[5] = (int)__ballot_sync(mask, !mine);
        to[6] = (int)__activemask();
        to[7] = __all_sync(mask, mine);
    }
    to[8] = (int)__match_any_sync(~0u, lane % 5);
    to[9] = (int)__match_any_sync(~0u, (unsigned long long)(lane / 7) << 40);
    to[10] = (int)__match_all_sync(~0u, mine, &to[11]);
    to[12] = (int)__reduce_add_sync(~0u, lane * lane);
    to[13] = __reduce_min_sync(~0u, 5 - lane);
    to[14] = (int)__reduce_max_sync(~0u, (unsigned)(lane ^ 9));
    to[15] = (int)(__reduce_xor_sync(~0u, 1u << lane) & __reduce_or_sync(~0u, 1u << lane % 16) &
                   ~__reduce_and_sync(~0u, ~bits));
}

static void check_votes(unsigned bits)
{
    int *out = results();
    vote_all<<<1, LANES>>>(out, bits);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++) {
        int any_five = 0, any_seven = 0, squares = 0, greatest = 0;
        for (int other = 0; other < LANES; other++) {
            any_five |= (other % 5 == lane % 5) << other;
            any_seven |= (other / 7 == lane / 7) << other;
            squares += other * other;
            greatest = (other ^ 9) > greatest ? other ^ 9 : greatest;
        }
        const int uniform = bits == 0 || bits == ~0u;
        expect(lane, 0, bits == ~0u, "all");
        expect(lane, 1, bits != 0, "any");
        expect(lane, 2, uniform, "uni");
        expect(lane, 3, (int)bits, "ballot");
        expect(lane, 4, -1, "activemask");
        expect(lane, 5, lane % 3 == 0 ? (int)(~bits & 0x49249249) : 0, "ballot of some");
        expect(lane, 6, lane % 3 == 0 ? 0x49249249 : 0, "activemask of some");
        expect(lane, 7, lane % 3 == 0 && (~bits & 0x49249249) == 0, "all of some");
        expect(lane, 8, any_five, "match any");
        expect(lane, 9, any_seven, "match any of 64 bits");
        expect(lane, 10, uniform ? -1 : 0, "match all");
        expect(lane, 11, uniform, "match all's predicate");
        expect(lane, 12, squares, "add");
        expect(lane, 13, 5 - 31, "min");
        expect(lane, 14, greatest, "max");
        expect(lane, 15, 0xffff & (int)bits, "and, or, xor");
    }
}

static void votes(void)
{
    check_votes(0);
    check_votes(~0u);
    check_votes(0x12345678);
    check_votes(0x49249249);
}

// Lanes that come to the same instruction on different ways, one after the other.
static __global__ void meet(int *out)
{
    const int lane = (int)threadIdx.x;
    int value = lane;
    for (int i = 0; i < lane % 4; i++)
        value = value * 3 + out[lane * RESULTS];
    out[lane * RESULTS] = __shfl_xor_sync(~0u, value, 1);
    if (lane < 16)
        out[lane * RESULTS + 1] = __shfl_xor_sync(0x0000ffff, value, 2);
    else
        out[lane * RESULTS + 1] = __shfl_xor_sync(0xffff0000, value, 3);
}

static void meeting(void)
{
    static const int powers[] = {1, 3, 9, 27};
    int *out = results();
    meet<<<1, LANES>>>(out);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++) {
        const int one = lane ^ 1, far = lane ^ (lane < 16 ? 2 : 3);
        expect(lane, 0, one * powers[one % 4], "all meet");
        expect(lane, 1, far * powers[far % 4], "halves meet");
    }
}

// Groups of 8 lanes, one instruction with a mask for each.
static __global__ void sum_tiles(int *out)
{
    const cooperative_groups::thread_block_tile<8> tile =
        cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
    int value = (int)threadIdx.x;
    for (unsigned by = tile.size() / 2; by > 0; by /= 2)
        value += tile.shfl_down(value, by);
    out[threadIdx.x * RESULTS] = tile.shfl(value, 0);
    out[threadIdx.x * RESULTS + 1] = (int)tile.thread_rank();
}

static void tiles(void)
{
    int *out = results();
    sum_tiles<<<1, LANES>>>(out);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++) {
        expect(lane, 0, lane / 8 * 64 + 28, "sum of a tile");
        expect(lane, 1, lane % 8, "rank");
    }
}

// A warp of 20 threads: what is read from lanes that there are not must not be used.
static __global__ void sum_few(int *out, int careful)
{
    const int lane = (int)threadIdx.x;
    float value = 1;
    for (int by = 16; by > 0; by /= 2) {
        const float other = __shfl_down_sync(~0u, value, (unsigned)by);
        if (!careful || lane + by < (int)blockDim.x)
            value += other;
    }
    if (lane == 0)
        out[0] = (int)value;
}

static void few_lanes(void)
{
    int *out = results();
    sum_few<<<1, 20>>>(out, 1);
    fetch(out);
    expect(0, 0, 20, "sum of 20");
}

static void lanes_not_there(void)
{
    int *out = results();
    sum_few<<<1, 20>>>(out, 0);
    fetch(out);
    if (host_out[0] == 20)
        exit(1);
    exit(6); // a NaN came out
}

static __global__ void half_shuffles(int *out)
{
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_xor_sync(~0u, (int)threadIdx.x, 1);
    else
        out[threadIdx.x] = __shfl_down_sync(~0u, (int)threadIdx.x, 1);
}

static __global__ void half_end(int *out)
{
    if (threadIdx.x < 16)
        out[threadIdx.x * RESULTS] = __shfl_xor_sync(~0u, (int)threadIdx.x, 1);
}

static void others_never_come(void)
{
    int *out = results();
    half_shuffles<<<1, LANES>>>(out);
    fetch(out);
}

static void others_have_ended(void)
{
    int *out = results();
    half_end<<<1, LANES>>>(out);
    fetch(out);
    for (int lane = 0; lane < LANES / 2; lane++)
        expect(lane, 0, lane ^ 1, "half a warp");
}

static __global__ void wrong_mask(int *out)
{
    out[threadIdx.x] = __any_sync(0xffff, (int)threadIdx.x);
}

static void mask_lacks_caller(void)
{
    int *out = results();
    wrong_mask<<<1, LANES>>>(out);
    fetch(out);
}

static __global__ void read_specials(int *out)
{
    int *to = out + threadIdx.x * RESULTS;
    unsigned value;
    long long clock;
    asm("mov.u32 %0, %%laneid;" : "=r"(value));
    to[0] = (int)value;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(value));
    to[1] = (int)value;
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(value));
    to[2] = (int)value;
    asm("mov.u32 %0, %%nwarpid;" : "=r"(value));
    to[3] = (int)value;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(value));
    to[4] = (int)value;
    clock = clock64();
    to[5] = clock64() > clock;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(clock));
    to[6] = clock > 0;
}

static void specials(void)
{
    int *out = results();
    read_specials<<<1, LANES, 256>>>(out);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++) {
        expect(lane, 0, lane, "laneid");
        expect(lane, 1, (int)((1u << lane) - 1), "lanemask_lt");
        expect(lane, 2, (int)~((1u << lane) - 1), "lanemask_ge");
        expect(lane, 3, 1, "nwarpid");
        expect(lane, 4, 256, "dynamic_smem_size");
        expect(lane, 5, 1, "clock64");
        expect(lane, 6, 1, "globaltimer");
    }
}

// The first lane's sum of an mma whose operands are all 1. Some lanes leave before, or go
// elsewhere.
static __global__ void multiply_ones(int *out, int stay, int together)
{
    const int lane = threadIdx.x;
    const unsigned one = __float_as_uint(1);
    float sum[4] = {0};

    if (lane >= stay)
        return;
    if (lane < together)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                     "{%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(one));
    else
        __nanosleep(1);
    out[lane * RESULTS] = (int)sum[0];
}

static void multiply_with(int stay, int together)
{
    int *out = results();
    multiply_ones<<<1, LANES>>>(out, stay, together);
    fetch(out);
    for (int lane = 0; lane < LANES; lane++)
        expect(lane, 0, 8, "a sum of eight ones");
}

static void tensor_cores(void)
{
    multiply_with(LANES, LANES);
}

static void tensor_lanes_ended(void)
{
    multiply_with(LANES - 1, LANES);
}

static void tensor_lanes_elsewhere(void)
{
    multiply_with(LANES, LANES / 2);
}

static const struct test_case cases[] = {
    {"tensor_cores", tensor_cores},
    {"tensor_lanes_ended", tensor_lanes_ended},
    {"tensor_lanes_elsewhere", tensor_lanes_elsewhere},
    {"shuffles", shuffles},
    {"votes", votes},
    {"meeting", meeting},
    {"tiles", tiles},
    {"few_lanes", few_lanes},
    {"lanes_not_there", lanes_not_there},
    {"others_never_come", others_never_come},
    {"others_have_ended", others_have_ended},
    {"mask_lacks_caller", mask_lacks_caller},
    {"specials", specials},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv);
}
