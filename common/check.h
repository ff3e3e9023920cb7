// Exit codes, and what goes to stderr: errors, in lines that start with the program's name, and
// progress.
#ifndef CHECK_H
#define CHECK_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// What the program's exit status tells a script.
enum exit_code {
    EXIT_VERIFIED = 0,
    EXIT_WRONG = 1,         // a result is wrong
    EXIT_USAGE = 2,         // the command line
    EXIT_CUDA = 3,          // CUDA, cuBLAS, memory, an output file, or a rate that cannot be true
    EXIT_EMULATOR = 4,      // the emulator's checker found a fault
    EXIT_SKIPPED = 77,      // this device cannot run this step
    EXIT_INTERRUPTED = 130, // Ctrl-C: what was measured before it has been printed
};

// "step07"; set_program_name(7) makes it so, and before that it is "sgemm".
extern const char *program_name;
void set_program_name(int step_number);

// Prints "step07: " and the message to stderr. What is on stdout is flushed first, so that the two
// keep their order on a terminal.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// complain(), then exit with this code.
void fail(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

// Where a call did not succeed, one line with the call, the place and the error's name and meaning,
// and exit 3: "step07: cudaMalloc failed at common/matrix.c:42: cudaErrorMemoryAllocation: ..."
#define CHECK_CUDA(call)   check_cuda((call), #call, __FILE__, __LINE__)
#define CHECK_CUBLAS(call) check_cublas((call), #call, __FILE__, __LINE__)

void check_cuda(cudaError_t error, const char *call, const char *file, int line);
void check_cublas(cublasStatus_t status, const char *call, const char *file, int line);

// What is going on, where stderr is a terminal. The next text replaces it, and so does an error.
void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hide_progress(void);

#ifdef __cplusplus
}
#endif

#endif
