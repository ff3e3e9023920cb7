// What the CUDA runtime returns, one line a case: right calls, wrong ones, and what is left after a
// kernel that failed. The output is the same on a GPU and on the emulator: tests/emulator_api.t
// compares. Each group runs in a process of its own, because after some errors nothing works. Calls
// that end a program on a GPU are not here. mistakes.cu has some of them: with a stream or an event
// that is destroyed, and of a kernel that is none.
//
// On a GPU: nvcc -arch=native -o errors tests/emulator/programs/errors.cu && ./errors
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MANY_FLOATS = 120, // as many registers, and 1024 threads cannot have those
    STATIC_BYTES = 16384,
    DYNAMIC_LIMIT = 49152,
};

__device__ int variable[4];
__constant__ int constant[4];

static __global__ void nothing(void)
{
}

static __global__ void write_at(int *address)
{
    *address = 1;
}

static __global__ void write_shared(unsigned offset)
{
    extern __shared__ int words[];
    words[offset + threadIdx.x] = 1;
}

static __global__ void with_shared(int *out)
{
    __shared__ int words[STATIC_BYTES / 4];
    words[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (out != NULL)
        out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

static __global__ __launch_bounds__(128) void bounded(int *out)
{
    if (out != NULL)
        out[threadIdx.x] = 1;
}

static __global__ void many_registers(volatile float *data)
{
    float values[MANY_FLOATS];
    if (data == NULL)
        return;
#pragma unroll
    for (int i = 0; i < MANY_FLOATS; i++)
        values[i] = data[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MANY_FLOATS; i++)
        data[i] = values[MANY_FLOATS - 1 - i];
}

static __global__ void stop(int how)
{
    assert(how != 1);
    if (how == 2)
        __trap();
}

static const char *name_of(cudaError_t error)
{
    return cudaGetErrorName(error);
}

// What a call returned, and what it left for cudaGetLastError.
static void line(const char *what, cudaError_t error)
{
    printf("%-58s %s", what, name_of(error));
    const cudaError_t last = cudaGetLastError();
    if (last != error)
        printf(", then %s", name_of(last));
    putchar('\n');
}

// What a launch has left for cudaGetLastError.
static void launched(const char *what)
{
    printf("%-58s %s\n", what, name_of(cudaGetLastError()));
}

// The same three times: looked at, taken, and taken again.
static void last_errors(const char *what)
{
    const cudaError_t peeked = cudaPeekAtLastError();
    const cudaError_t taken = cudaGetLastError();
    const cudaError_t taken_again = cudaGetLastError();
    printf("%-58s %s, %s, %s\n", what, name_of(peeked), name_of(taken), name_of(taken_again));
}

static void number(const char *what, long long value)
{
    printf("%-58s %lld\n", what, value);
}

// Launches ---------------------------------------------------------------------------------------

static void shape(const char *what, dim3 grid, dim3 block)
{
    nothing<<<grid, block>>>();
    launched(what);
}

static void launches(void)
{
    shape("launch <<<1, 1024>>>", 1, 1024);
    shape("launch <<<1, 1025>>>", 1, 1025);
    shape("launch <<<1, (32,33)>>>", 1, dim3(32, 33));
    shape("launch <<<1, (1,1,64)>>>", 1, dim3(1, 1, 64));
    shape("launch <<<1, (1,1,65)>>>", 1, dim3(1, 1, 65));
    shape("launch <<<1, 0>>>", 1, 0);
    shape("launch <<<0, 1>>>", 0, 1);
    shape("launch <<<(1,0), 1>>>", dim3(1, 0), 1);
    shape("launch <<<(1,65535), 1>>>", dim3(1, 65535), 1);
    shape("launch <<<(1,65536), 1>>>", dim3(1, 65536), 1);
    shape("launch <<<(1,1,65536), 1>>>", dim3(1, 1, 65536), 1);
    shape("launch <<<2^31, 1>>>", 1u << 31, 1);
    line("synchronize", cudaDeviceSynchronize());

    write_shared<<<1, 1, DYNAMIC_LIMIT>>>(0);
    launched("launch with 48 KiB of dynamic shared memory");
    write_shared<<<1, 1, DYNAMIC_LIMIT + 1>>>(0);
    launched("launch with a byte more");
    write_shared<<<1, 1, 1 << 20>>>(0);
    launched("launch with 1 MiB");
    with_shared<<<1, 1, DYNAMIC_LIMIT - STATIC_BYTES>>>(NULL);
    launched("launch with 16 KiB static and 32 KiB dynamic");
    with_shared<<<1, 1, DYNAMIC_LIMIT - STATIC_BYTES + 1>>>(NULL);
    launched("launch with a byte more");

    bounded<<<1, 128>>>(NULL);
    launched("launch at its launch bounds");
    bounded<<<1, 129>>>(NULL);
    launched("launch above its launch bounds");
    many_registers<<<1, 256>>>(NULL);
    launched("launch of many registers, 256 threads");
    many_registers<<<1, 1024>>>(NULL);
    launched("launch of many registers, 1024 threads");
    bounded<<<1, 1025>>>(NULL);
    launched("launch of 1025 threads above its launch bounds");
    write_shared<<<1, 1025, 1 << 20>>>(0);
    launched("launch of 1025 threads with 1 MiB");
    line("synchronize", cudaDeviceSynchronize());

    nothing<<<1, 1025>>>();
    last_errors("peek, get, get after a wrong launch");
    nothing<<<1, 1025>>>();
    nothing<<<1, 1>>>();
    launched("last error after a wrong and a right launch");
    nothing<<<1, 1025>>>();
    cudaFree(NULL);
    launched("last error after a wrong launch and a right call");
}

static void launch_calls(void)
{
    int *none = NULL;
    void *arguments[] = {&none};
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;

    line("cudaLaunchKernel", cudaLaunchKernel((const void *)bounded, 1, 1, arguments, 0, NULL));
    memset(&config, 0, sizeof config);
    memset(&attribute, 0, sizeof attribute);
    config.gridDim = 1;
    config.blockDim = 32;
    line("cudaLaunchKernelExC", cudaLaunchKernelExC(&config, (const void *)bounded, arguments));
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    line("cudaLaunchKernelExC, clusters of one block",
         cudaLaunchKernelExC(&config, (const void *)bounded, arguments));
    config.blockDim = 1025;
    line("cudaLaunchKernelExC, 1025 threads",
         cudaLaunchKernelExC(&config, (const void *)bounded, arguments));
    line("cudaLaunchCooperativeKernel",
         cudaLaunchCooperativeKernel((const void *)bounded, 1, 1, arguments, 0, NULL));
    line("cudaLaunchCooperativeKernel of 65536 blocks",
         cudaLaunchCooperativeKernel((const void *)bounded, 65536, 1, arguments, 0, NULL));
    line("cudaLaunchCooperativeKernel of 1025 threads",
         cudaLaunchCooperativeKernel((const void *)bounded, 1, 1025, arguments, 0, NULL));
    line("synchronize", cudaDeviceSynchronize());
}

static void launch_of_null(void)
{
    void *arguments[] = {NULL};
    line("cudaLaunchKernel of NULL", cudaLaunchKernel(NULL, 1, 1, arguments, 0, NULL));
}

// Functions --------------------------------------------------------------------------------------

static void attributes_of(const char *what, const void *kernel)
{
    struct cudaFuncAttributes attributes;
    char text[64];
    line(what, cudaFuncGetAttributes(&attributes, kernel));
    snprintf(text, sizeof text, "  static, dynamic shared memory, threads, carveout");
    printf("%-58s %zu, %d, %d, %d\n", text, attributes.sharedSizeBytes,
           attributes.maxDynamicSharedSizeBytes, attributes.maxThreadsPerBlock,
           attributes.preferredShmemCarveout);
}

static void occupancy(const char *what, const void *kernel, int threads, size_t dynamic)
{
    int blocks = -1;
    line(what, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic));
    number("  blocks", blocks);
}

static void functions(void)
{
    const void *const kernel = (const void *)with_shared;
    struct cudaFuncAttributes attributes;
    int most, host;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);

    attributes_of("attributes of a kernel without shared memory", (const void *)nothing);
    attributes_of("attributes of a kernel with launch bounds", (const void *)bounded);
    attributes_of("attributes of a kernel of many registers", (const void *)many_registers);
    attributes_of("attributes of a kernel with 16 KiB", kernel);
    line("attributes of a host variable", cudaFuncGetAttributes(&attributes, &host));
    line("attributes of NULL", cudaFuncGetAttributes(&attributes, NULL));
    line("attributes into NULL", cudaFuncGetAttributes(NULL, kernel));

    const cudaFuncAttribute dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
    line("opt in to all but the 16 KiB",
         cudaFuncSetAttribute(kernel, dynamic, most - STATIC_BYTES));
    attributes_of("attributes then", kernel);
    line("opt in to a byte more", cudaFuncSetAttribute(kernel, dynamic, most - STATIC_BYTES + 1));
    line("opt in to less than nothing", cudaFuncSetAttribute(kernel, dynamic, -1));
    line("opt in of a host variable", cudaFuncSetAttribute(&host, dynamic, 1024));
    with_shared<<<1, 1, most - STATIC_BYTES>>>(NULL);
    launched("launch with all of it");
    with_shared<<<1, 1, most - STATIC_BYTES + 1>>>(NULL);
    launched("launch with a byte more");
    occupancy("occupancy with all of it", kernel, 32, most - STATIC_BYTES);
    occupancy("occupancy with a byte more", kernel, 32, most - STATIC_BYTES + 1);
    line("opt in to 1 KiB", cudaFuncSetAttribute(kernel, dynamic, 1024));
    with_shared<<<1, 1, 1025>>>(NULL);
    launched("launch with 1 KiB and a byte");

    line("carveout of 50 percent",
         cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    attributes_of("attributes then", kernel);
    line("carveout of 101 percent",
         cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    line("carveout of -2 percent",
         cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, -2));
    line("unknown attribute", cudaFuncSetAttribute(kernel, (cudaFuncAttribute)77, 1));
    line("cache config", cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferL1));
    line("unknown cache config", cudaFuncSetCacheConfig(kernel, (cudaFuncCache)77));
    line("synchronize", cudaDeviceSynchronize());
}

static void occupancies(void)
{
    const void *const kernel = (const void *)nothing;
    int blocks;
    size_t bytes = 0;

    occupancy("occupancy of 32 threads", kernel, 32, 0);
    occupancy("occupancy of 33 threads", kernel, 33, 0);
    occupancy("occupancy of 256 threads", kernel, 256, 0);
    occupancy("occupancy of 672 threads", kernel, 672, 0);
    occupancy("occupancy of 1024 threads", kernel, 1024, 0);
    occupancy("occupancy of 1025 threads", kernel, 1025, 0);
    occupancy("occupancy with 48 KiB", kernel, 32, DYNAMIC_LIMIT);
    occupancy("occupancy with a byte more", kernel, 32, DYNAMIC_LIMIT + 1);
    occupancy("occupancy of 16 KiB static", (const void *)with_shared, 32, 0);
    occupancy("occupancy above launch bounds", (const void *)bounded, 256, 0);
    line("occupancy of 0 threads",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0));
    line("occupancy of -1 threads",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, -1, 0));
    line("occupancy into NULL", cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel, 32, 0));
    line("occupancy of a host variable",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &blocks, 32, 0));
    line("shared memory for 4 blocks of 256 threads",
         cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 4, 256));
    number("  bytes", (long long)bytes);
    line("shared memory for 2 blocks of 1024 threads",
         cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, (const void *)with_shared, 2, 1024));
    number("  bytes", (long long)bytes);
    line("shared memory for 8 blocks of 1024 threads",
         cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 8, 1024));
    number("  bytes", (long long)bytes);
}

// Memory -----------------------------------------------------------------------------------------

static void allocations(void)
{
    void *device = NULL, *pinned = NULL, *managed = NULL, *none = (void *)1;
    size_t pitch = 0;
    unsigned flags = 0;
    int on_stack;
    void *const heap = malloc(8192);

    line("cudaMalloc", cudaMalloc(&device, 1000));
    line("cudaMalloc of 0 bytes", cudaMalloc(&none, 0));
    number("  gives NULL", none == NULL);
    line("cudaMalloc of 2^50 bytes", cudaMalloc(&none, (size_t)1 << 50));
    line("cudaMalloc into NULL", cudaMalloc((void **)NULL, 4));
    line("cudaFree of NULL", cudaFree(NULL));
    line("cudaFree of the middle", cudaFree((char *)device + 256));
    line("cudaFree of the stack", cudaFree(&on_stack));
    line("cudaFree of the heap", cudaFree(heap));
    line("cudaFreeHost of device memory", cudaFreeHost(device));
    line("cudaFree", cudaFree(device));
    line("cudaFree again", cudaFree(device));
    line("cudaMallocManaged of 0 bytes", cudaMallocManaged(&managed, 0));
    line("cudaMallocManaged with flags 0", cudaMallocManaged(&managed, 4, 0));
    line("cudaMallocManaged with flags 77", cudaMallocManaged(&managed, 4, 77));
    line("cudaMallocManaged", cudaMallocManaged(&managed, 1000));
    line("cudaFree of managed memory", cudaFree(managed));
    line("cudaMallocHost of 0 bytes", cudaMallocHost(&pinned, 0));
    line("cudaMallocHost", cudaMallocHost(&pinned, 1000));
    line("cudaHostGetFlags", cudaHostGetFlags(&flags, pinned));
    number("  flags", flags);
    line("cudaHostGetFlags of the heap", cudaHostGetFlags(&flags, heap));
    line("cudaHostGetDevicePointer", cudaHostGetDevicePointer(&none, pinned, 0));
    number("  is the host's", none == pinned);
    line("cudaHostGetDevicePointer with flags 1", cudaHostGetDevicePointer(&none, pinned, 1));
    line("cudaHostGetDevicePointer of the heap", cudaHostGetDevicePointer(&none, heap, 0));
    line("cudaFree of pinned memory", cudaFree(pinned));
    line("cudaFreeHost of the heap", cudaFreeHost(heap));
    line("cudaFreeHost", cudaFreeHost(pinned));
    line("cudaFreeHost of NULL", cudaFreeHost(NULL));
    line("cudaHostAlloc with flags 77", cudaHostAlloc(&pinned, 4, 77));
    line("cudaHostRegister", cudaHostRegister(heap, 8192, 0));
    line("cudaHostRegister again", cudaHostRegister(heap, 8192, 0));
    line("cudaHostRegister of NULL", cudaHostRegister(NULL, 8192, 0));
    line("cudaHostRegister of 0 bytes", cudaHostRegister(heap, 0, 0));
    line("cudaHostUnregister of the middle", cudaHostUnregister((char *)heap + 16));
    line("cudaHostUnregister", cudaHostUnregister(heap));
    line("cudaHostUnregister again", cudaHostUnregister(heap));
    line("cudaMallocPitch of 100 x 7", cudaMallocPitch(&device, &pitch, 100, 7));
    number("  pitch", (long long)pitch);
    cudaFree(device);
    line("cudaMallocPitch of 513 x 7", cudaMallocPitch(&device, &pitch, 513, 7));
    number("  pitch", (long long)pitch);
    line("cudaFree", cudaFree(device));
    line("cudaMallocAsync", cudaMallocAsync(&device, 1000, (cudaStream_t)NULL));
    line("cudaFreeAsync", cudaFreeAsync(device, NULL));
    line("cudaFreeAsync of NULL", cudaFreeAsync(NULL, NULL));
    line("cudaMallocAsync of 0 bytes", cudaMallocAsync(&device, 0, (cudaStream_t)NULL));
    line("cudaMemGetInfo into NULL", cudaMemGetInfo(NULL, NULL));
    line("cudaDeviceSynchronize", cudaDeviceSynchronize());
    free(heap);
}

static void copies(void)
{
    static char host[8192];
    char *device, *other, *managed;
    cudaMalloc((void **)&device, 4096);
    cudaMalloc((void **)&other, 4096);
    cudaMallocManaged((void **)&managed, 4096);

    line("copy to the device", cudaMemcpy(device, host, 4096, cudaMemcpyHostToDevice));
    line("copy of 0 bytes from NULL", cudaMemcpy(device, NULL, 0, cudaMemcpyHostToDevice));
    line("copy from NULL", cudaMemcpy(device, NULL, 16, cudaMemcpyHostToDevice));
    line("copy to NULL", cudaMemcpy(NULL, host, 16, cudaMemcpyHostToDevice));
    line("copy to past the end",
         cudaMemcpy(device + 8, host, (size_t)1 << 40, cudaMemcpyHostToDevice));
    line("copy host to device, to the host",
         cudaMemcpy(host, host + 64, 16, cudaMemcpyHostToDevice));
    line("copy host to device, from the device",
         cudaMemcpy(device, other, 16, cudaMemcpyHostToDevice));
    line("copy device to host, to the device",
         cudaMemcpy(device, other, 16, cudaMemcpyDeviceToHost));
    line("copy device to host, from the host",
         cudaMemcpy(host + 64, host, 16, cudaMemcpyDeviceToHost));
    line("copy device to device, from the host",
         cudaMemcpy(device, host, 16, cudaMemcpyDeviceToDevice));
    line("copy host to host, from the device", cudaMemcpy(host, device, 16, cudaMemcpyHostToHost));
    line("copy host to host", cudaMemcpy(host, host + 64, 16, cudaMemcpyHostToHost));
    line("copy of kind default to the device", cudaMemcpy(device, host, 16, cudaMemcpyDefault));
    line("copy of kind default on the host", cudaMemcpy(host, host + 64, 16, cudaMemcpyDefault));
    line("copy of kind 77", cudaMemcpy(device, host, 16, (cudaMemcpyKind)77));
    line("copy of 0 bytes of kind 77", cudaMemcpy(device, host, 0, (cudaMemcpyKind)77));
    line("copy host to device, to managed memory",
         cudaMemcpy(managed, host, 16, cudaMemcpyHostToDevice));
    line("copy device to host, to managed memory",
         cudaMemcpy(managed, device, 16, cudaMemcpyDeviceToHost));
    line("copy device to device, to managed memory",
         cudaMemcpy(managed, device, 16, cudaMemcpyDeviceToDevice));
    line("copy host to host, from managed memory",
         cudaMemcpy(host, managed, 16, cudaMemcpyHostToHost));
    line("copy asynchronously", cudaMemcpyAsync(device, host, 16, cudaMemcpyHostToDevice, NULL));
    line("fill", cudaMemset(device, 1, 4096));
    line("fill of the host's memory", cudaMemset(host, 1, 16));
    line("fill of NULL", cudaMemset(NULL, 1, 16));
    line("fill of 0 bytes of NULL", cudaMemset(NULL, 1, 0));
    line("fill past the end", cudaMemset(device, 1, (size_t)1 << 40));
    line("copy 2D", cudaMemcpy2D(device, 512, host, 100, 100, 8, cudaMemcpyHostToDevice));
    line("copy 2D wider than the target's pitch",
         cudaMemcpy2D(device, 64, host, 100, 100, 8, cudaMemcpyHostToDevice));
    line("copy 2D wider than the source's pitch",
         cudaMemcpy2D(device, 512, host, 64, 100, 8, cudaMemcpyHostToDevice));
    line("copy 2D of no rows",
         cudaMemcpy2D(device, 512, host, 100, 100, 0, cudaMemcpyHostToDevice));
    line("copy 2D past the end",
         cudaMemcpy2D(device, 512, host, 100, 100, (size_t)1 << 30, cudaMemcpyHostToDevice));
    line("fill 2D", cudaMemset2D(device, 512, 1, 100, 8));
    line("fill 2D wider than the pitch", cudaMemset2D(device, 64, 1, 100, 8));
    line("synchronize", cudaDeviceSynchronize());
}

static void symbols(void)
{
    int host[4] = {1, 2, 3, 4};
    void *address;
    size_t size = 0;
    line("copy to a variable", cudaMemcpyToSymbol(variable, host, sizeof host));
    line("copy to a constant", cudaMemcpyToSymbol(constant, host, sizeof host));
    line("copy to its second half", cudaMemcpyToSymbol(variable, host, 8, 8));
    line("copy past its end", cudaMemcpyToSymbol(variable, host, sizeof host, 4));
    line("copy to it, device to host",
         cudaMemcpyToSymbol(variable, host, 4, 0, cudaMemcpyDeviceToHost));
    line("copy to a host variable", cudaMemcpyToSymbol(host, host, 4));
    line("copy from a variable", cudaMemcpyFromSymbol(host, variable, sizeof host));
    line("copy from it, host to device",
         cudaMemcpyFromSymbol(host, variable, 4, 0, cudaMemcpyHostToDevice));
    line("size of a variable", cudaGetSymbolSize(&size, variable));
    number("  size", (long long)size);
    line("address of a variable", cudaGetSymbolAddress(&address, variable));
    line("address of a host variable", cudaGetSymbolAddress(&address, host));
    line("copy to its address", cudaMemcpy(address, host, sizeof host, cudaMemcpyHostToDevice));
    line("free of its address", cudaFree(address));
}

static void kind_of(const char *what, const void *pointer)
{
    struct cudaPointerAttributes attributes;
    memset(&attributes, 0, sizeof attributes);
    line(what, cudaPointerGetAttributes(&attributes, pointer));
    printf("%-58s %d, %d, %d, %d\n", "  type, device, device and host pointer",
           (int)attributes.type, attributes.device, attributes.devicePointer == pointer,
           attributes.hostPointer == pointer);
}

static void pointers(void)
{
    char *device, *managed, *pinned;
    int on_stack;
    cudaMalloc((void **)&device, 1000);
    cudaMallocManaged((void **)&managed, 1000);
    cudaMallocHost((void **)&pinned, 1000);
    kind_of("pointer to device memory", device + 10);
    kind_of("pointer to managed memory", managed + 10);
    kind_of("pointer to pinned memory", pinned + 10);
    kind_of("pointer to the stack", &on_stack);
    kind_of("pointer NULL", NULL);
    line("attributes into NULL", cudaPointerGetAttributes(NULL, device));
    cudaFree(device);
    cudaFree(managed);
    cudaFreeHost(pinned);
    kind_of("pointer to freed memory", device);
}

// Streams and events -----------------------------------------------------------------------------

static void streams(void)
{
    cudaStream_t stream = NULL;
    cudaEvent_t event;
    unsigned flags = 77;
    int priority = 77, least = 77, greatest = 77;
    cudaEventCreate(&event);

    line("cudaStreamCreate", cudaStreamCreate(&stream));
    line("flags of it", cudaStreamGetFlags(stream, &flags));
    number("  flags", flags);
    line("cudaStreamCreate into NULL", cudaStreamCreate(NULL));
    line("wait for it", cudaStreamSynchronize(stream));
    line("ask it", cudaStreamQuery(stream));
    line("ask the default stream", cudaStreamQuery(NULL));
    line("let it wait for an event that was never recorded", cudaStreamWaitEvent(stream, event, 0));
    line("let it wait for NULL", cudaStreamWaitEvent(stream, NULL, 0));
    line("let it wait with flags 77", cudaStreamWaitEvent(stream, event, 77));
    line("cudaStreamDestroy", cudaStreamDestroy(stream));
    line("cudaStreamDestroy of the default stream", cudaStreamDestroy(NULL));
    line("create with flags 77", cudaStreamCreateWithFlags(&stream, 77));
    line("range of priorities", cudaDeviceGetStreamPriorityRange(&least, &greatest));
    printf("%-58s %d, %d\n", "  least, greatest", least, greatest);
    line("create with priority -100",
         cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
    line("priority of it", cudaStreamGetPriority(stream, &priority));
    number("  priority", priority);
    line("flags of it", cudaStreamGetFlags(stream, &flags));
    number("  flags", flags);
    line("priority into NULL", cudaStreamGetPriority(stream, NULL));
    line("host function NULL", cudaLaunchHostFunc(stream, NULL, NULL));
}

static void events(void)
{
    cudaEvent_t start, end, untimed;
    float milliseconds = 0;
    line("cudaEventCreate", cudaEventCreate(&start));
    line("cudaEventCreate", cudaEventCreate(&end));
    line("create without times", cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    line("create with flags 77", cudaEventCreateWithFlags(&end, 77));
    line("create into NULL", cudaEventCreate((cudaEvent_t *)NULL));
    line("ask one that was never recorded", cudaEventQuery(start));
    line("wait for it", cudaEventSynchronize(start));
    line("time between two never recorded", cudaEventElapsedTime(&milliseconds, start, end));
    line("record", cudaEventRecord(start));
    line("time from one to one never recorded", cudaEventElapsedTime(&milliseconds, start, end));
    cudaEventRecord(end);
    cudaEventRecord(untimed);
    line("wait", cudaEventSynchronize(untimed));
    line("time between two", cudaEventElapsedTime(&milliseconds, start, end));
    line("time between two, into NULL", cudaEventElapsedTime(NULL, start, end));
    line("time from one without times", cudaEventElapsedTime(&milliseconds, start, untimed));
    line("time from NULL", cudaEventElapsedTime(&milliseconds, NULL, end));
    line("record NULL", cudaEventRecord(NULL));
    line("wait for NULL", cudaEventSynchronize(NULL));
    line("ask NULL", cudaEventQuery(NULL));
    line("destroy", cudaEventDestroy(start));
    line("destroy NULL", cudaEventDestroy(NULL));
}

// Textures ---------------------------------------------------------------------------------------

static void textures(void)
{
    const struct cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    const struct cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>();
    const struct cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
    const struct cudaChannelFormatDesc three =
        cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
    static float host[16];
    struct cudaResourceDesc resource;
    struct cudaTextureDesc how;
    struct cudaExtent extent;
    cudaTextureObject_t texture;
    cudaArray_t array, other;
    unsigned flags;
    char *device;
    cudaMalloc((void **)&device, 4096);

    line("array", cudaMallocArray(&array, &floats, 4, 4));
    line("array of three components", cudaMallocArray(&other, &three, 4, 4));
    line("array of no width", cudaMallocArray(&other, &floats, 0, 4));
    line("array into NULL", cudaMallocArray(NULL, &floats, 4, 4));
    line("what it is", cudaArrayGetInfo(NULL, &extent, &flags, array));
    printf("%-58s %zu, %zu, %zu, %u\n", "  width, height, depth, flags", extent.width,
           extent.height, extent.depth, flags);
    line("copy to it", cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    line("copy past its width",
         cudaMemcpy2DToArray(array, 4, 0, host, 16, 16, 4, cudaMemcpyHostToDevice));
    line("copy past its height",
         cudaMemcpy2DToArray(array, 0, 1, host, 16, 16, 4, cudaMemcpyHostToDevice));
    line("copy wider than the pitch",
         cudaMemcpy2DToArray(array, 0, 0, host, 8, 16, 4, cudaMemcpyHostToDevice));

    memset(&resource, 0, sizeof resource);
    memset(&how, 0, sizeof how);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    line("texture of it", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    line("destroy", cudaDestroyTextureObject(texture));
    line("destroy 0", cudaDestroyTextureObject(0));
    line("texture into NULL", cudaCreateTextureObject(NULL, &resource, &how, NULL));
    line("texture of nothing", cudaCreateTextureObject(&texture, NULL, &how, NULL));

    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = bytes;
    resource.res.linear.sizeInBytes = 4096;
    line("texture of linear memory", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.linear.devPtr = device + 512;
    resource.res.linear.sizeInBytes = 512;
    line("texture of its middle", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.linear.devPtr = device + 16;
    line("texture of what is not aligned",
         cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.linear.devPtr = host;
    line("texture of the host's memory", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = three;
    line("texture of three components", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.linear.desc = ints;
    how.readMode = cudaReadModeNormalizedFloat;
    line("32-bit integers as floats", cudaCreateTextureObject(&texture, &resource, &how, NULL));

    how.readMode = cudaReadModeElementType;
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = device;
    resource.res.pitch2D.desc = floats;
    resource.res.pitch2D.width = 4;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = 512;
    line("texture of rows", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.pitch2D.pitchInBytes = 500;
    line("texture of rows that are not aligned",
         cudaCreateTextureObject(&texture, &resource, &how, NULL));
    resource.res.pitch2D.pitchInBytes = 512;
    resource.res.pitch2D.desc = bytes;
    how.filterMode = cudaFilterModeLinear;
    line("bytes, filtered", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    how.readMode = cudaReadModeNormalizedFloat;
    line("bytes, as floats and filtered", cudaCreateTextureObject(&texture, &resource, &how, NULL));
    line("free the array", cudaFreeArray(array));
    line("free no array", cudaFreeArray(NULL));
}

// The device -------------------------------------------------------------------------------------

static void device(void)
{
    int value = 77;
    size_t limit = 0;
    struct cudaDeviceProp properties;
    line("device count into NULL", cudaGetDeviceCount(NULL));
    line("device", cudaGetDevice(&value));
    number("  device", value);
    line("device into NULL", cudaGetDevice(NULL));
    line("set device 0", cudaSetDevice(0));
    line("set device 77", cudaSetDevice(77));
    line("set device -1", cudaSetDevice(-1));
    line("set device flags 77 << 8", cudaSetDeviceFlags(77 << 8));
    line("properties of device 77", cudaGetDeviceProperties(&properties, 77));
    line("properties into NULL", cudaGetDeviceProperties(NULL, 0));
    line("attribute of device 77", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 77));
    line("attribute 7777", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)7777, 0));
    line("attribute 0", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)0, 0));
    line("attribute into NULL", cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    line("stack limit", cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    number("  bytes", (long long)limit);
    line("heap limit", cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    number("  bytes", (long long)limit);
    line("set stack limit", cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    line("stack limit", cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    number("  bytes", (long long)limit);
    line("unknown limit", cudaDeviceGetLimit(&limit, (cudaLimit)77));
    line("set unknown limit", cudaDeviceSetLimit((cudaLimit)77, 1));
    line("limit into NULL", cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    line("version into NULL", cudaRuntimeGetVersion(NULL));
    line("peer access from a device to itself", cudaDeviceCanAccessPeer(&value, 0, 0));
    line("cudaDeviceReset", cudaDeviceReset());
    line("cudaDeviceReset again", cudaDeviceReset());
    printf("%-58s %s, %s\n", "name of error 7777", cudaGetErrorName((cudaError_t)7777),
           cudaGetErrorString((cudaError_t)7777));
}

// What a model has to have as the GPU does.
static void attributes(void)
{
    static const struct {
        const char *name;
        cudaDeviceAttr attribute;
    } list[] = {
        {"threads per block", cudaDevAttrMaxThreadsPerBlock},
        {"block.x", cudaDevAttrMaxBlockDimX},
        {"block.y", cudaDevAttrMaxBlockDimY},
        {"block.z", cudaDevAttrMaxBlockDimZ},
        {"grid.x", cudaDevAttrMaxGridDimX},
        {"grid.y", cudaDevAttrMaxGridDimY},
        {"grid.z", cudaDevAttrMaxGridDimZ},
        {"shared memory per block", cudaDevAttrMaxSharedMemoryPerBlock},
        {"shared memory per block, opt-in", cudaDevAttrMaxSharedMemoryPerBlockOptin},
        {"shared memory per SM", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
        {"shared memory kept per block", cudaDevAttrReservedSharedMemoryPerBlock},
        {"constant memory", cudaDevAttrTotalConstantMemory},
        {"warp size", cudaDevAttrWarpSize},
        {"pitch", cudaDevAttrMaxPitch},
        {"registers per block", cudaDevAttrMaxRegistersPerBlock},
        {"registers per SM", cudaDevAttrMaxRegistersPerMultiprocessor},
        {"threads per SM", cudaDevAttrMaxThreadsPerMultiProcessor},
        {"blocks per SM", cudaDevAttrMaxBlocksPerMultiprocessor},
        {"texture alignment", cudaDevAttrTextureAlignment},
        {"texture pitch alignment", cudaDevAttrTexturePitchAlignment},
        {"linear texels", cudaDevAttrMaxTexture1DLinearWidth},
        {"map host memory", cudaDevAttrCanMapHostMemory},
        {"unified addressing", cudaDevAttrUnifiedAddressing},
        {"managed memory", cudaDevAttrManagedMemory},
        {"register host memory", cudaDevAttrHostRegisterSupported},
        {"host pointer for registered memory", cudaDevAttrCanUseHostPointerForRegisteredMem},
        {"stream priorities", cudaDevAttrStreamPrioritiesSupported},
        {"memory pools", cudaDevAttrMemoryPoolsSupported},
        {"cooperative launches", cudaDevAttrCooperativeLaunch},
        {"SMs", cudaDevAttrMultiProcessorCount},
        {"L2 cache", cudaDevAttrL2CacheSize},
        {"clock in kHz", cudaDevAttrClockRate},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int value = -1;
        cudaDeviceGetAttribute(&value, list[i].attribute, 0);
        number(list[i].name, value);
    }
}

// After a kernel that failed ---------------------------------------------------------------------

// Every call that a program might still make.
static void aftermath(const char *what, int *device)
{
    static int host;
    int count;
    void *pointer = NULL;
    size_t available, total;
    cudaStream_t stream;
    cudaEvent_t event;
    struct cudaFuncAttributes attributes;
    struct cudaDeviceProp properties;

    launched(what);
    printf("  %-56s %s\n", "synchronize", name_of(cudaDeviceSynchronize()));
    last_errors("  peek, get, get");
    line("  synchronize", cudaDeviceSynchronize());
    line("  cudaMalloc", cudaMalloc(&pointer, 4));
    line("  cudaMallocHost", cudaMallocHost(&pointer, 4));
    line("  copy", cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
    line("  fill", cudaMemset(device, 0, sizeof host));
    line("  cudaMemGetInfo", cudaMemGetInfo(&available, &total));
    line("  cudaGetDeviceCount", cudaGetDeviceCount(&count));
    line("  cudaGetDevice", cudaGetDevice(&count));
    line("  cudaSetDevice", cudaSetDevice(0));
    line("  cudaDeviceGetAttribute", cudaDeviceGetAttribute(&count, cudaDevAttrWarpSize, 0));
    line("  cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, 0));
    line("  cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, (const void *)nothing));
    line("  cudaStreamCreate", cudaStreamCreate(&stream));
    line("  cudaEventCreate", cudaEventCreate(&event));
    line("  cudaStreamQuery", cudaStreamQuery(NULL));
    line("  cudaFree of NULL", cudaFree(NULL));
    nothing<<<1, 1>>>();
    launched("  launch");
    nothing<<<1, 1025>>>();
    launched("  wrong launch");
    line("  cudaFree", cudaFree(device));
    line("  cudaDeviceReset", cudaDeviceReset());
    line("  cudaMalloc", cudaMalloc(&pointer, 4));
}

static int *four_bytes(void)
{
    int *device;
    cudaMalloc((void **)&device, 4);
    return device;
}

static void null_write(void)
{
    int *const device = four_bytes();
    write_at<<<1, 1>>>(NULL);
    aftermath("kernel that writes to NULL", device);
}

static void wild_write(void)
{
    int *const device = four_bytes();
    write_at<<<1, 1>>>(device + ((int64_t)1 << 36));
    aftermath("kernel that writes far outside", device);
}

static void misaligned_write(void)
{
    int *const device = four_bytes();
    write_at<<<1, 1>>>((int *)((char *)device + 2));
    aftermath("kernel that writes to an odd address", device);
}

static void shared_write(void)
{
    int *const device = four_bytes();
    write_shared<<<1, 1, 1024>>>(1u << 20);
    aftermath("kernel that writes 4 MiB outside shared memory", device);
}

static void trap(void)
{
    int *const device = four_bytes();
    stop<<<1, 1>>>(2);
    aftermath("kernel that traps", device);
}

static void assertion(void)
{
    int *const device = four_bytes();
    stop<<<1, 1>>>(1);
    aftermath("kernel whose assertion fails", device);
}

static void copy_after_failure(void)
{
    static int host;
    int *const device = four_bytes();
    write_at<<<1, 1>>>(NULL);
    line("copy after a kernel that writes to NULL",
         cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost));
}

static void stream_after_failure(void)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    write_at<<<1, 1, 0, stream>>>(NULL);
    cudaEventRecord(event, stream);
    line("wait for an event after a kernel that writes to NULL", cudaEventSynchronize(event));
    line("destroy the event", cudaEventDestroy(event));
    line("destroy the stream", cudaStreamDestroy(stream));
}

// In a process of its own.
static void run(const char *name, void (*group)(void))
{
    int status = 0;
    printf("--- %s\n", name);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        group();
        fflush(stdout);
        _Exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("ended by signal %d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        printf("exit code %d\n", WEXITSTATUS(status));
}

int main(void)
{
    run("launches", launches);
    run("launch calls", launch_calls);
    run("launch of null", launch_of_null);
    run("functions", functions);
    run("occupancy", occupancies);
    run("allocations", allocations);
    run("copies", copies);
    run("symbols", symbols);
    run("pointers", pointers);
    run("streams", streams);
    run("events", events);
    run("textures", textures);
    run("device", device);
    run("attributes", attributes);
    run("null write", null_write);
    run("wild write", wild_write);
    run("misaligned write", misaligned_write);
    run("shared write", shared_write);
    run("trap", trap);
    run("assertion", assertion);
    run("copy after failure", copy_after_failure);
    run("stream after failure", stream_after_failure);
    return 0;
}
