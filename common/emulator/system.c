#include "system.h"

#include <inttypes.h>
#include <stdio.h>

#include "access.h"
#include "fault.h"
#include "footprint.h"

enum {
    SPEC_SIZE = 64,      // room for one conversion of printf
    TEXT_SIZE = 1 << 12, // for a string
};

// What is passed in a variable of the caller's frame, of up to 8 bytes.
static uint64_t argument(const struct warp *warp, const struct variable *variable, int lane)
{
    uint64_t value = 0;
    memcpy(&value,
           warp->frame->variables + (uint64_t)lane * warp->frame->function->kernel->frame_bytes +
               variable->offset,
           variable->bytes < 8 ? variable->bytes : 8);
    return value;
}

// Reads a string, as much of it as there is room for.
static const char *read_text(struct warp *warp, const struct instruction *instruction, int lane,
                             uint64_t address, char text[TEXT_SIZE])
{
    int length = 0;
    while (length < TEXT_SIZE - 1) {
        read_bytes(warp, instruction, lane, address + (uint64_t)length, &text[length], 1);
        if (text[length++] == '\0')
            return text;
    }
    text[length] = '\0';
    return text;
}

// printf ----------------------------------------------------------------------------------------

// One call of printf by one lane: what is left of the format, and where the next value lies.
struct printing {
    struct warp *warp;
    const struct instruction *instruction;
    int lane;
    const char *format;
    uint64_t values;
    int printed; // values
};

// Values lie one after the other, each aligned to its size.
static uint64_t next_value(struct printing *p, uint64_t bytes)
{
    uint64_t value = 0;
    p->values = (p->values + bytes - 1) / bytes * bytes;
    read_bytes(p->warp, p->instruction, p->lane, p->values, &value, bytes);
    p->values += bytes;
    p->printed++;
    return value;
}

// Copies the flags, the width and the precision of a conversion; '*' becomes its value. Returns
// whether an integer has 64 bits.
static bool read_spec(struct printing *p, char spec[SPEC_SIZE])
{
    size_t length = 0;
    bool wide = false;
    spec[length++] = *p->format++;
    while (*p->format != '\0' && strchr("-+ #0123456789.*hlLjzt", *p->format) != NULL) {
        const char c = *p->format++;
        if (c == '*' && length < SPEC_SIZE / 2)
            length += (size_t)snprintf(spec + length, SPEC_SIZE - length, "%d",
                                       (int)(int32_t)next_value(p, 4));
        else if (strchr("ljzt", c) != NULL)
            wide = true;
        else if (c != 'h' && c != 'L' && c != '*' && length < SPEC_SIZE / 2)
            spec[length++] = c;
    }
    spec[length] = '\0';
    return wide;
}

static void print_integer(struct printing *p, char spec[SPEC_SIZE], char conversion, bool wide)
{
    const size_t length = strlen(spec);
    const bool is_signed = conversion == 'd' || conversion == 'i';
    const uint64_t bits = next_value(p, wide ? 8 : 4);
    const int64_t value = wide ? (int64_t)bits : is_signed ? (int32_t)bits : (int64_t)bits;
    snprintf(spec + length, SPEC_SIZE - length, "ll%c", conversion);
    printf(spec, (long long)value);
}

// What begins with a percent sign.
static void print_conversion(struct printing *p)
{
    char spec[SPEC_SIZE];
    char text[TEXT_SIZE];
    const bool wide = read_spec(p, spec);
    const char conversion = *p->format;
    const size_t length = strlen(spec);
    double value;
    if (conversion == '\0')
        return;
    p->format++;
    spec[length] = conversion;
    spec[length + 1] = '\0';
    if (strchr("diouxX", conversion) != NULL) {
        spec[length] = '\0';
        print_integer(p, spec, conversion, wide);
    } else if (strchr("eEfFgGaA", conversion) != NULL) {
        const uint64_t bits = next_value(p, 8);
        memcpy(&value, &bits, sizeof value);
        printf(spec, value);
    } else if (conversion == 'c') {
        printf(spec, (int)next_value(p, 4));
    } else if (conversion == 'p') {
        printf("0x%" PRIx64, next_value(p, 8));
    } else if (conversion == 's') {
        printf(spec, read_text(p->warp, p->instruction, p->lane, next_value(p, 8), text));
    } else {
        fputs(conversion == '%' ? "%" : spec, stdout);
    }
}

static void print(struct warp *warp, const struct instruction *instruction, uint32_t active)
{
    const struct call *call = detail_of(warp, instruction)->call;
    char format[TEXT_SIZE];
    warp->block->moved = true;
    for (int l = 0; l < LANES; l++) {
        if ((active >> l & 1) == 0)
            continue;
        struct printing p = {.warp = warp, .instruction = instruction, .lane = l};
        p.format = read_text(warp, instruction, l, argument(warp, call->arguments[0], l), format);
        p.values = argument(warp, call->arguments[1], l);
        while (*p.format != '\0')
            if (*p.format == '%')
                print_conversion(&p);
            else
                putchar(*p.format++);
        if (call->result_count > 0)
            memcpy(warp->frame->variables +
                       (uint64_t)l * warp->frame->function->kernel->frame_bytes +
                       call->results[0]->offset,
                   &p.printed, sizeof p.printed);
    }
}

// assert ----------------------------------------------------------------------------------------

static void fail_assertion(struct warp *warp, const struct instruction *instruction,
                           uint32_t active)
{
    const struct call *call = detail_of(warp, instruction)->call;
    const int lane = first_lane(active);
    char what[TEXT_SIZE];
    char function[TEXT_SIZE];
    device_fault(
        warp, instruction, lane, ENDING_ASSERT, "assert: \"%.200s\" does not hold in %.200s",
        read_text(warp, instruction, lane, argument(warp, call->arguments[0], lane), what),
        read_text(warp, instruction, lane, argument(warp, call->arguments[3], lane), function));
}

operation *find_system_function(const struct kernel *function, const struct call *call)
{
    const struct text name = text_of(function->name);
    if (text_is(name, "vprintf") && call->argument_count == 2 &&
        (call->result_count == 0 || call->results[0]->bytes == 4))
        return print;
    if (text_is(name, "__assertfail") && call->argument_count == 5)
        return fail_assertion;
    return NULL;
}
