// Changes real PTX at random and has the emulator read, decode and run it: whatever a text says,
// the emulator may refuse it or report a fault, but must not crash.
//
//   emulator_fuzz SEED COUNT SECONDS OBJECT...     objects that nvcc has made, with PTX in them
//
// Tries COUNT texts, or as many as it can in so many seconds. Built with sanitizers. Prints TAP; a
// text that crashes is kept in the current directory.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emulator/emulator.h"
#include "emulator/launch.h"
#include "emulator/memory.h"
#include "emulator/parser.h"
#include "tap.h"

enum {
    THREADS = 48,
    RUN_SECONDS = 1,   // that a kernel may run
    BUFFER = 1 << 14,  // bytes of memory that each pointer among its parameters gets
    MOST_CHANGES = 3,  // to one text
    MOST_TEXT = 20000, // bytes of functions that are used of an object
    MOST_TEXTS = 64,
    CRASHES_SHOWN = 5,
};

struct text_source {
    const char *object;
    char *ptx;
    size_t length;
};

static struct text_source sources[MOST_TEXTS];
static int source_count;
static uint64_t state;

const char *__asan_default_options(void); // NOLINT(bugprone-reserved-identifier,cert-dcl*)

const char *__asan_default_options(void) // NOLINT(bugprone-reserved-identifier,cert-dcl*)
{
    return "detect_leaks=0:allocator_may_return_null=1:handle_segv=1";
}

static uint64_t random_below(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return bound == 0 ? 0 : (state >> 33) % bound;
}

// Sources ---------------------------------------------------------------------------------------

// The PTX in an object file is plain text that ends with a zero byte.
static void read_object(const char *path)
{
    static char bytes[1 << 22];
    FILE *file = fopen(path, "rb");
    size_t size = 0;

    if (file != NULL) {
        size = fread(bytes, 1, sizeof bytes - 1, file);
        fclose(file);
    }
    for (size_t i = 0; i + 9 < size; i++)
        if (memcmp(&bytes[i], ".version ", 9) == 0 && source_count < MOST_TEXTS) {
            struct text_source *source = &sources[source_count++];
            bytes[size] = '\0';
            source->object = path;
            source->length = strlen(&bytes[i]);
            source->ptx = malloc(source->length + 1);
            if (source->ptx == NULL)
                exit(2);
            memcpy(source->ptx, &bytes[i], source->length + 1);
            i += source->length;
        }
}

// Behind the last brace that closes a function, or the start of the text.
static const char *last_end(const char *text, const char *end)
{
    while (end > text && strncmp(end, "\n}\n", 3) != 0)
        end--;
    return end > text ? end + 3 : text;
}

// A text's head, and from some kernel on as much of it as is used.
static char *take_text(const struct text_source *source, size_t *length)
{
    const char *body = strstr(source->ptx, "\n.visible");
    const size_t head = body == NULL ? source->length : (size_t)(body - source->ptx);
    const char *start = source->ptx + head;
    start = strstr(start + random_below(source->length - head), "\n.visible");
    if (start == NULL)
        start = source->ptx + head;
    const size_t rest = strlen(start);
    const size_t kept =
        rest <= MOST_TEXT ? rest : (size_t)(last_end(start, start + MOST_TEXT) - start);
    char *text = malloc(head + kept + (size_t)MOST_CHANGES * 64 + 1);
    if (text == NULL)
        exit(2);
    memcpy(text, source->ptx, head);
    memcpy(text + head, start, kept);
    *length = head + kept;
    text[*length] = '\0';
    return text;
}

// Changes ---------------------------------------------------------------------------------------

static void replace(char *text, size_t *length, size_t at, size_t bytes, const char *by)
{
    const size_t added = strnlen(by, 64);

    if (at + bytes > *length)
        bytes = *length - at;
    memmove(text + at + added, text + at + bytes, *length - at - bytes + 1);
    memcpy(text + at, by, added);
    *length += added - bytes;
}

// A word, a line or a sign of the text's own, up to 60 bytes.
static void pick_piece(const char *text, size_t length, char piece[64])
{
    const size_t at = random_below(length);
    size_t bytes = 1 + random_below(random_below(4) == 0 ? 60 : 12);

    if (at + bytes > length)
        bytes = length - at;
    memcpy(piece, text + at, bytes);
    piece[bytes] = '\0';
}

static void change(char *text, size_t *length)
{
    static const char *const odd[] = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      "(",
                                      ")",
                                      ";",
                                      ":",
                                      ",",
                                      "@",
                                      "@!",
                                      "%",
                                      "_",
                                      "|",
                                      "<",
                                      ">",
                                      "=",
                                      "+",
                                      "-",
                                      "\"",
                                      ".",
                                      "!",
                                      "0x",
                                      "4294967295",
                                      "18446744073709551615",
                                      "-1",
                                      "0",
                                      "99999999999",
                                      "0f7FFFFFFF",
                                      "0d",
                                      ".param",
                                      ".reg",
                                      ".b8",
                                      ".v4",
                                      ".global",
                                      ".shared",
                                      ".local",
                                      "[0]",
                                      "<1000000000>",
                                      "//",
                                      "/*",
                                      ".loc 1 2 3\n",
                                      ".func f(.param .b32 x)",
                                      ".visible .entry f()",
                                      "call.uni",
                                      "bra",
                                      "ret;",
                                      "%tid.x",
                                      "%clock64",
                                      ".branchtargets",
                                      "brx.idx %r1, ts;",
                                      "bar.sync 1, 64;",
                                      "atom.global.add.u32 %r1, [%rd1], 1;",
                                      "shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;",
                                      "st.local.u32 [%rd1], %r1;",
                                      "ld.volatile.shared.u32 %r1, [%r1];",
                                      ".align 3",
                                      "cp.async.wait_all;"};
    char piece[64];
    const size_t at = random_below(*length);

    if (random_below(50) == 0) {
        *length = at + 1;
        text[*length] = '\0';
        return;
    }
    switch (random_below(5)) {
    case 0:
        replace(text, length, at, 1 + random_below(3), "");
        break;
    case 1:
        replace(text, length, at, 1 + random_below(40), "");
        break;
    case 2:
        text[at] = (char)(32 + random_below(95));
        break;
    case 3:
        pick_piece(text, *length, piece);
        replace(text, length, at, random_below(2) * strlen(piece), piece);
        break;
    default:
        replace(text, length, at, random_below(4), odd[random_below(sizeof odd / sizeof *odd)]);
        break;
    }
}

// Runs ------------------------------------------------------------------------------------------

static void run_kernel(struct kernel *kernel)
{
    static uint64_t values[64];
    void *arguments[64];

    if (kernel->parameter_count > 64 || kernel->parameter_bytes > sizeof values[0])
        for (int i = 0; i < kernel->parameter_count; i++)
            if (i >= 64 || kernel->parameters[i]->bytes > sizeof values[0])
                return;
    for (int i = 0; i < kernel->parameter_count; i++) {
        struct allocation *buffer = memory_allocate(MEMORY_DEVICE, BUFFER);
        if (buffer == NULL)
            return;
        memory_fill(buffer->address, (int)random_below(3), BUFFER);
        values[i] = kernel->parameters[i]->bytes == 8 ? buffer->address : random_below(100);
        arguments[i] = &values[i];
    }
    if (kernel->shared_bytes < 1 << 20)
        launch_kernel(kernel, (struct position){2, 1, 1}, (struct position){THREADS, 1, 1},
                      arguments, 512, random_below(2) == 0);
}

// In a process of its own: reads, decodes and runs the text, and ends.
static _Noreturn void run_text(const char *text)
{
    emulator_settings.workers = 1;
    emulator_settings.leaks_at_exit = false;
    alarm(RUN_SECONDS);
    const struct module *module = parse_module(text);
    for (struct kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (kernel->entry && kernel->defined && random_below(4) == 0)
            run_kernel(kernel);
    _exit(0);
}

// Whether the text did no harm.
static bool try_text(const char *text)
{
    int status = 0;

    fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        exit(2);
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        run_text(text);
    }
    waitpid(child, &status, 0);
    return (WIFEXITED(status) &&
            (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EMULATOR_FAULT)) ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

static void keep_text(const char *text, uint64_t seed)
{
    char name[64];

    snprintf(name, sizeof name, "fuzz-%" PRIu64 ".ptx", seed);
    FILE *file = fopen(name, "w");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
    printf("# %s\n", name);
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 4 ? strtoull(argv[1], NULL, 10) : 0;
    const uint64_t count = argc > 4 ? strtoull(argv[2], NULL, 10) : 0;
    const time_t end = time(NULL) + (argc > 4 ? strtol(argv[3], NULL, 10) : 0);
    uint64_t seed = first;
    int crashes = 0;

    for (int i = 4; i < argc; i++)
        read_object(argv[i]);
    ok(source_count > 0, "there is PTX to change");
    for (; seed < first + count && source_count > 0 && time(NULL) <= end; seed++) {
        size_t length;
        state = seed * 7919 + 1;
        random_below(2);
        char *text = take_text(&sources[random_below((uint64_t)source_count)], &length);
        for (uint64_t i = 1 + random_below(MOST_CHANGES); i > 0 && seed > first; i--)
            change(text, &length);
        if (!try_text(text) && crashes++ < CRASHES_SHOWN)
            keep_text(text, seed);
        free(text);
    }
    ok(crashes == 0 && seed > first, "%" PRIu64 " texts crash nothing", seed - first);
    return finish();
}
