// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*): the registers in ucontext_t
#define _GNU_SOURCE
#include "sharing.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "emulator.h"
#include "fault.h"
#include "pages.h"
#include "unasked.h"

_Thread_local bool in_emulator;
static bool any_taken;

// NOLINTBEGIN(performance-no-int-to-ptr): addresses that the host can follow
static void *pages_of(const struct allocation *allocation)
{
    return (void *)(uintptr_t)allocation->address;
}
// NOLINTEND(performance-no-int-to-ptr)

void device_takes(struct allocation *allocation, bool written, const char *by)
{
    const enum host_may may = written ? HOST_MAY_NOTHING : HOST_MAY_READ;
    if (!emulator_settings.checks || !memory_is_shared(allocation) || allocation->host_may <= may)
        return;
    allocation->host_may = may;
    allocation->taken_by = by;
    any_taken = true;
    pages_allow(pages_of(allocation), allocation->bytes, may);
}

// Pinned memory is not taken: a program may look there for what a kernel writes while it runs.
void device_takes_used(struct allocation *allocation, const char *kernel)
{
    if (allocation->used != 0 && allocation->kind != MEMORY_PINNED)
        device_takes(allocation, (allocation->used & USED_TO_WRITE) != 0, kernel);
    allocation->used = 0;
}

static void give_back(struct allocation *allocation, void *context)
{
    (void)context;
    if (!memory_is_shared(allocation) || allocation->host_may == HOST_MAY_WRITE)
        return;
    allocation->host_may = HOST_MAY_WRITE;
    pages_allow(pages_of(allocation), allocation->bytes, HOST_MAY_WRITE);
}

void device_gives_back(void)
{
    if (any_taken)
        memory_visit(give_back, NULL);
    any_taken = false;
}

// Where the host's code goes wrong ---------------------------------------------------------------

static bool in_allocation(const struct allocation *allocation, uint64_t address)
{
    return allocation != NULL && address - allocation->address < allocation->bytes;
}

// An address that the processor knows nothing of is not told: some register holds it, or the first
// byte of what it points into.
static uint64_t find_device_pointer(const ucontext_t *context)
{
#if defined __x86_64__
    for (int i = 0; i < NGREG; i++) {
        const uint64_t value = (uint64_t)context->uc_mcontext.gregs[i];
        if (!memory_is_host(value) && in_allocation(memory_nearest(value), value))
            return value;
    }
#else
    (void)context;
#endif
    return 0;
}

// Writes what is wrong with an access of the host's to this address. False where it has nothing to
// do with the device.
static bool describe_access(uint64_t address, char *out, size_t size)
{
    char place[512];
    const struct allocation *near = memory_nearest(address);
    describe_address(address, 1, place, sizeof place);
    if (near == NULL || (!memory_is_shared(near) && memory_is_host(address)))
        return false;
    if (in_allocation(near, address) && near->host == NULL)
        snprintf(out, size, "use after free: the program touches %s", place);
    else if (in_allocation(near, address) && !memory_is_host(address))
        snprintf(out, size,
                 "the program follows a pointer to device memory, which only kernels can do "
                 "(cudaMemcpy copies it, cudaMallocManaged gives memory for both): %s",
                 place);
    else if (in_allocation(near, address)) {
        const struct text by = readable_name((struct text){near->taken_by, strlen(near->taken_by)});
        const bool reads = near->host_may == HOST_MAY_READ;
        snprintf(out, size,
                 "race: the program %s memory that %.*s %s, and has not waited for that "
                 "(cudaDeviceSynchronize, for example): %s",
                 reads ? "writes to" : "touches", (int)by.length, by.start,
                 reads ? "reads" : "writes to", place);
    } else if (address - near->last < (uint64_t)sysconf(_SC_PAGESIZE))
        snprintf(out, size, "out of bounds: the program touches %s", place);
    else
        return false;
    return true;
}

// Where a signal has come, what else writes to stderr may be in use.
static void write_line(const char *what)
{
    char line[1200];
    const int length =
        snprintf(line, sizeof line, "%s: emulator: %s\n", emulator_settings.program, what);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) != length)
        _exit(EMULATOR_FAULT);
}

static void on_segmentation_fault(int number, siginfo_t *information, void *context)
{
    char what[1024];
    char before[1024];
    uint64_t address = (uint64_t)(uintptr_t)information->si_addr;
    if (address == 0)
        address = find_device_pointer(context);
    if (in_emulator || address == 0 || !describe_access(address, what, sizeof what)) {
        signal(number, SIG_DFL); // it happens again, and ends the program as it would have
        return;
    }
    if (unasked_take(before, sizeof before))
        write_line(before);
    write_line(what);
    _exit(EMULATOR_FAULT);
}

void watch_host(void)
{
    static bool watching;
    struct sigaction old;
    struct sigaction ours = {.sa_sigaction = on_segmentation_fault, .sa_flags = SA_SIGINFO};
    if (watching)
        return;
    watching = true;
    if (sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGSEGV, &ours, NULL);
}
