// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl*): memfd_create, which POSIX lacks
#define _GNU_SOURCE
#include "pages.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LARGE_BYTES = 1 << 25, // from here on it is worth while to map pages
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(uint64_t bytes)
{
    return (size_t)((bytes + page_bytes() - 1) / page_bytes() * page_bytes());
}

// Memory that fills with use ----------------------------------------------------------------------

static void *reserve(uint64_t bytes)
{
    void *pages = mmap(NULL, round_up(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void *pages_zeroed(uint64_t bytes)
{
    return bytes < LARGE_BYTES ? calloc(bytes, 1) : reserve(bytes);
}

// A file with as many bytes of poison as a large allocation begins at; -1 where there is none.
static int poison_file(void)
{
    static int file = -1;
    if (file >= 0)
        return file;
    file = memfd_create("poison", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, LARGE_BYTES) != 0)
        return -1;
    void *poison = mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (poison == MAP_FAILED)
        return -1;
    memset(poison, 0xff, LARGE_BYTES);
    munmap(poison, LARGE_BYTES);
    return file;
}

// Maps the file over all of the pages, again and again; a page that is written becomes one of its
// own. What cannot be mapped is filled.
static void poison(uint8_t *pages, uint64_t bytes)
{
    const int file = poison_file();
    for (uint64_t at = 0; at < bytes; at += LARGE_BYTES) {
        const size_t length = round_up(bytes - at < LARGE_BYTES ? bytes - at : LARGE_BYTES);
        if (file < 0 || mmap(pages + at, length, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED)
            memset(pages + at, 0xff, length);
    }
}

void *pages_poisoned(uint64_t bytes)
{
    uint8_t *pages = bytes < LARGE_BYTES ? malloc(bytes) : reserve(bytes);
    if (pages != NULL && bytes < LARGE_BYTES)
        memset(pages, 0xff, bytes);
    else if (pages != NULL)
        poison(pages, bytes);
    return pages;
}

void pages_free(void *pages, uint64_t bytes)
{
    if (bytes < LARGE_BYTES)
        free(pages);
    else if (pages != NULL)
        munmap(pages, round_up(bytes));
}

// Memory that the host and the device share -------------------------------------------------------

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
