// Step 00: vector add
//
// What a first kernel teaches, before any matrix: how data get to the device and back, what a
// launch may ask for, and what makes a kernel slow. Each lesson is an experiment, ./step00 add and
// the like, which prints a table. The kernels are first, a few lines each; then a function an
// experiment; what they share (command line, times) is in common/basics.
// Cost: 12 bytes of global memory for one addition, so that memory sets the pace, never arithmetic.
//
// Build and run: make step00 && ./step00 add      Chapter: docs/00-vector-add.md
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics/basics.h"

enum {
    THREADS = 256,             // of a block, unless an experiment is about it
    WARP = 32,                 // threads that execute together
    SECTOR = 32,               // bytes that global memory moves at once
    STATIC_SHARED = 48 * 1024, // the most bytes of shared memory that a program can declare
    KEPT = 96,                 // values that a thread of `greedy` holds in registers
    CHAINS = 8,                // independent sums in `multiply_adds`, to hide the latency of one
};

// ---------------------------------------------------------------------------- the kernels

// [add]
// A grid-stride loop: any grid will do, and neighbouring threads add neighbouring elements.
static __global__ void add(const float *a, const float *b, float *c, int64_t n)
{
    // lab: add n pairs of elements, this thread's and every grid's width further on (about 3 lines)
    const int64_t stride = (int64_t)blockDim.x * gridDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        c[i] = a[i] + b[i];
    // end lab
}
// [/add]

static __global__ void fill(float *a, float value, int64_t n)
{
    const int64_t stride = (int64_t)blockDim.x * gridDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        a[i] = value;
}

// [strided]
// Makes `loads` loads, each lane's `apart` floats from its neighbour's. A thread keeps a sum, so
// that the loads are not left out, and hardly anything is written.
static __global__ void read_strided(const float *a, int apart, int64_t loads, float *sums)
{
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t stride = (int64_t)blockDim.x * gridDim.x;
    float sum = 0;

    for (int64_t i = first; i < loads; i += stride)
        sum += a[i * apart];
    sums[first] = sum;
}
// [/strided]

// [diverge]
// Does the same arithmetic on one of `paths` paths. Which one depends on the lane, so that each
// warp goes all of them; or on the warp, so that each goes one.
static __global__ void diverge(float *out, int paths, bool by_warp, int rounds)
{
    const int path = (int)(by_warp ? threadIdx.x / WARP : threadIdx.x % WARP) % paths;
    float x = 0;

    for (int p = 0; p < paths; p++)
        if (path == p)
            for (int r = 0; r < rounds; r++)
                x = 0.5F * x + (float)p;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
// [/diverge]

// [reverse]
// Turns a block's numbers round in shared memory. How much there is, the launch says.
static __global__ void reverse(float *out, int count)
{
    extern __shared__ float dynamic[];

    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        dynamic[i] = (float)i;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        out[i] = dynamic[count - 1 - i];
}

// The same in memory that the program declares. One float more, and it would not assemble.
static __global__ void reverse_static(float *out)
{
    enum {
        COUNT = STATIC_SHARED / sizeof(float)
    };
    __shared__ float declared[COUNT];

    for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
        declared[i] = (float)i;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < COUNT; i += (int)blockDim.x)
        out[i] = declared[COUNT - 1 - i];
}
// [/reverse]

// [greedy]
// Needs more registers a thread than a block of 1024 threads can have.
static __global__ void greedy(float *c, int rounds)
{
    float kept[KEPT];

    for (int i = 0; i < KEPT; i++)
        kept[i] = c[i];
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < KEPT; i++)
            kept[i] += kept[i] * kept[(i + 1) % KEPT];
    for (int i = 0; i < KEPT; i++)
        c[i] = kept[i];
}
// [/greedy]

static __global__ void nothing(void)
{
}

// [multiply_adds]
// Arithmetic without memory: 2 * CHAINS operations a thread and round.
static __global__ void multiply_adds(float *out, float factor, int rounds)
{
    float sums[CHAINS] = {0};
    float total = 0;

#pragma unroll 16 // so that next to nothing but multiply-adds is executed
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS; i++)
            sums[i] = sums[i] * factor + (float)i;
    for (int i = 0; i < CHAINS; i++)
        total += sums[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
// [/multiply_adds]

// ---------------------------------------------------------------------------- add

struct addition {
    const float *d_a, *d_b;
    float *d_c;
    int64_t n;
    unsigned blocks;
};

// [launch]
static void start_add(const void *what)
{
    const struct addition *sum = (const struct addition *)what;

    // lab: start sum->blocks blocks of THREADS threads, and ask for an error (about 2 lines)
    add<<<sum->blocks, THREADS>>>(sum->d_a, sum->d_b, sum->d_c, sum->n);
    CHECK_CUDA(cudaGetLastError()); // what is wrong with the launch itself
    // end lab
}
// [/launch]

// How many blocks it takes to have so many threads at least.
static unsigned blocks_for(int64_t threads)
{
    // lab: threads / THREADS, rounded up (about 1 line)
    return (unsigned)((threads + THREADS - 1) / THREADS);
    // end lab
}

// Runs it with this grid, copies the result back and looks at every element of it.
static bool add_with(struct addition *sum, const char *grid, unsigned blocks, float *h_c)
{
    const size_t bytes = (size_t)sum->n * sizeof(float);
    const int64_t threads = (int64_t)blocks * THREADS;
    const int64_t each = threads > 0 ? (sum->n + threads - 1) / threads : 0;
    double milliseconds, rate;
    int64_t wrong = 0;

    sum->blocks = blocks;
    CHECK_CUDA(cudaMemset(sum->d_c, 0xff, bytes)); // NaN: what is not written shows
    milliseconds = time_work(start_add, sum);
    CHECK_CUDA(cudaMemcpy(h_c, sum->d_c, bytes, cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < sum->n; i++)
        wrong += h_c[i] != (float)(i % 1000 + i % 7);
    if (wrong > 0)
        milliseconds = NAN; // a wrong kernel has no rate
    rate = 12.0 * (double)sum->n / milliseconds / 1e6;
    printf("%-20s %9u %17lld  %-8s", grid, blocks, (long long)each, wrong == 0 ? "right" : "WRONG");
    print_measured(13, 3, milliseconds);
    print_measured(13, 1, rate);
    print_measured(13, 1, 100 * rate / peak_bandwidth());
    putchar('\n');
    if (wrong > 0)
        complain("add, grid of %u: %lld of %lld elements are wrong", blocks, (long long)wrong,
                 (long long)sum->n);
    return wrong == 0;
}

// [flow]
static enum exit_code run_add(const struct run *run)
{
    const int64_t n = run->elements;
    const size_t bytes = (size_t)n * sizeof(float);
    const unsigned sms = (unsigned)run->device.sms;
    float *h_a = (float *)host_memory(bytes), *h_b = (float *)host_memory(bytes);
    float *h_c = (float *)host_memory(bytes);
    float *d_a, *d_b, *d_c;
    bool right;

    for (int64_t i = 0; i < n; i++) {
        h_a[i] = (float)(i % 1000);
        h_b[i] = (float)(i % 7);
    }
    CHECK_CUDA(cudaMalloc(&d_a, bytes));
    CHECK_CUDA(cudaMalloc(&d_b, bytes));
    CHECK_CUDA(cudaMalloc(&d_c, bytes));
    CHECK_CUDA(cudaMemcpy(d_a, h_a, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(d_b, h_b, bytes, cudaMemcpyHostToDevice));

    struct addition sum = {d_a, d_b, d_c, n, 0};
    printf("%lld elements, %d threads a block\n\n", (long long)n, THREADS);
    printf("%-20s %9s %17s  %-8s %13s %13s %13s\n", "grid", "blocks", "elements a thread", "result",
           "median ms", "GB/s", "% of peak");
    right = add_with(&sum, "one block", 1, h_c);
    right &= add_with(&sum, "a block an SM", sms, h_c);
    right &= add_with(&sum, "8 blocks an SM", 8 * sms, h_c);
    right &= add_with(&sum, "a thread an element", blocks_for(n), h_c);
    printf("\nEvery grid gives the same sums; memory is kept busy only by many threads.\n");

    CHECK_CUDA(cudaFree(d_a));
    CHECK_CUDA(cudaFree(d_b));
    CHECK_CUDA(cudaFree(d_c));
    free(h_a);
    free(h_b);
    free(h_c);
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}
// [/flow]

// ---------------------------------------------------------------------------- stride

struct strided {
    const float *d_a;
    int apart;
    int64_t loads;
    float *d_sums;
    unsigned blocks;
};

static void start_read(const void *what)
{
    const struct strided *read = (const struct strided *)what;

    read_strided<<<read->blocks, THREADS>>>(read->d_a, read->apart, read->loads, read->d_sums);
    CHECK_CUDA(cudaGetLastError());
}

// [sectors]
// How many sectors the lanes of a warp touch, when each reads a float so many floats apart from its
// neighbour's: different values of address / 32.
static int sectors_touched(int apart)
{
    int sectors = 0;
    int last = -1;

    for (int lane = 0; lane < WARP; lane++) {
        const int sector = lane * apart * (int)sizeof(float) / SECTOR;

        sectors += sector != last;
        last = sector;
    }
    return sectors;
}
// [/sectors]

// Every element is 1: the sums of all threads together are the number of loads.
static bool sums_are_right(const struct strided *read, float *h_sums)
{
    const int64_t count = (int64_t)read->blocks * THREADS;
    double total = 0;

    CHECK_CUDA(
        cudaMemcpy(h_sums, read->d_sums, (size_t)count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < count; i++)
        total += h_sums[i];
    if (total != (double)read->loads)
        complain("stride %d: the sum is %g, wanted %lld", read->apart, total,
                 (long long)read->loads);
    return total == (double)read->loads;
}

static bool read_apart(const struct strided *read, float *h_sums)
{
    const int sectors = sectors_touched(read->apart);
    const double useful = WARP * sizeof(float), moved = sectors * SECTOR;
    double milliseconds, rate;

    begin_counting();
    milliseconds = time_work(start_read, read);
    end_counting();
    rate = (double)sizeof(float) * (double)read->loads / milliseconds / 1e6;
    printf("%6d %8d", read->apart, sectors);
    if (emulated())
        printf(" %12.1f", counted().sectors);
    else
        printf(" %12s", "not counted");
    printf(" %16.1f %%", 100 * useful / moved);
    print_measured(15, 1, rate);
    print_measured(15, 1, rate * moved / useful);
    putchar('\n');
    return sums_are_right(read, h_sums);
}

static enum exit_code run_stride(const struct run *run)
{
    static const int strides[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};
    const int64_t widest = 32, n = run->elements;
    const int64_t loads = n / (widest * WARP) * WARP; // whole warps
    const unsigned most = 8 * (unsigned)run->device.sms;
    const unsigned blocks = blocks_for(loads) < most ? blocks_for(loads) : most;
    const size_t sum_bytes = (size_t)blocks * THREADS * sizeof(float);
    float *h_sums = (float *)host_memory(sum_bytes);
    float *d_a, *d_sums;
    bool right = true;

    if (loads == 0)
        fail(EXIT_USAGE, "-n %lld: stride wants %lld at least, a load of a warp at the widest",
             (long long)n, (long long)(widest * WARP));
    CHECK_CUDA(cudaMalloc(&d_a, (size_t)n * sizeof(float)));
    CHECK_CUDA(cudaMalloc(&d_sums, sum_bytes));
    fill<<<blocks, THREADS>>>(d_a, 1, n);
    CHECK_CUDA(cudaGetLastError());
    printf("%lld loads of 4 bytes from %lld floats\n\n", (long long)loads, (long long)n);
    printf("%6s %8s %12s %18s %15s %15s\n", "stride", "sectors", "counted", "bus efficiency",
           "GB/s asked for", "GB/s moved");
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        const struct strided read = {d_a, strides[i], loads, d_sums, blocks};

        right &= read_apart(&read, h_sums);
    }
    printf("\nA warp's load moves every sector that it touches, whole: from a stride of 8 on one\n"
           "float of 8 is used.\n");
    CHECK_CUDA(cudaFree(d_a));
    CHECK_CUDA(cudaFree(d_sums));
    free(h_sums);
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- copy

struct transfer {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
};

static void start_copy(const void *what)
{
    const struct transfer *copy = (const struct transfer *)what;

    CHECK_CUDA(cudaMemcpy(copy->to, copy->from, copy->bytes, copy->kind));
}

// Copies to the device and back, and prints GB/s of both. What comes back has to be what went.
static bool copy_both_ways(char *host, void *device, size_t bytes)
{
    const struct transfer there = {device, host, bytes, cudaMemcpyHostToDevice};
    const struct transfer back = {host, device, bytes, cudaMemcpyDeviceToHost};
    bool right;

    memset(host, 0x5a, bytes);
    print_measured(15, 2, (double)bytes / time_work(start_copy, &there) / 1e6);
    memset(host, 0, bytes);
    print_measured(15, 2, (double)bytes / time_work(start_copy, &back) / 1e6);
    right = host[0] == 0x5a && memcmp(host, host + 1, bytes - 1) == 0; // all bytes are the same
    if (!right)
        complain("copy: %zu bytes came back changed", bytes);
    return right;
}

// [overlap]
// A copy and a kernel, each on a stream of its own or both on the same.
struct overlap {
    float *to;
    const float *from; // pinned: a copy from pageable memory would wait
    size_t bytes;
    float *out;
    unsigned blocks;
    int rounds;
    cudaStream_t copies, kernels;
    bool copy, compute;
};

static void start_overlap(const void *what)
{
    const struct overlap *both = (const struct overlap *)what;

    if (both->copy)
        CHECK_CUDA(cudaMemcpyAsync(both->to, both->from, both->bytes, cudaMemcpyHostToDevice,
                                   both->copies));
    if (both->compute)
        multiply_adds<<<both->blocks, THREADS, 0, both->kernels>>>(both->out, 0.5F, both->rounds);
    CHECK_CUDA(cudaGetLastError());
}
// [/overlap]

static double time_overlap(struct overlap *both, const char *what, bool copy, bool compute)
{
    double milliseconds;

    both->copy = copy;
    both->compute = compute;
    milliseconds = time_work(start_overlap, both);
    if (what != NULL) {
        printf("%-32s", what);
        print_measured(13, 3, milliseconds);
        putchar('\n');
    }
    return milliseconds;
}

static void overlap_copy(const struct run *run, void *pinned, void *device, size_t bytes)
{
    cudaStream_t first, second;
    struct overlap both = {(float *)device, (const float *)pinned, bytes};
    double copy, kernel;

    CHECK_CUDA(cudaStreamCreate(&first));
    CHECK_CUDA(cudaStreamCreate(&second));
    both.blocks = emulated() ? 1 : 8 * (unsigned)run->device.sms;
    both.rounds = emulated() ? 16 : 1 << 14;
    both.copies = both.kernels = first;
    CHECK_CUDA(cudaMalloc(&both.out, (size_t)both.blocks * THREADS * sizeof(float)));

    printf("\n%-32s %13s\n", "pinned, to the device", "median ms");
    copy = time_overlap(&both, "copy alone", true, false);
    kernel = time_overlap(&both, NULL, false, true);
    if (isfinite(copy / kernel)) // as long as the copy: then most can be gained
        both.rounds = (int)(both.rounds * copy / kernel) + 1;
    time_overlap(&both, "kernel alone, made as long", false, true);
    time_overlap(&both, "both in one stream", true, true);
    both.kernels = second;
    time_overlap(&both, "each in a stream of its own", true, true);

    CHECK_CUDA(cudaFree(both.out));
    CHECK_CUDA(cudaStreamDestroy(first));
    CHECK_CUDA(cudaStreamDestroy(second));
}

static enum exit_code run_copy(const struct run *run)
{
    const size_t most = emulated() ? (size_t)1 << 20 : (size_t)1 << 30;
    char *pageable = (char *)host_memory(most);
    void *pinned, *device;
    bool right = true;

    CHECK_CUDA(cudaMallocHost(&pinned, most));
    CHECK_CUDA(cudaMalloc(&device, most));
    printf("%10s %31s %31s\n", "", "pageable, GB/s", "pinned, GB/s");
    printf("%10s %15s %15s %15s %15s\n", "KiB", "to device", "to host", "to device", "to host");
    for (size_t bytes = 4096; bytes <= most; bytes *= 4) {
        printf("%10zu", bytes / 1024);
        right &= copy_both_ways(pageable, device, bytes);
        right &= copy_both_ways((char *)pinned, device, bytes);
        putchar('\n');
    }
    overlap_copy(run, pinned, device, most / 4);
    printf("\nA small copy costs its fixed part; a large one of pinned memory goes as fast as the\n"
           "connection, and beside a kernel, if each has a stream of its own.\n");
    CHECK_CUDA(cudaFree(device));
    CHECK_CUDA(cudaFreeHost(pinned));
    free(pageable);
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- limits

struct attempt {
    const char *limit;
    long long asked, allowed;
    dim3 grid, block;
    size_t shared;
    bool greedy; // with the kernel that takes many registers
};

static int registers_of(const void *kernel)
{
    struct cudaFuncAttributes attributes;

    CHECK_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    return attributes.numRegs;
}

// [attempt]
// Starts a kernel that breaks a limit. The launch itself is refused: nothing runs.
static bool is_refused(const struct attempt *attempt, float *d_c)
{
    cudaError_t error;

    if (attempt->greedy)
        greedy<<<attempt->grid, attempt->block, attempt->shared>>>(d_c, 1);
    else
        nothing<<<attempt->grid, attempt->block, attempt->shared>>>();
    error = cudaGetLastError(); // and forgets it
    printf("%-33s %11lld %11lld  %s\n", attempt->limit, attempt->asked, attempt->allowed,
           cudaGetErrorName(error));
    return error != cudaSuccess;
}
// [/attempt]

static enum exit_code run_limits(const struct run *run)
{
    const long long threads = device_attribute(cudaDevAttrMaxThreadsPerBlock);
    const long long block_z = device_attribute(cudaDevAttrMaxBlockDimZ);
    const long long grid_x = run->device.max_grid_x;
    const long long grid_y = device_attribute(cudaDevAttrMaxGridDimY);
    const long long grid_z = device_attribute(cudaDevAttrMaxGridDimZ);
    const long long shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    const long long registers = device_attribute(cudaDevAttrMaxRegistersPerBlock);
    const struct attempt attempts[] = {
        {"threads a block", threads + 1, threads, 1, dim3((unsigned)threads + 1)},
        {"threads a block, as 32 x 32 x 2", 2048, threads, 1, dim3(32, 32, 2)},
        {"block, z", block_z + 1, block_z, 1, dim3(1, 1, (unsigned)block_z + 1)},
        {"grid, x", grid_x + 1, grid_x, dim3((unsigned)grid_x + 1), 1},
        {"grid, y", grid_y + 1, grid_y, dim3(1, (unsigned)grid_y + 1), 1},
        {"grid, z", grid_z + 1, grid_z, dim3(1, 1, (unsigned)grid_z + 1), 1},
        {"dynamic shared memory, bytes", shared + 4, shared, 1, 32, (size_t)shared + 4},
        {"registers a block", threads * registers_of((const void *)greedy), registers, 1,
         dim3((unsigned)threads), 0, true},
    };
    const struct attempt fine = {"none", 1, threads, 1, 1};
    bool refused = true;
    float *d_c;

    CHECK_CUDA(cudaMalloc(&d_c, KEPT * sizeof(float)));
    CHECK_CUDA(cudaMemset(d_c, 0, KEPT * sizeof(float)));
    printf("%-33s %11s %11s  %s\n", "limit broken", "asked for", "allowed", "CUDA says");
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        refused &= is_refused(&attempts[i], d_c);
    refused &= !is_refused(&fine, d_c);
    printf(
        "\nA launch that is refused runs nothing, and only cudaGetLastError() says so; the next\n"
        "launch is not affected.\n");
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaFree(d_c));
    if (!refused)
        complain("limits: a launch beyond a limit was accepted, or one within them was not");
    return refused ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- occupancy

struct occupant {
    const char *name;
    const void *kernel;
    int threads, dynamic;
};

// One row: blocks on a multiprocessor by hand, by the rules of allocation, and as CUDA says.
static bool fits_as_worked_out(const struct run *run, const struct occupant *occupant)
{
    const int registers = registers_of(occupant->kernel);
    const struct residency hand =
        work_out_residency(run->device.capability, occupant->threads, registers, occupant->dynamic);
    const int warps = (occupant->threads + WARP - 1) / WARP; // of a block, whole ones
    char shared[16] = "-";
    int blocks;

    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, occupant->kernel, occupant->threads, (size_t)occupant->dynamic));
    if (hand.by_shared >= 0)
        snprintf(shared, sizeof shared, "%d", hand.by_shared);
    printf("%-8s %7d %5d %7.1f  %7d %6d %9d %6s  %8d %7d %5d %8.1f %%\n", occupant->name,
           occupant->threads, registers, occupant->dynamic / 1024.0, hand.by_threads,
           hand.by_blocks, hand.by_registers, shared, hand.plain, hand.with_units, blocks,
           100.0 * blocks * warps * WARP / run->device.max_threads_per_sm);
    return blocks == hand.with_units;
}

static enum exit_code run_occupancy(const struct run *run)
{
    const struct occupant occupants[] = {
        {"add", (const void *)add, 32, 0},
        {"add", (const void *)add, 256, 0},
        {"add", (const void *)add, 200, 0},
        {"greedy", (const void *)greedy, 96, 0},
        {"greedy", (const void *)greedy, 128, 0},
        {"greedy", (const void *)greedy, 160, 0},
        {"greedy", (const void *)greedy, 1024, 0},
        {"reverse", (const void *)reverse, 256, 10 * 1024},
        {"reverse", (const void *)reverse, 256, 32 * 1024},
        {"reverse", (const void *)reverse, 256, 48 * 1024},
    };
    bool right = true;

    printf("%30s  %7s limits on blocks by %7s  %30s\n", "", "", "", "blocks an SM");
    printf("%-8s %7s %5s %7s  %7s %6s %9s %6s  %8s %7s %5s %10s\n", "kernel", "threads", "regs",
           "KiB", "threads", "blocks", "registers", "shared", "quotient", "units", "CUDA",
           "occupancy");
    for (size_t i = 0; i < sizeof occupants / sizeof *occupants; i++)
        right &= fits_as_worked_out(run, &occupants[i]);
    printf(
        "\nThe smallest limit decides. Where CUDA has less than the quotient, the reason is that\n"
        "warps and registers are given out whole: registers in units of 256 a warp, and to each\n"
        "quarter of an SM apart.\n");
    if (!right)
        complain(
            "occupancy: CUDA's answer is not what the units give: this device has other rules");
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- divergence

enum {
    DIVERGED_THREADS = 1024, // of a block: 32 warps, as many as there are paths at most
};

struct divergence {
    float *d_out;
    int paths, rounds;
    bool by_warp;
    unsigned blocks;
};

static void start_diverge(const void *what)
{
    const struct divergence *d = (const struct divergence *)what;

    diverge<<<d->blocks, DIVERGED_THREADS>>>(d->d_out, d->paths, d->by_warp, d->rounds);
    CHECK_CUDA(cudaGetLastError());
}

// Each thread's result is that of its path, whoever else was on it.
static bool results_are_right(const struct divergence *d, float *h_out)
{
    CHECK_CUDA(
        cudaMemcpy(h_out, d->d_out, DIVERGED_THREADS * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < DIVERGED_THREADS; i++) {
        const int path = (d->by_warp ? i / WARP : i % WARP) % d->paths;
        float x = 0;

        for (int r = 0; r < d->rounds; r++)
            x = fmaf(0.5F, x, (float)path);
        if (h_out[i] != x) {
            complain("divergence: thread %d has %g, wanted %g", i, h_out[i], x);
            return false;
        }
    }
    return true;
}

// One row. Returns how long it took; *right becomes false where the result is wrong.
static double go_paths(const struct divergence *d, double one_path, float *h_out, bool *right)
{
    const int paths_of_warp = d->by_warp ? 1 : d->paths;
    double milliseconds;

    begin_counting();
    milliseconds = time_work(start_diverge, d);
    end_counting();
    printf("%-9s %6d %12d %13.1f %%", d->by_warp ? "warp" : "lane", d->paths, paths_of_warp,
           100.0 * (paths_of_warp - 1) / paths_of_warp);
    if (emulated())
        printf(" %10.1f %%", counted().idle_percent);
    else
        printf(" %12s", "not counted");
    print_measured(13, 3, milliseconds);
    print_measured(16, 2, milliseconds / (isnan(one_path) ? milliseconds : one_path));
    putchar('\n');
    *right &= results_are_right(d, h_out);
    return milliseconds;
}

static enum exit_code run_divergence(const struct run *run)
{
    const unsigned blocks = emulated() ? 1 : (unsigned)run->device.sms;
    struct divergence d = {NULL, 1, emulated() ? 64 : 8192, false, blocks};
    float *h_out = (float *)host_memory(DIVERGED_THREADS * sizeof(float));
    double one_path = NAN;
    bool right = true;

    CHECK_CUDA(cudaMalloc(&d.d_out, (size_t)blocks * DIVERGED_THREADS * sizeof(float)));
    printf("%-9s %6s %12s %15s %12s %13s %16s\n", "path by", "paths", "of each warp", "lanes idle",
           "counted", "median ms", "of one path's");
    for (d.paths = 1; d.paths <= WARP; d.paths *= 2) {
        const double milliseconds = go_paths(&d, one_path, h_out, &right);

        if (d.paths == 1)
            one_path = milliseconds;
    }
    d.by_warp = true;
    for (d.paths = 2; d.paths <= WARP; d.paths *= 4)
        go_paths(&d, one_path, h_out, &right);
    printf("\nA warp goes all paths that its lanes take, one after the other; paths of different\n"
           "warps cost no more than the tests between them.\n");
    CHECK_CUDA(cudaFree(d.d_out));
    free(h_out);
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- shared

// Whether `out`, on the device, holds count - 1, count - 2, ..., 0.
static bool is_reversed(const float *d_out, int count)
{
    float *h_out = (float *)host_memory((size_t)count * sizeof(float));
    bool right = true;

    CHECK_CUDA(cudaMemcpy(h_out, d_out, (size_t)count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        right &= h_out[i] == (float)(count - 1 - i);
    free(h_out);
    return right;
}

static bool print_shared(const char *how, int bytes, cudaError_t error, const float *d_out)
{
    const bool right = error != cudaSuccess || is_reversed(d_out, bytes / (int)sizeof(float));

    printf("%-44s %9d  %-24s %s\n", how, bytes, cudaGetErrorName(error),
           error != cudaSuccess ? "did not run"
           : right              ? "right"
                                : "WRONG");
    if (!right)
        complain("shared: a block of %d bytes gave a wrong result", bytes);
    return right;
}

// [opt_in]
// Allows the kernel so many bytes of dynamic shared memory.
static cudaError_t opt_in(int bytes)
{
    const cudaError_t error =
        cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

    (void)cudaGetLastError(); // the caller has it: the next launch is not to blame
    return error;
}

static bool reverse_with(const char *how, int bytes, float *d_out, bool runs)
{
    cudaError_t error;

    CHECK_CUDA(cudaMemset(d_out, 0xff, (size_t)bytes));
    reverse<<<1, THREADS, (size_t)bytes>>>(d_out, bytes / (int)sizeof(float));
    error = cudaGetLastError();
    return print_shared(how, bytes, error, d_out) && (error == cudaSuccess) == runs;
}
// [/opt_in]

static enum exit_code run_shared(const struct run *run)
{
    const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const int more = STATIC_SHARED + 4;
    float *d_out;
    bool right;

    if (most <= STATIC_SHARED)
        fail(EXIT_SKIPPED, "shared: %s has no more than 48 KiB a block", run->device.name);
    CHECK_CUDA(cudaMalloc(&d_out, (size_t)most));
    CHECK_CUDA(cudaMemset(d_out, 0xff, (size_t)most));
    printf("%-44s %9s  %-24s %s\n", "shared memory of a block", "bytes", "CUDA says", "result");
    reverse_static<<<1, THREADS>>>(d_out);
    right = print_shared("static", STATIC_SHARED, cudaGetLastError(), d_out);
    right &= reverse_with("dynamic", STATIC_SHARED, d_out, true);
    right &= reverse_with("dynamic, one float more", more, d_out, false);
    CHECK_CUDA(opt_in(most));
    right &= reverse_with("the same after cudaFuncSetAttribute", more, d_out, true);
    right &= reverse_with("as much as this device gives", most, d_out, true);
    right &= print_shared("cudaFuncSetAttribute with 1 KiB more", most + 1024, opt_in(most + 1024),
                          d_out);
    printf("\nBeyond 48 KiB a kernel has to ask, before its launch, up to what the device has.\n");
    CHECK_CUDA(cudaFree(d_out));
    if (!right)
        complain("shared: not what was expected");
    return right ? EXIT_VERIFIED : EXIT_WRONG;
}

// ---------------------------------------------------------------------------- roofline

struct arithmetic {
    float *d_out;
    unsigned blocks;
    int rounds;
};

static void start_arithmetic(const void *what)
{
    const struct arithmetic *work = (const struct arithmetic *)what;

    multiply_adds<<<work->blocks, THREADS>>>(work->d_out, 0.5F, work->rounds);
    CHECK_CUDA(cudaGetLastError());
}

// GFLOP/s of multiply-adds in registers.
static double measure_peak(const struct run *run)
{
    struct arithmetic work = {NULL, emulated() ? 1 : 8 * (unsigned)run->device.sms,
                              emulated() ? 4 : 1 << 15};
    const double threads = (double)work.blocks * THREADS;
    double milliseconds;

    CHECK_CUDA(cudaMalloc(&work.d_out, (size_t)work.blocks * THREADS * sizeof(float)));
    milliseconds = time_work(start_arithmetic, &work);
    CHECK_CUDA(cudaFree(work.d_out));
    return 2.0 * CHAINS * work.rounds * threads / milliseconds / 1e6;
}

// GB/s of vector add, with 8 blocks an SM.
static double measure_bandwidth(const struct run *run)
{
    const size_t bytes = (size_t)run->elements * sizeof(float);
    float *d_a, *d_b, *d_c;
    double milliseconds;

    CHECK_CUDA(cudaMalloc(&d_a, bytes));
    CHECK_CUDA(cudaMalloc(&d_b, bytes));
    CHECK_CUDA(cudaMalloc(&d_c, bytes));
    CHECK_CUDA(cudaMemset(d_a, 0, bytes));
    CHECK_CUDA(cudaMemset(d_b, 0, bytes));
    const struct addition sum = {d_a, d_b, d_c, run->elements, 8 * (unsigned)run->device.sms};
    milliseconds = time_work(start_add, &sum);
    CHECK_CUDA(cudaFree(d_a));
    CHECK_CUDA(cudaFree(d_b));
    CHECK_CUDA(cudaFree(d_c));
    return 3.0 * (double)bytes / milliseconds / 1e6;
}

// [roof]
// FLOP a byte of an m x n tile: k terms are 2 * m * n * k operations on k * (m + n) floats.
static double intensity(int m, int n)
{
    return 2.0 * m * n / (sizeof(float) * (m + n));
}

static void print_roof(const char *kernel, double flop_per_byte, double peak, double bandwidth)
{
    const double by_memory = flop_per_byte * bandwidth;

    printf("%-36s %10.3f", kernel, flop_per_byte);
    print_measured(16, 0, by_memory < peak || isnan(peak) ? by_memory : peak);
    printf("  %s\n", isnan(peak) ? "not measured" : by_memory < peak ? "memory" : "arithmetic");
}
// [/roof]

static enum exit_code run_roofline(const struct run *run)
{
    const double peak = measure_peak(run);
    const double bandwidth = measure_bandwidth(run);

    printf("%-36s", "peak, multiply-adds in registers");
    print_measured(16, 0, peak);
    printf(" GFLOP/s\n%-36s", "bandwidth, vector add");
    print_measured(16, 0, bandwidth);
    printf(" GB/s\n%-36s", "ridge point");
    print_measured(16, 2, peak / bandwidth);
    printf(" FLOP/byte\n\n%-36s %10s %16s  %s\n", "kernel", "FLOP/byte", "GFLOP/s at most",
           "limited by");
    print_roof("vector add", 1 / 12.0, peak, bandwidth);
    print_roof("01: no tile", intensity(1, 1), peak, bandwidth);
    print_roof("02 to 08: tile of 128x128", intensity(128, 128), peak, bandwidth);
    print_roof("09: tile of 128x256", intensity(128, 256), peak, bandwidth);
    printf("\nLeft of the ridge point memory is the limit, right of it arithmetic. The bytes are\n"
           "those that blocks ask for: where caches answer, as in step 01, memory moves fewer.\n");
    return EXIT_VERIFIED;
}

// ---------------------------------------------------------------------------- the program

static const struct experiment experiments[] = {
    {"add", "from host to device and back, every error checked; bandwidth", 1 << 26, 1 << 16,
     run_add},
    {"stride", "what it costs when lanes read far apart: sectors and bus efficiency", 1 << 29,
     1 << 16, run_stride},
    {"copy", "copies between host and device: pageable, pinned, beside a kernel", 0, 0, run_copy},
    {"limits", "each limit of a launch, broken on purpose, and what CUDA says", 0, 0, run_limits},
    {"occupancy", "how many blocks fit on a multiprocessor, by hand and by CUDA's answer", 0, 0,
     run_occupancy},
    {"divergence", "lanes of one warp on different paths", 0, 0, run_divergence},
    {"shared", "more than 48 KiB of shared memory", 0, 0, run_shared},
    {"roofline", "what limits vector add, and what limits each SGEMM step", 1 << 26, 1 << 16,
     run_roofline},
    {NULL, NULL, 0, 0, NULL},
};

int main(int argc, char **argv)
{
    return run_experiments(experiments, argc, argv);
}
