// A drawing of one access of one warp, as SVG: its lanes against the banks of shared memory or the
// sectors of global memory. Colours follow the reader's light or dark theme.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"
#include "explain.h"
#include "fault.h"
#include "output.h"
#include "request.h"

// In pixels.
enum {
    LEFT = 62, // of the cells: the lanes' numbers
    TOP = 106,
    ROW = 14,       // height of a lane
    BANK = 18,      // width of a bank
    NOTES = 150,    // to the right of the cells
    BOTTOM = 56,    // below them
    SECTORS = 576,  // width of all sectors
    MOST_WIDE = 96, // width of one
    LANES_HEIGHT = LANES * ROW,
    SECTOR_WORDS = SECTOR_BYTES / BANK_BYTES,
};

static const char style[] =
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}"
    ".faint{fill:#656d76}.middle{text-anchor:middle}.end{text-anchor:end}.tiny{font-size:9px}"
    ".paper{fill:#fff}.empty{fill:#f6f8fa}.grid{stroke:#d0d7de}.rule{stroke:#656d76}"
    ".first{fill:#9ecbff}.later{fill:#ffb77c}.last{fill:#ff8f8f}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}.paper{fill:#0d1117}"
    ".empty{fill:#161b22}.grid{stroke:#30363d}.rule{stroke:#9198a1}"
    ".first{fill:#0b4a8f}.later{fill:#8a4a0b}.last{fill:#8f1d2c}}";

struct figure {
    FILE *out;
    const struct kernel_counts *kernel;
    const struct snapshot *access;
    const struct detail *detail;
    enum traffic traffic;
};

// Text of the drawing, with what XML reads as its own made harmless.
__attribute__((format(printf, 2, 3))) static void put(FILE *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '&')
            fputs("&amp;", out);
        else
            fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    }
}

static void cell(FILE *out, const char *class, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s grid\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", class,
            x, y, width, height);
}

static void word(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%g\" y=\"%g\">", class, x, y);
    put(out, "%s", text);
    fputs("</text>\n", out);
}

static void number(FILE *out, const char *class, double x, double y, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    word(out, class, x, y, text);
}

static double row(int lane)
{
    return TOP + ROW * lane;
}

// The lanes' rows, with columns of this width.
static void grid(FILE *out, int columns, double width)
{
    const double whole = width * columns;
    fprintf(out, "<rect class=\"empty\" x=\"%d\" y=\"%d\" width=\"%g\" height=\"%d\"/>\n", LEFT,
            TOP, whole, LANES_HEIGHT);
    fprintf(out, "<path class=\"grid\" fill=\"none\" d=\"");
    for (int l = 0; l <= LANES; l++)
        fprintf(out, "M%d %gh%g", LEFT, row(l), whole);
    for (int i = 0; i <= columns; i++)
        fprintf(out, "M%g %dv%d", LEFT + width * i, TOP, LANES_HEIGHT);
    fprintf(out, "\"/>\n");
}

static bool is_active(const struct figure *f, int lane)
{
    return f->access->active >> lane & 1;
}

static void draw_lanes(const struct figure *f, double width)
{
    word(f->out, "end faint", LEFT - 8, TOP - 8, "lane");
    for (int l = 0; l < LANES; l++) {
        number(f->out, "end tiny", LEFT - 8, row(l) + ROW - 4, (uint64_t)l);
        if (!is_active(f, l))
            word(f->out, "tiny faint", LEFT + width + 6, row(l) + ROW - 4, "takes no part");
    }
}

// Shared memory -----------------------------------------------------------------------------------

static struct service service_of(const struct figure *f)
{
    uint32_t addresses[LANES];
    for (int l = 0; l < LANES; l++)
        addresses[l] = (uint32_t)f->access->addresses[l];
    return serve_shared(f->access->active, addresses, f->detail->bytes, !f->detail->write);
}

static void draw_words(const struct figure *f, const struct service *service, int lane)
{
    static const char *const classes[] = {"first", "later", "last"};
    const int words = f->detail->bytes < BANK_BYTES ? 1 : f->detail->bytes / BANK_BYTES;
    for (int i = 0; i < words && is_active(f, lane); i++) {
        const uint64_t bank = (f->access->addresses[lane] / BANK_BYTES + (uint64_t)i) % BANKS;
        const int turn = service->turn[lane][i];
        const double x = LEFT + BANK * (double)bank;
        cell(f->out, classes[turn < 2 ? turn : 2], x, row(lane), BANK, ROW);
        if (service->conflicts > 0)
            number(f->out, "middle tiny", x + BANK / 2.0, row(lane) + ROW - 4, (uint64_t)turn + 1);
    }
}

// Beside the lanes of each group: what it takes.
static void draw_groups(const struct figure *f, const struct service *service)
{
    for (int g = 0; g < service->groups; g++) {
        const int first = __builtin_ctz(service->lanes[g]);
        const int last = LANES - 1 - __builtin_clz(service->lanes[g]);
        const double middle = (row(first) + row(last) + ROW) / 2;
        char text[64];
        fprintf(f->out, "<path class=\"rule\" fill=\"none\" d=\"M%d %gh6v%gh-6\"/>\n",
                LEFT + BANKS * BANK + 4, row(first) + 2, row(last) - row(first) + ROW - 4);
        snprintf(text, sizeof text, "%d wavefront%s", service->turns[g],
                 service->turns[g] > 1 ? "s" : "");
        word(f->out, "", LEFT + BANKS * BANK + 18, middle + 4, text);
    }
}

static void draw_banks(const struct figure *f)
{
    const struct service service = service_of(f);
    word(f->out, "faint", LEFT, TOP - 24, "bank");
    for (int b = 0; b < BANKS; b++)
        number(f->out, "middle tiny", LEFT + BANK * (b + 0.5), TOP - 8, (uint64_t)b);
    grid(f->out, BANKS, BANK);
    for (int l = 0; l < LANES; l++)
        draw_words(f, &service, l);
    draw_groups(f, &service);
    draw_lanes(f, BANKS * BANK + 100);
    word(f->out, "faint", LEFT, TOP + LANES_HEIGHT + 20,
         service.conflicts == 0
             ? "No lane waits: none of a group wants another word of the same bank."
             : "A number is the turn in which a bank serves the word: lanes that want another word "
               "of it wait.");
}

// Global memory -----------------------------------------------------------------------------------

struct sectors {
    uint64_t number[LANES]; // ascending
    uint32_t words[LANES];  // bit i: some lane touches word i of the sector
    int count;
};

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int find_sector(const struct sectors *sectors, uint64_t number)
{
    int i = 0;
    while (i < sectors->count && sectors->number[i] != number)
        i++;
    return i;
}

static uint32_t words_of(const struct figure *f, int lane)
{
    const uint64_t first = f->access->addresses[lane] % SECTOR_BYTES / BANK_BYTES;
    const int words = f->detail->bytes < BANK_BYTES ? 1 : f->detail->bytes / BANK_BYTES;
    return ((1U << words) - 1) << first;
}

static struct sectors sectors_of(const struct figure *f)
{
    struct sectors sectors = {.count = 0};
    for (int l = 0; l < LANES; l++) {
        const uint64_t number = f->access->addresses[l] / SECTOR_BYTES;
        if (is_active(f, l) && find_sector(&sectors, number) == sectors.count)
            sectors.number[sectors.count++] = number;
    }
    qsort(sectors.number, (size_t)sectors.count, sizeof *sectors.number, compare_numbers);
    for (int l = 0; l < LANES; l++)
        if (is_active(f, l))
            sectors.words[find_sector(&sectors, f->access->addresses[l] / SECTOR_BYTES)] |=
                words_of(f, l);
    return sectors;
}

// A sector's column: what is moved for nothing is marked at its head and its foot.
static void draw_sector(const struct figure *f, const struct sectors *sectors, int index,
                        double width)
{
    const double x = LEFT + width * index;
    const int used = BANK_BYTES * __builtin_popcount(sectors->words[index]);
    for (int i = 0; i < SECTOR_WORDS; i++)
        cell(f->out, sectors->words[index] >> i & 1 ? "first" : "last",
             x + width / SECTOR_WORDS * i, TOP + LANES_HEIGHT + 4, width / SECTOR_WORDS, 8);
    number(f->out, "middle tiny", x + width / 2, TOP + LANES_HEIGHT + 24, (uint64_t)used);
    number(f->out, "middle tiny", x + width / 2, TOP - 8,
           sectors->number[index] - f->access->base / SECTOR_BYTES);
}

static void draw_sectors(const struct figure *f)
{
    const struct sectors sectors = sectors_of(f);
    const double even = SECTORS / (double)sectors.count;
    const double width = even < MOST_WIDE ? even : MOST_WIDE;
    word(f->out, "faint", LEFT, TOP - 24,
         "sector of 32 bytes, counted from the start of the allocation");
    grid(f->out, sectors.count, width);
    for (int i = 0; i < sectors.count; i++)
        draw_sector(f, &sectors, i, width);
    for (int l = 0; l < LANES; l++) {
        const int index = find_sector(&sectors, f->access->addresses[l] / SECTOR_BYTES);
        for (int i = 0; i < SECTOR_WORDS && is_active(f, l); i++)
            if (words_of(f, l) >> i & 1)
                cell(f->out, "first", LEFT + width * index + width / SECTOR_WORDS * i, row(l),
                     width / SECTOR_WORDS, ROW);
    }
    draw_lanes(f, width * sectors.count);
    word(f->out, "faint", LEFT, TOP + LANES_HEIGHT + 44,
         "Below each sector: which of its words some lane wants, and how many bytes they are.");
}

// The whole ---------------------------------------------------------------------------------------

// What the access takes, in words: the drawing's title.
static void describe(const struct figure *f, char *text, size_t size)
{
    const int bytes = f->detail->bytes;
    if (f->access->shared) {
        const struct service service = service_of(f);
        snprintf(text, size, "%s, %d bytes a lane: %d wavefront%s, %d of them for bank conflicts",
                 traffic_name(f->traffic), bytes, service.wavefronts,
                 service.wavefronts > 1 ? "s" : "", service.conflicts);
    } else {
        const struct sectors sectors = sectors_of(f);
        int used = 0;
        for (int i = 0; i < sectors.count; i++)
            used += BANK_BYTES * __builtin_popcount(sectors.words[i]);
        snprintf(text, size, "%s, %d bytes a lane: %d sector%s, %.1f of 32 bytes used",
                 traffic_name(f->traffic), bytes, sectors.count, sectors.count > 1 ? "s" : "",
                 (double)used / sectors.count);
    }
}

// How many instructions of the wanted line have accessed what can be drawn.
static int count_accesses(const struct kernel_counts *kernel)
{
    int count = 0;
    for (int i = 0; i < kernel->code->count; i++) {
        const struct instruction_count *counted = &kernel->counters.instructions[i];
        count += counted->global.requests + counted->shared.requests > 0 &&
                 is_in_line(kernel->code->details[i].statement, emulator_settings.figure_line);
    }
    return count;
}

// Which access it is: of how many in the line, of which warp.
static void describe_origin(const struct figure *f, char *text, size_t size)
{
    const struct snapshot *access = f->access;
    const struct place place = f->detail->statement->place;
    const struct text file = place_file(f->kernel, place);
    const struct text kernel = kernel_name(f->kernel);
    const int count = count_accesses(f->kernel);
    char call[40] = "";
    if (place.line != emulator_settings.figure_line)
        snprintf(call, sizeof call, ", called in line %d", emulator_settings.figure_line);
    snprintf(text, size,
             "%.*s:%d%s, one of %d instruction%s there; %.*s, block (%u,%u,%u), warp %d",
             (int)file.length, file.start, place.line, call, count, count > 1 ? "s" : "",
             (int)kernel.length, kernel.start, access->block.x, access->block.y, access->block.z,
             access->warp);
}

static void draw(const struct figure *f)
{
    const int width = LEFT + SECTORS + NOTES;
    const int height = TOP + LANES_HEIGHT + BOTTOM;
    const struct text source = f->detail->statement->source;
    char what[160];
    char origin[512];
    describe(f, what, sizeof what);
    describe_origin(f, origin, sizeof origin);
    fprintf(f->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">",
            width, height, width, height);
    put(f->out, "%s", what);
    fputs("</title>\n<desc id=\"desc\">", f->out);
    put(f->out, "%s. Each lane of the warp is a row, each %s a column.", origin,
        f->access->shared ? "bank of shared memory" : "sector of global memory");
    fprintf(f->out, "</desc>\n<style>%s</style>\n", style);
    fprintf(f->out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, height);
    word(f->out, "title", LEFT, 22, what);
    word(f->out, "faint", LEFT, 40, origin);
    fprintf(f->out, "<text class=\"faint\" x=\"%d\" y=\"56\">", LEFT);
    put(f->out, "PTX: %.*s", (int)source.length, source.start);
    fputs("</text>\n", f->out);
    if (f->access->shared)
        draw_banks(f);
    else
        draw_sectors(f);
    fputs("</svg>\n", f->out);
}

// Lines in which there is something to draw.
static void list_lines(char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (const struct kernel_counts *kernel = counters_of_kernels(); kernel != NULL;
         kernel = kernel->next) {
        struct line_access *accesses;
        const int count = tally_accesses(kernel, &accesses);
        for (int i = 0; i < count && length < size; i++)
            if (!in_local(accesses[i].traffic) && accesses[i].traffic != BULK_COPY &&
                (i == 0 || accesses[i].place.line != accesses[i - 1].place.line))
                length += (size_t)snprintf(text + length, size - length, "%s%d",
                                           length > 0 ? ", " : "", accesses[i].place.line);
        free(accesses);
    }
}

bool emulator_draw(const char *path, char *problem, size_t size)
{
    const struct kernel_counts *kernel = counters_of_kernels();
    while (kernel != NULL && kernel->counters.snapshot.instruction < 0)
        kernel = kernel->next;
    if (kernel == NULL) {
        char lines[200];
        list_lines(lines, sizeof lines);
        snprintf(problem, size,
                 "no load or store of line %d was executed; of these lines some were: %s",
                 emulator_settings.figure_line, lines);
        return false;
    }
    const struct snapshot *access = &kernel->counters.snapshot;
    const struct detail *detail = &kernel->code->details[access->instruction];
    struct output output;
    if (!output_open(&output, path)) {
        snprintf(problem, size, "%s", strerror(errno));
        return false;
    }
    const struct figure figure = {
        .out = output.file,
        .kernel = kernel,
        .access = access,
        .detail = detail,
        .traffic = traffic_of(detail, access->shared ? WINDOW_SHARED : WINDOW_GLOBAL)};
    draw(&figure);
    if (!output_keep(&output)) {
        snprintf(problem, size, "%s", strerror(errno));
        return false;
    }
    return true;
}
