// A first program in C++: managed memory, a template, std::vector.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

template <typename T> __global__ void add(const T *a, const T *b, T *sum, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum[i] = a[i] + b[i];
}

template <typename T> static int count_wrong(int n)
{
    T *a, *b, *sum;
    cudaMallocManaged(&a, n * sizeof(T));
    cudaMallocManaged(&b, n * sizeof(T));
    cudaMallocManaged(&sum, n * sizeof(T));
    std::vector<T> expected(n);
    for (int i = 0; i < n; i++) {
        a[i] = static_cast<T>(i);
        b[i] = static_cast<T>(2 * i);
        expected[i] = static_cast<T>(3 * i);
    }
    add<<<8, 256>>>(a, b, sum, n);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += sum[i] != expected[i];
    cudaFree(a);
    cudaFree(b);
    cudaFree(sum);
    return wrong;
}

int main()
{
    std::cout << "float: " << count_wrong<float>(10000) << " wrong\n"
              << "int: " << count_wrong<int>(777) << " wrong\n"
              << "double: " << count_wrong<double>(1) << " wrong" << std::endl;
    return cudaGetLastError() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
