// Mistakes that beginners make between host and device, one for each name on the command line. The
// emulator tells each in one line; a GPU tells some with an error code or a crash, others not at
// all.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_runtime.h>

static __global__ void increment(int *data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i]++;
}

static __global__ void add(const int *in, int *out)
{
    out[threadIdx.x] += in[threadIdx.x];
}

static __global__ void stop(void)
{
    __trap();
}

static int *device_memory(int n)
{
    int *data;
    cudaMalloc(&data, n * sizeof *data);
    cudaMemset(data, 0, n * sizeof *data);
    return data;
}

static int *managed_memory(int n)
{
    int *data;
    cudaMallocManaged(&data, n * sizeof *data);
    memset(data, 0, n * sizeof *data);
    return data;
}

static int *pinned_memory(int n)
{
    int *data;
    cudaMallocHost(&data, n * sizeof *data);
    memset(data, 0, n * sizeof *data);
    return data;
}

static void heap_to_kernel(void)
{
    int *const data = (int *)calloc(32, sizeof *data);
    increment<<<1, 32>>>(data, 32);
    cudaDeviceSynchronize();
    free(data);
}

static void stack_to_kernel(void)
{
    int data[32] = {0};
    increment<<<1, 32>>>(data, 32);
    cudaDeviceSynchronize();
}

static void null_to_kernel(void)
{
    increment<<<1, 32>>>(NULL, 32);
    cudaDeviceSynchronize();
}

static void device_on_host(void)
{
    int *const data = device_memory(32);
    printf("%d\n", data[3]);
}

static void freed_device_on_host(void)
{
    int *const data = device_memory(32);
    cudaFree(data);
    data[3] = 1;
}

static void no_wait(void)
{
    int *const data = managed_memory(32);
    increment<<<1, 32>>>(data, 32);
    printf("%d\n", data[0]);
    cudaFree(data);
}

static void no_wait_to_write(void)
{
    int *const in = managed_memory(32), *const out = managed_memory(32);
    add<<<1, 32>>>(in, out);
    printf("%d\n", in[0]); // that may be read
    in[0] = 1;
    cudaFree(in);
    cudaFree(out);
}

static void wait_for_no_event(void)
{
    int *const data = managed_memory(32);
    cudaEvent_t event;
    cudaEventCreate(&event);
    increment<<<1, 32>>>(data, 32);
    cudaEventSynchronize(event); // nobody has recorded it
    printf("%d\n", data[0]);
    cudaFree(data);
}

static void no_wait_for_copy(void)
{
    int *const pinned = pinned_memory(32), *const data = device_memory(32);
    cudaMemcpyAsync(pinned, data, 32 * sizeof *data, cudaMemcpyDeviceToHost, NULL);
    printf("%d\n", pinned[0]);
}

static void freed_managed(void)
{
    int *const data = managed_memory(32);
    cudaFree(data);
    data[0] = 1;
}

static void past_managed(void)
{
    int *const data = managed_memory(1024);
    increment<<<5, 256>>>(data, 1100);
    cudaDeviceSynchronize();
    cudaFree(data);
}

static void host_past_managed(void)
{
    int *const data = managed_memory(1024);
    for (int i = 0; i <= 1024; i++)
        data[i] = i;
    cudaFree(data);
}

static void null_on_host(void)
{
    volatile int *volatile data = NULL;
    device_memory(32);
    *data = 1;
}

static void leak_managed(void)
{
    managed_memory(32);
}

static void leak_second(void)
{
    cudaFree(device_memory(8));
    device_memory(16);
    cudaFree(device_memory(8));
    device_memory(32);
}

static void short_matrix(void)
{
    const float one = 1, zero = 0;
    float *A;
    cublasHandle_t handle;
    cublasCreate(&handle);
    cudaMalloc(&A, 16 * sizeof *A);
    cudaMemset(A, 0, 16 * sizeof *A);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 5, &one, A, 4, A, 5, &zero, A, 4);
}

static void unwritten_matrix(void)
{
    const float one = 1, zero = 0;
    float *A, *C;
    cublasHandle_t handle;
    cublasCreate(&handle);
    cudaMalloc(&A, 16 * sizeof *A);
    cudaMalloc(&C, 16 * sizeof *C);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, A, 4, A, 4, &zero, C, 4);
}

// Errors that nobody looks at ---------------------------------------------------------------------

static __global__ __launch_bounds__(128) void bounded(int *data)
{
    data[threadIdx.x] = 1;
}

static void too_many_threads(void)
{
    increment<<<1, 2048>>>(NULL, 0);
}

static void no_blocks(void)
{
    increment<<<100 / 256, 256>>>(NULL, 0);
}

static void too_much_shared(void)
{
    increment<<<1, 32, 100000>>>(NULL, 0);
}

static void over_bounds(void)
{
    bounded<<<1, 256>>>(NULL);
}

static void wrong_direction(void)
{
    int host[32];
    cudaMemcpy(host, device_memory(32), sizeof host, cudaMemcpyHostToDevice);
}

static void host_as_device(void)
{
    int host[32] = {0}, other[32];
    cudaMemcpy(host, other, sizeof host, cudaMemcpyDeviceToDevice);
}

static void too_many_bytes(void)
{
    int host[32] = {0};
    cudaMemcpy(device_memory(8), host, sizeof host, cudaMemcpyHostToDevice);
}

static void freed_twice(void)
{
    int *const data = device_memory(32);
    cudaFree(data);
    cudaFree(data);
}

static void fill_past_end(void)
{
    cudaMemset(device_memory(32) + 16, 0, 32 * sizeof(int));
}

static void host_as_kernel(void)
{
    int host = 0;
    cudaLaunchKernel(&host, 1, 32, NULL, 0, NULL);
}

static void null_as_kernel(void)
{
    cudaLaunchKernel(NULL, 1, 32, NULL, 0, NULL);
}

static void too_many_to_meet(void)
{
    int *data = NULL, n = 0;
    void *arguments[] = {&data, &n};
    cudaLaunchCooperativeKernel((const void *)increment, 65536, 32, arguments, 0, NULL);
}

static void destroyed_stream(void)
{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamDestroy(stream);
    increment<<<1, 32, 0, stream>>>(NULL, 0);
}

static void destroyed_event(void)
{
    cudaEvent_t event;
    cudaEventCreate(&event);
    cudaEventDestroy(event);
    cudaEventSynchronize(event);
}

static void failed_before_fault(void)
{
    int *data = NULL;
    cudaMalloc(&data, (size_t)1 << 60);
    increment<<<1, 32>>>(data, 32);
    cudaDeviceSynchronize();
}

static void first_of_two(void)
{
    freed_twice();
    no_blocks();
}

static void asked_for(void)
{
    freed_twice();
    no_blocks();
    printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
}

// ------------------------------------------------------------------------------------------------

static void unwritten_to_host(void)
{
    int *data, host[32];
    cudaMalloc(&data, sizeof host);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
}

static void partly_written_to_host(void)
{
    int *data, host[32];
    cudaMalloc(&data, sizeof host);
    cudaMemset(data + 31, 0, 1);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(data);
}

// What the emulator has not, or sees no end of
// -----------------------------------------------------

static __global__ void allocate_in_kernel(int **out)
{
    *out = (int *)malloc(16);
}

static void kernel_malloc(void)
{
    int **out;
    cudaMalloc(&out, sizeof *out);
    allocate_in_kernel<<<1, 1>>>(out);
    cudaDeviceSynchronize();
}

static __global__ void wait_for_grid(void)
{
    cooperative_groups::this_grid().sync();
}

static void grid_sync(void)
{
    wait_for_grid<<<2, 32>>>();
    cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}

static __global__ void count_to_seven(float *out)
{
    float x = 0;
    int steps = 0;
    for (; x != 7; steps++)
        x += 0.3f; // which comes to stand at 8388608
    *out = (float)steps;
}

static void endless(void)
{
    float *out;
    cudaMalloc(&out, sizeof *out);
    count_to_seven<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
}

static __global__ void store_for_ever(int *out)
{
    for (int i = 1; i != 0; i += 2)
        *out = i;
}

static void endless_round(void)
{
    store_for_ever<<<1, 1>>>(device_memory(1));
    cudaDeviceSynchronize();
}

// ------------------------------------------------------------------------------------------------

static void trap(void)
{
    stop<<<1, 1>>>();
    printf("%s, ", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

// The same as some of those above, done right.
static void right(void)
{
    int *const data = managed_memory(32), *const pinned = pinned_memory(32);
    increment<<<1, 32>>>(data, 32);
    increment<<<1, 32>>>(data, 32);
    cudaMemcpyAsync(pinned, data, 32 * sizeof *data, cudaMemcpyDeviceToHost, NULL);
    cudaStreamSynchronize(NULL);
    printf("%d %d\n", data[0], pinned[31]);
    data[0]++;
    add<<<1, 32>>>(data, pinned);
    printf("%d\n", data[0]); // the kernel only reads it
    cudaDeviceSynchronize();
    data[0] = pinned[0];
    cudaFree(data);
    cudaFreeHost(pinned);
}

static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    {"heap_to_kernel", heap_to_kernel},
    {"stack_to_kernel", stack_to_kernel},
    {"null_to_kernel", null_to_kernel},
    {"device_on_host", device_on_host},
    {"freed_device_on_host", freed_device_on_host},
    {"no_wait", no_wait},
    {"no_wait_to_write", no_wait_to_write},
    {"wait_for_no_event", wait_for_no_event},
    {"no_wait_for_copy", no_wait_for_copy},
    {"freed_managed", freed_managed},
    {"past_managed", past_managed},
    {"host_past_managed", host_past_managed},
    {"null_on_host", null_on_host},
    {"leak_managed", leak_managed},
    {"leak_second", leak_second},
    {"short_matrix", short_matrix},
    {"unwritten_matrix", unwritten_matrix},
    {"too_many_threads", too_many_threads},
    {"no_blocks", no_blocks},
    {"too_much_shared", too_much_shared},
    {"over_bounds", over_bounds},
    {"wrong_direction", wrong_direction},
    {"host_as_device", host_as_device},
    {"too_many_bytes", too_many_bytes},
    {"freed_twice", freed_twice},
    {"fill_past_end", fill_past_end},
    {"host_as_kernel", host_as_kernel},
    {"null_as_kernel", null_as_kernel},
    {"too_many_to_meet", too_many_to_meet},
    {"destroyed_stream", destroyed_stream},
    {"destroyed_event", destroyed_event},
    {"failed_before_fault", failed_before_fault},
    {"first_of_two", first_of_two},
    {"asked_for", asked_for},
    {"unwritten_to_host", unwritten_to_host},
    {"partly_written_to_host", partly_written_to_host},
    {"kernel_malloc", kernel_malloc},
    {"grid_sync", grid_sync},
    {"endless", endless},
    {"endless_round", endless_round},
    {"trap", trap},
    {"right", right},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (argc > 1 && strcmp(argv[1], mistakes[i].name) == 0) {
            mistakes[i].make();
            return EXIT_SUCCESS;
        }
    fprintf(stderr, "no such mistake\n");
    return EXIT_FAILURE;
}
