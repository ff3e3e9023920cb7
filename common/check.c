#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char step_program_name[16];
const char *program_name = "sgemm";

void set_program_name(int step_number)
{
    snprintf(step_program_name, sizeof step_program_name, "step%02d", step_number);
    program_name = step_program_name;
}

static void complain_list(const char *format, va_list arguments)
{
    fflush(stdout);
    hide_progress();
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain_list(format, arguments);
    va_end(arguments);
}

void fail(enum exit_code code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain_list(format, arguments);
    va_end(arguments);
    exit(code);
}

// "cudaMalloc(&p, n)" is told as "cudaMalloc".
static void fail_call(const char *call, const char *file, int line, const char *name,
                      const char *meaning)
{
    fail(EXIT_CUDA, "%.*s failed at %s:%d: %s: %s", (int)strcspn(call, "("), call, file, line, name,
         meaning);
}

void check_cuda(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess)
        fail_call(call, file, line, cudaGetErrorName(error), cudaGetErrorString(error));
}

void check_cublas(cublasStatus_t status, const char *call, const char *file, int line)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        fail_call(call, file, line, cublasGetStatusName(status), cublasGetStatusString(status));
}

void show_progress(const char *format, ...)
{
    va_list arguments;

    if (!isatty(STDERR_FILENO))
        return;
    hide_progress();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void hide_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr); // back to the line's start, and erase it
}
