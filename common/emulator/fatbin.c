#include "fatbin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "emulator.h"
#include "fault.h"

enum {
    KIND_PTX = 1,
    KIND_ELF = 2,
    // Offsets in the container's header and in the header of an entry.
    HEADER_SIZE_AT = 6,
    CONTENT_SIZE_AT = 8,
    ENTRY_KIND_AT = 0,
    ENTRY_HEADER_SIZE_AT = 4,
    ENTRY_CONTENT_SIZE_AT = 8,
    ENTRY_CAPABILITY_AT = 28,
    // Attributes of a cubin's .nv.info: a byte of format, a byte that names the attribute, and for
    // those with FORMAT_SIZED a 16-bit size before the value.
    FORMAT_SIZED = 4,
    ATTRIBUTE_FRAME = 0x11,
    ATTRIBUTE_REGISTERS = 0x2f,
};

static const uint32_t CONTAINER_MAGIC = 0xba55ed50;

struct entry {
    int kind, capability;
    const unsigned char *content;
    uint64_t size;
};

static uint64_t read_at(const unsigned char *bytes, int offset, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, bytes + offset, size); // both this format and the hosts are little-endian
    return value;
}

// Steps through the entries; `at` starts as NULL. False behind the last one.
static bool next_entry(const void *container, const unsigned char **at, struct entry *entry)
{
    const unsigned char *start = container;
    if (read_at(start, 0, 4) != CONTAINER_MAGIC)
        return false;
    const unsigned char *first = start + read_at(start, HEADER_SIZE_AT, 2);
    const unsigned char *end = first + read_at(start, CONTENT_SIZE_AT, 8);
    const unsigned char *header = *at == NULL ? first : *at;
    if (header >= end)
        return false;
    entry->kind = (int)read_at(header, ENTRY_KIND_AT, 2);
    entry->capability = (int)read_at(header, ENTRY_CAPABILITY_AT, 4);
    entry->content = header + read_at(header, ENTRY_HEADER_SIZE_AT, 4);
    entry->size = read_at(header, ENTRY_CONTENT_SIZE_AT, 8);
    *at = entry->content + entry->size;
    return true;
}

// What follows a word near the beginning of PTX, or NULL where it is not there.
static const unsigned char *after_word(const struct entry *entry, const char *word)
{
    const size_t length = strlen(word);
    for (uint64_t i = 0; i + length < entry->size && i < 4096; i++)
        if (memcmp(entry->content + i, word, length) == 0)
            return entry->content + i + length;
    return NULL;
}

static bool is_text(const struct entry *entry)
{
    return after_word(entry, ".version") != NULL;
}

// PTX runs on later GPUs, too, but not that for sm_90a.
static bool runs_on(const struct entry *entry, int capability)
{
    const unsigned char *target = after_word(entry, ".target sm_");
    while (target != NULL && *target >= '0' && *target <= '9')
        target++;
    return entry->capability == capability ||
           (entry->capability < capability && (target == NULL || *target != 'a'));
}

char *fatbin_ptx(const void *container, int capability)
{
    const unsigned char *at = NULL;
    struct entry entry;
    struct entry best = {.capability = -1};
    while (next_entry(container, &at, &entry))
        if (entry.kind == KIND_PTX && runs_on(&entry, capability) &&
            entry.capability > best.capability)
            best = entry;
    if (best.capability < 0)
        return NULL;
    if (!is_text(&best))
        emulator_fail("the PTX in this program is compressed: build with nvcc -no-compress");
    char *text = zeroed(best.size + 1, 1);
    memcpy(text, best.content, best.size);
    return text;
}

int fatbin_lowest_capability(const void *container)
{
    const unsigned char *at = NULL;
    struct entry entry;
    int lowest = 0;
    while (next_entry(container, &at, &entry))
        if (entry.kind == KIND_PTX && (lowest == 0 || entry.capability < lowest))
            lowest = entry.capability;
    return lowest;
}

int fatbin_newest_machine_code(const void *container)
{
    const unsigned char *at = NULL;
    struct entry entry;
    int newest = 0;
    while (next_entry(container, &at, &entry))
        if (entry.kind == KIND_ELF && entry.capability > newest)
            newest = entry.capability;
    return newest;
}

// Cubins ----------------------------------------------------------------------------------------

static const Elf64_Shdr *find_section(const unsigned char *elf, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)elf;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(elf + header->e_shoff);
    const char *names = (const char *)elf + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    return NULL;
}

static bool symbol_is(const unsigned char *elf, uint32_t index, const char *name)
{
    const Elf64_Shdr *symbols = find_section(elf, ".symtab");
    const Elf64_Shdr *strings = find_section(elf, ".strtab");
    if (symbols == NULL || strings == NULL || index >= symbols->sh_size / sizeof(Elf64_Sym))
        return false;
    const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(elf + symbols->sh_offset) + index;
    return strcmp((const char *)elf + strings->sh_offset + symbol->st_name, name) == 0;
}

// An attribute that gives each function, by its symbol, a number.
static int find_attribute(const unsigned char *elf, int attribute, const char *kernel)
{
    const Elf64_Shdr *section = find_section(elf, ".nv.info");
    if (section == NULL)
        return -1;
    const unsigned char *bytes = elf + section->sh_offset;
    for (uint64_t i = 0; i + 4 <= section->sh_size;) {
        const uint64_t size = bytes[i] == FORMAT_SIZED ? read_at(bytes + i, 2, 2) : 0;
        if (bytes[i] == FORMAT_SIZED && bytes[i + 1] == attribute && size == 8 &&
            symbol_is(elf, (uint32_t)read_at(bytes + i, 4, 4), kernel))
            return (int)read_at(bytes + i, 8, 4);
        i += 4 + size;
    }
    return -1;
}

// The machine code that the modelled GPU would run: that for the newest GPU that is not newer, or
// where there is none, the oldest.
static bool is_nearer(int capability, int than)
{
    const int model = emulator_settings.capability;
    if (than == 0 || (capability <= model) != (than <= model))
        return than == 0 || capability <= model;
    return capability <= model ? capability > than : capability < than;
}

static int attribute_of(const void *container, int attribute, const char *kernel, int *capability)
{
    const unsigned char *at = NULL;
    struct entry entry;
    int found = -1;
    *capability = 0;
    while (next_entry(container, &at, &entry))
        if (entry.kind == KIND_ELF && entry.size > sizeof(Elf64_Ehdr) &&
            memcmp(entry.content, ELFMAG, SELFMAG) == 0 &&
            is_nearer(entry.capability, *capability)) {
            const int value = find_attribute(entry.content, attribute, kernel);
            if (value >= 0) {
                found = value;
                *capability = entry.capability;
            }
        }
    return found;
}

int fatbin_registers(const void *container, const char *kernel)
{
    int capability;
    return attribute_of(container, ATTRIBUTE_REGISTERS, kernel, &capability);
}

int fatbin_frame_bytes(const void *container, const char *kernel)
{
    int capability;
    return attribute_of(container, ATTRIBUTE_FRAME, kernel, &capability);
}

int fatbin_code_capability(const void *container, const char *kernel)
{
    int capability;
    attribute_of(container, ATTRIBUTE_REGISTERS, kernel, &capability);
    return capability;
}
