// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*): MAP_ANONYMOUS, which POSIX lacks
#define _DEFAULT_SOURCE
#include "pages.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

// The length of a mapping with a page to spare.
static size_t length_of(uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (size_t)((bytes + page - 1) / page * page + page);
}

void *pages_new(uint64_t bytes)
{
    const size_t length = length_of(bytes);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    if (mprotect(pages, length - page, PROT_READ | PROT_WRITE) == 0)
        return pages;
    munmap(pages, length);
    return NULL;
}

void pages_retire(void *pages, uint64_t bytes)
{
    (void)mmap(pages, length_of(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
