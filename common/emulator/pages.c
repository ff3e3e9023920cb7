// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*): memfd_create, which POSIX lacks
#define _GNU_SOURCE
#include "pages.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(uint64_t bytes)
{
    return (size_t)((bytes + page_bytes() - 1) / page_bytes() * page_bytes());
}

// The same memory twice; MAP_FAILED in both places where that cannot be.
static void map_twice(size_t length, void **pages, void **own)
{
    const int file = memfd_create("emulator", MFD_CLOEXEC);
    const int both = PROT_READ | PROT_WRITE;
    *pages = *own = MAP_FAILED;
    if (file < 0)
        return;
    if (ftruncate(file, (off_t)length) == 0) {
        *own = mmap(NULL, length, both, MAP_SHARED, file, 0);
        void *room =
            mmap(NULL, length + page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room != MAP_FAILED)
            *pages = mmap(room, length, both, MAP_SHARED | MAP_FIXED, file, 0);
    }
    close(file);
}

void *pages_new(uint64_t bytes, uint8_t **own)
{
    void *pages;
    void *alias;
    map_twice(round_up(bytes), &pages, &alias);
    if (pages == MAP_FAILED || alias == MAP_FAILED)
        return NULL;
    *own = alias;
    return pages;
}

void pages_allow(void *pages, uint64_t bytes, enum host_may what)
{
    static const int protections[] = {
        [HOST_MAY_NOTHING] = PROT_NONE,
        [HOST_MAY_READ] = PROT_READ,
        [HOST_MAY_WRITE] = PROT_READ | PROT_WRITE,
    };
    mprotect(pages, round_up(bytes), protections[what]);
}

void pages_retire(void *pages, uint8_t *own, uint64_t bytes)
{
    munmap(own, round_up(bytes));
    (void)mmap(pages, round_up(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
