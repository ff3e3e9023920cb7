// The runtime where it is used as it should be: each line is a function of the API, or some of
// them, and whether it did what it promises. errors.cu has the other half. Runs on a GPU as well.
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_occupancy.h>
#include <thread>

static int failures;

static void check(const char *what, bool right)
{
    const cudaError_t error = cudaGetLastError();
    if (right && error == cudaSuccess)
        return;
    printf("%s: %s, %s\n", what, right ? "right" : "WRONG", cudaGetErrorName(error));
    failures++;
}

__device__ int variable[4] = {1, 2, 3, 4};
__constant__ float constant[2];
__managed__ int managed_variable = 5;

static __global__ void double_all(int *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= 2;
}

static __global__ void use_symbols(float *out)
{
    out[threadIdx.x] = (float)variable[threadIdx.x] * constant[threadIdx.x % 2];
    variable[threadIdx.x] += managed_variable;
    __syncthreads();
    if (threadIdx.x == 0)
        managed_variable *= 2;
}

static __global__ void shared_bytes(int *out, int words)
{
    extern __shared__ int shared[];
    __shared__ int fixed[256];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        shared[i] = i;
    fixed[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = (words > 0 ? shared[words - 1] : 0) + fixed[blockDim.x - 1];
}

static __global__ __launch_bounds__(512, 2) void bounded(float *data)
{
    data[threadIdx.x] = sqrtf(data[threadIdx.x]) + data[threadIdx.x + 1] / 3;
}

// Turns data around, with the whole grid between reading and writing.
static __global__ void turn_around(int *data, int n)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const int i = (int)grid.thread_rank();
    const int value = data[n - 1 - i];
    grid.sync();
    data[i] = value;
}

// More registers than N.
template <int N> static __global__ void registers(volatile float *data)
{
    float values[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        values[i] = data[i];
#pragma unroll
    for (int i = 0; i < N; i++)
        data[i] = values[N - 1 - i];
}

// Memory of all kinds: a kernel doubles it, and it comes back.
static bool doubled(int *device, int *host)
{
    enum {
        N = 1000
    };
    int from[N], to[N];
    bool right = true;
    for (int i = 0; i < N; i++)
        from[i] = i;
    if (host != NULL)
        memcpy(host, from, sizeof from);
    else
        cudaMemcpy(device, from, sizeof from, cudaMemcpyHostToDevice);
    double_all<<<4, 256>>>(device, N);
    cudaDeviceSynchronize();
    if (host != NULL)
        memcpy(to, host, sizeof to);
    else
        cudaMemcpy(to, device, sizeof to, cudaMemcpyDefault);
    for (int i = 0; i < N; i++)
        right = right && to[i] == 2 * i;
    return right;
}

static void memory(void)
{
    int *device, *host, *mapped;
    size_t before, after, total;
    cudaMalloc(&device, 4000);
    check("cudaMalloc, cudaMemcpy", doubled(device, NULL));
    cudaMemGetInfo(&before, &total);
    cudaFree(device);
    cudaMemGetInfo(&after, &total);
    check("cudaFree, cudaMemGetInfo", after >= before && total >= after);
    cudaMallocAsync(&device, 4000, NULL);
    check("cudaMallocAsync", doubled(device, NULL));
    cudaFreeAsync(device, NULL);
    cudaMallocManaged(&device, 4000);
    check("cudaMallocManaged", doubled(device, device));
    check("cudaMallocManaged, cudaMemcpy", doubled(device, NULL));
    cudaFree(device);
    cudaMallocHost(&host, 4000);
    check("cudaMallocHost", doubled(host, host));
    cudaFreeHost(host);
    cudaHostAlloc(&host, 4000, cudaHostAllocMapped);
    cudaHostGetDevicePointer(&mapped, host, 0);
    check("cudaHostAlloc, cudaHostGetDevicePointer", doubled(mapped, host));
    cudaFreeHost(host);
    host = (int *)malloc(4000);
    cudaHostRegister(host, 4000, cudaHostRegisterDefault);
    check("cudaHostRegister", doubled(host, host));
    cudaHostUnregister(host);
    cudaHostRegister(host + 10, 400, cudaHostRegisterDefault);
    cudaHostUnregister(host + 10);
    check("cudaHostUnregister", true);
    free(host);
}

static void rows(void)
{
    enum {
        WIDTH = 100,
        HEIGHT = 9,
        DEPTH = 3
    };
    static char from[DEPTH][HEIGHT][WIDTH], to[DEPTH][HEIGHT][WIDTH];
    char *device;
    size_t pitch;
    for (int i = 0; i < (int)sizeof from; i++)
        ((char *)from)[i] = (char)i;
    cudaMallocPitch((void **)&device, &pitch, WIDTH, HEIGHT);
    check("cudaMallocPitch", pitch >= WIDTH && pitch % 32 == 0 && (uintptr_t)device % 256 == 0);
    cudaMemset2D(device, pitch, 7, WIDTH, HEIGHT);
    cudaMemcpy2D(device + 10, pitch, from, WIDTH, WIDTH - 20, HEIGHT, cudaMemcpyHostToDevice);
    cudaMemcpy2D(to, WIDTH, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++)
            right = right && to[0][i][j] == (j < 10 || j >= 90 ? 7 : from[0][i][j - 10]);
    check("cudaMemset2D, cudaMemcpy2D", right);
    cudaFree(device);

    struct cudaPitchedPtr box;
    struct cudaMemcpy3DParms copy;
    cudaMalloc3D(&box, make_cudaExtent(WIDTH, HEIGHT, DEPTH));
    cudaMemset3D(box, 9, make_cudaExtent(WIDTH, HEIGHT, DEPTH));
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(from, WIDTH, WIDTH, HEIGHT);
    copy.dstPtr = box;
    copy.extent = make_cudaExtent(50, 4, 2);
    copy.srcPos = make_cudaPos(1, 2, 1);
    copy.dstPos = make_cudaPos(3, 1, 0);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(to, WIDTH, WIDTH, HEIGHT);
    copy.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    copy.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&copy);
    right = true;
    for (int i = 0; i < DEPTH; i++)
        for (int j = 0; j < HEIGHT; j++)
            for (int k = 0; k < WIDTH; k++) {
                const bool inside = i < 2 && j >= 1 && j < 5 && k >= 3 && k < 53;
                right = right && to[i][j][k] == (inside ? from[i + 1][j + 1][k - 2] : 9);
            }
    check("cudaMalloc3D, cudaMemset3D, cudaMemcpy3D", right);
    cudaFree(box.ptr);
}

static void fills(void)
{
    int host[4];
    char *device, *other;
    cudaMalloc((void **)&device, 16);
    cudaMalloc((void **)&other, 16);
    cudaMemset(device, 0, 16);
    cudaMemset(device + 5, 0x11, 6);
    cudaMemcpyAsync(other, device, 16, cudaMemcpyDeviceToDevice, NULL);
    cudaMemsetAsync(device, 0xff, 16, NULL);
    cudaMemcpy(host, other, 16, cudaMemcpyDeviceToHost);
    check("cudaMemset, device to device",
          host[0] == 0 && host[1] == 0x11111100 && host[2] == 0x00111111 && host[3] == 0);
    cudaFree(device);
    cudaFree(other);
}

static void symbols(void)
{
    const float factors[2] = {10, 100};
    float out[4], *device;
    int values[4], second = 20;
    void *address;
    size_t size;
    cudaMalloc(&device, sizeof out);
    cudaMemcpyToSymbol(constant, factors, sizeof factors);
    cudaMemcpyToSymbol(variable, &second, sizeof second, sizeof second);
    check("managed variable", managed_variable == 5);
    managed_variable = 7;
    use_symbols<<<1, 4>>>(device);
    cudaDeviceSynchronize();
    cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost);
    check("cudaMemcpyToSymbol", out[0] == 10 && out[1] == 2000 && out[2] == 30 && out[3] == 400);
    check("managed variable, after a kernel", managed_variable == 14);
    cudaMemcpyFromSymbol(values, variable, sizeof values);
    check("cudaMemcpyFromSymbol",
          values[0] == 8 && values[1] == 27 && values[2] == 10 && values[3] == 11);
    cudaGetSymbolAddress(&address, variable);
    cudaGetSymbolSize(&size, variable);
    cudaMemcpy(values, (int *)address + 3, sizeof(int), cudaMemcpyDeviceToHost);
    check("cudaGetSymbolAddress, cudaGetSymbolSize", size == 16 && values[0] == 11);
    cudaFree(device);
}

static void hints(void)
{
    int *managed;
    cudaMallocManaged(&managed, 4000);
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place;
    memset(&place, 0, sizeof place);
    place.type = cudaMemLocationTypeDevice;
    cudaMemPrefetchAsync(managed, 4000, place, 0);
    cudaMemAdvise(managed, 4000, cudaMemAdviseSetReadMostly, place);
    place.type = cudaMemLocationTypeHost;
    cudaMemPrefetchAsync(managed, 4000, place, 0);
#else
    cudaMemPrefetchAsync(managed, 4000, 0);
    cudaMemAdvise(managed, 4000, cudaMemAdviseSetReadMostly, 0);
    cudaMemPrefetchAsync(managed, 4000, cudaCpuDeviceId);
#endif
    check("cudaMemPrefetchAsync, cudaMemAdvise", doubled(managed, managed));
    cudaFree(managed);
}

static void CUDART_CB add_one(void *counter)
{
    ++*(int *)counter;
}

static void CUDART_CB add_ten(cudaStream_t stream, cudaError_t status, void *counter)
{
    (void)stream;
    *(int *)counter += status == cudaSuccess ? 10 : 1000;
}

static void streams(void)
{
    cudaStream_t first, second;
    cudaEvent_t event, end;
    int counter = 0, *device, host[1000];
    float milliseconds = -1;
    cudaStreamCreate(&first);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaEventCreateWithFlags(&end, cudaEventBlockingSync);
    cudaMalloc(&device, sizeof host);
    for (int i = 0; i < 1000; i++)
        host[i] = i;
    cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, first);
    double_all<<<4, 256, 0, first>>>(device, 1000);
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
    double_all<<<4, 256, 0, second>>>(device, 1000);
    cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, second);
    cudaLaunchHostFunc(second, add_one, &counter);
    cudaStreamAddCallback(second, add_ten, &counter, 0);
    cudaEventRecord(end, second);
    check("cudaEventSynchronize", cudaEventSynchronize(end) == cudaSuccess);
    check("cudaStreamSynchronize", cudaStreamSynchronize(second) == cudaSuccess);
    check("cudaStreamQuery, cudaEventQuery",
          cudaStreamQuery(first) == cudaSuccess && cudaEventQuery(end) == cudaSuccess);
    check("cudaLaunchHostFunc, cudaStreamAddCallback", counter == 11);
    check("kernels and copies in two streams", host[1] == 4 && host[999] == 3996);
    cudaEventElapsedTime(&milliseconds, event, end);
    check("cudaEventElapsedTime", !(milliseconds < 0)); // the emulator's is not a number
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaEventDestroy(event);
    cudaEventDestroy(end);
    cudaFree(device);
}

static void launches(void)
{
    int *device, host = 0, words = 1000, most;
    cudaMalloc(&device, sizeof host);
    shared_bytes<<<1, 64, 4000>>>(device, words);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    check("dynamic shared memory", host == 999 + 63);

    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    words = most / 4 - 256;
    cudaFuncSetAttribute(shared_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * words);
    shared_bytes<<<1, 64, 4 * words>>>(device, words);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    check("cudaFuncSetAttribute", host == words - 1 + 63);

    shared_bytes<<<1, 64, SIZE_MAX - 15>>>(device, words);
    check("more shared memory than addresses", cudaGetLastError() == cudaErrorInvalidValue);

    words = 0;
    void *arguments[] = {&device, &words};
    cudaLaunchKernel((const void *)shared_bytes, dim3(1), dim3(32), arguments, 0, NULL);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    check("cudaLaunchKernel", host == 31);

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(16);
    cudaLaunchKernelEx(&config, shared_bytes, device, words);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    check("cudaLaunchKernelEx", host == 15);
    cudaFree(device);

    int from[1024], to[1024], n = 1024, wrong = 0;
    for (int i = 0; i < n; i++)
        from[i] = i;
    cudaMalloc(&device, sizeof from);
    cudaMemcpy(device, from, sizeof from, cudaMemcpyHostToDevice);
    void *turn[] = {&device, &n};
    cudaLaunchCooperativeKernel((const void *)turn_around, dim3(4), dim3(256), turn, 0, NULL);
    cudaMemcpy(to, device, sizeof to, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        wrong += to[i] != n - 1 - i;
    check("cudaLaunchCooperativeKernel", wrong == 0);
    cudaFree(device);
}

// NVIDIA's own arithmetic, for this device and this kernel.
static int by_the_book(const void *kernel, int threads, size_t dynamic)
{
    struct cudaDeviceProp properties;
    struct cudaFuncAttributes attributes;
    struct cudaOccResult result;
    struct cudaOccDeviceState state;
    cudaGetDeviceProperties(&properties, 0);
    cudaFuncGetAttributes(&attributes, kernel);
    cudaOccDeviceProp device = properties;
    cudaOccFuncAttributes function = attributes;
    return cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads,
                                                   dynamic) == CUDA_OCC_SUCCESS
               ? result.activeBlocksPerMultiprocessor
               : -1;
}

static void occupancy(void)
{
    const void *const kernels[] = {
        (const void *)bounded,       (const void *)shared_bytes,   (const void *)registers<28>,
        (const void *)registers<36>, (const void *)registers<44>,  (const void *)registers<60>,
        (const void *)registers<80>, (const void *)registers<100>,
    };
    int wrong = 0, grid = 0, block = 0;
    struct cudaFuncAttributes attributes;
    for (int k = 0; k < 8; k++)
        for (int threads = 1; threads <= 512; threads += 17)
            for (size_t dynamic = 0; dynamic <= 40000; dynamic += 1234) {
                int blocks = -1;
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels[k], threads,
                                                              dynamic);
                wrong += blocks != by_the_book(kernels[k], threads, dynamic);
            }
    check("cudaOccupancyMaxActiveBlocksPerMultiprocessor", wrong == 0);
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, double_all);
    check("cudaOccupancyMaxPotentialBlockSize", grid > 0 && block >= 32);
    cudaFuncGetAttributes(&attributes, bounded);
    check("cudaFuncGetAttributes", attributes.maxThreadsPerBlock == 512 && attributes.numRegs > 0 &&
                                       attributes.numRegs <= 64);
}

template <typename T>
static __global__ void fetch_index(cudaTextureObject_t texture, T *out, int first)
{
    out[threadIdx.x] = tex1Dfetch<T>(texture, (int)threadIdx.x + first);
}

static __global__ void fetch_row(cudaTextureObject_t texture, float *out, float first, float step,
                                 float y)
{
    out[threadIdx.x] = tex2D<float>(texture, first + step * (float)threadIdx.x, y);
}

// A row of 32 fetches from a texture, against what it should be.
static bool fetches(const struct cudaResourceDesc *resource, const struct cudaTextureDesc *how,
                    float first, float step, float y, float (*wanted)(float x))
{
    float *device, host[32];
    cudaTextureObject_t texture = 0;
    bool right = true;
    cudaMalloc(&device, sizeof host);
    cudaCreateTextureObject(&texture, resource, how, NULL);
    fetch_row<<<1, 32>>>(texture, device, first, step, y);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        right = right && host[i] == wanted(first + step * (float)i);
    cudaDestroyTextureObject(texture);
    cudaFree(device);
    return right;
}

// What lies at (x, 1) of a picture of 5 x 4 texels, each 10 times its row plus its column.
static float nearest(float x)
{
    return 10 + fminf(fmaxf(floorf(x), 0), 4);
}

static float filtered(float x)
{
    return 12.5F + fminf(fmaxf(x - 0.5F, 0), 4); // at y = 1.75, a quarter below the centre of row 1
}

static float wrapped(float x)
{
    return 10 + floorf((x - floorf(x)) * 5);
}

static float mirrored(float x)
{
    const float turn = x - 2 * floorf(x / 2);
    return 10 + floorf((turn < 1 ? turn : 2 - turn) * 5 - (turn < 1 ? 0 : 1e-3F));
}

static float bordered(float x)
{
    return x < 0 || x >= 5 ? 7 : nearest(x);
}

static void textures(void)
{
    const struct cudaChannelFormatDesc one_float = cudaCreateChannelDesc<float>();
    uchar4 *bytes, *out, host[8], back[12];
    float picture[4][5];
    char *rows;
    size_t pitch;
    cudaArray_t array;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc how;
    cudaTextureObject_t texture;

    for (int i = 0; i < 8; i++)
        host[i] = make_uchar4(i, 10 * i, 255 - i, 7);
    cudaMalloc(&bytes, sizeof host);
    cudaMalloc(&out, sizeof back);
    cudaMemcpy(bytes, host, sizeof host, cudaMemcpyHostToDevice);
    memset(&resource, 0, sizeof resource);
    memset(&how, 0, sizeof how);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = bytes;
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = sizeof host;
    cudaCreateTextureObject(&texture, &resource, &how, NULL);
    fetch_index<<<1, 12>>>(texture, out, -2);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    bool right = back[1].z == 0 && back[10].w == 0 && back[5].y == 30;
    check("texture of linear memory", right && memcmp(back + 2, host, sizeof host) == 0);
    cudaDestroyTextureObject(texture);
    cudaFree(bytes);
    cudaFree(out);

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++)
            picture[i][j] = (float)(10 * i + j);
    cudaMallocPitch((void **)&rows, &pitch, sizeof picture[0], 4);
    cudaMemcpy2D(rows, pitch, picture, sizeof picture[0], sizeof picture[0], 4,
                 cudaMemcpyHostToDevice);
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = one_float;
    resource.res.pitch2D.width = 5;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = pitch;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    check("texture of rows", fetches(&resource, &how, -1, 0.25F, 1.5F, nearest));

    cudaMallocArray(&array, &one_float, 5, 4);
    cudaMemcpy2DToArray(array, 0, 0, picture, sizeof picture[0], sizeof picture[0], 4,
                        cudaMemcpyHostToDevice);
    memset(picture, 0, sizeof picture);
    cudaMemcpy2DFromArray(picture, sizeof picture[0], array, 4, 1, 4 * sizeof(float), 3,
                          cudaMemcpyDeviceToHost);
    check("cudaMemcpy2DToArray, cudaMemcpy2DFromArray",
          picture[0][0] == 11 && picture[2][3] == 34 && picture[0][4] == 0);
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.filterMode = cudaFilterModeLinear;
    check("texture of an array, filtered", fetches(&resource, &how, -1, 0.25F, 1.75F, filtered));
    how.filterMode = cudaFilterModePoint;
    how.addressMode[0] = cudaAddressModeBorder;
    how.borderColor[0] = 7;
    check("texture with a border", fetches(&resource, &how, -1, 0.25F, 1.5F, bordered));
    how.normalizedCoords = 1;
    how.addressMode[0] = cudaAddressModeWrap;
    check("texture that repeats", fetches(&resource, &how, -2.03125F, 0.125F, 0.4F, wrapped));
    how.addressMode[0] = cudaAddressModeMirror;
    check("texture that mirrors", fetches(&resource, &how, -2.03125F, 0.125F, 0.4F, mirrored));
    cudaFreeArray(array);
    cudaFree(rows);
}

static void device(void)
{
    int count = 0, current = -1, capability = 0, minor = 0, driver = 0, runtime = 0;
    struct cudaDeviceProp properties;
    cudaGetDeviceCount(&count);
    cudaSetDevice(0);
    cudaGetDevice(&current);
    check("cudaGetDeviceCount, cudaSetDevice, cudaGetDevice", count > 0 && current == 0);
    cudaGetDeviceProperties(&properties, 0);
    cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    check("cudaGetDeviceProperties, cudaDeviceGetAttribute",
          properties.major == capability && properties.minor == minor &&
              properties.warpSize == 32 && properties.multiProcessorCount > 0 &&
              properties.maxThreadsDim[2] == 64 && properties.name[0] != '\0');
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    check("cudaDriverGetVersion, cudaRuntimeGetVersion",
          runtime == CUDART_VERSION && driver >= 12000);
}

// The runtime in several threads of the host at once.
static void work(int *wrong)
{
    int *device;
    if (cudaMalloc(&device, 4000) != cudaSuccess || !doubled(device, NULL))
        ++*wrong;
    cudaFree(device);
}

static void threads(void)
{
    int wrong[4] = {0};
    std::thread workers[4];
    for (int i = 0; i < 4; i++)
        workers[i] = std::thread(work, &wrong[i]);
    for (int i = 0; i < 4; i++)
        workers[i].join();
    check("four host threads", wrong[0] + wrong[1] + wrong[2] + wrong[3] == 0);
}

int main(void)
{
    memory();
    rows();
    fills();
    symbols();
    hints();
    streams();
    launches();
    occupancy();
    textures();
    device();
    threads();
    printf("%d wrong\n", failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
