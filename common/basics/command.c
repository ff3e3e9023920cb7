#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "nvml.h"
#include "report.h"
#include "signals.h"

#define MOST_ELEMENTS (INT64_C(1) << 32)

struct command {
    const struct experiment *experiment; // NULL where none is named
    int64_t elements, device;            // UNSET where not given
    const char *json;                    // the file for counts, NULL where none is named
    bool emulate, help, list, version;
};

static void print_list(const struct experiment *experiments)
{
    const struct experiment *e;

    for (e = experiments; e->name != NULL; e++)
        printf("  %-12s%s\n", e->name, e->summary);
}

static void print_usage(const struct experiment *experiments)
{
    printf("Usage: %s EXPERIMENT [options]\n\n"
           "Step 00: vector add. What a first kernel teaches, an experiment a lesson:\n\n",
           program_name);
    print_list(experiments);
    printf("\n"
           "  -n N         elements of a vector (add, stride, roofline)\n"
           "  --device ID  run on this GPU (0)\n"
           "  --emulate    use the emulator even where there is a GPU; it measures nothing\n"
           "  --json FILE  on the emulator: write what the kernels did, counted\n"
           "  --list       show the experiments, run nothing\n"
           "  --help       show this text\n"
           "  --version    show the version of CUDA\n"
           "\n"
           "Exit status: 0 verified, 1 a result is wrong, 2 usage, 3 CUDA error,\n"
           "4 the emulator found a fault, 77 this device cannot run the experiment.\n");
}

// The names, joined by commas.
static void join_names(const struct experiment *experiments, char *text, size_t size)
{
    const struct experiment *e;

    text[0] = '\0';
    for (e = experiments; e->name != NULL; e++) {
        const size_t length = strlen(text);

        snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", e->name);
    }
}

static const struct experiment *find_experiment(const struct experiment *experiments,
                                                const char *name)
{
    const struct experiment *e;
    char names[200];

    for (e = experiments; e->name != NULL; e++)
        if (strcmp(e->name, name) == 0)
            return e;
    join_names(experiments, names, sizeof names);
    fail(EXIT_USAGE, "there is no experiment '%s': %s", name, names);
}

// The number behind option argv[*index], which moves on.
static int64_t read_number(int argc, char **argv, int *index, int64_t least, int64_t most)
{
    const char *option = argv[*index];
    const char *text = ++*index < argc ? argv[*index] : NULL;
    char *end;
    int64_t number;

    if (text == NULL)
        fail(EXIT_USAGE, "%s wants a number", option);
    errno = 0;
    number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0 || number < least ||
        number > most)
        fail(EXIT_USAGE, "%s '%s': a number from %" PRId64 " to %" PRId64, option, text, least,
             most);
    return number;
}

static const char *read_file_name(int argc, char **argv, int *index)
{
    const char *option = argv[*index];

    if (++*index >= argc)
        fail(EXIT_USAGE, "%s wants a file", option);
    return argv[*index];
}

static void read_argument(const struct experiment *experiments, struct command *command, int argc,
                          char **argv, int *index)
{
    const char *text = argv[*index];

    if (strcmp(text, "--emulate") == 0)
        command->emulate = true;
    else if (strcmp(text, "--help") == 0)
        command->help = true;
    else if (strcmp(text, "--list") == 0)
        command->list = true;
    else if (strcmp(text, "--version") == 0)
        command->version = true;
    else if (strcmp(text, "-n") == 0)
        command->elements = read_number(argc, argv, index, 1, MOST_ELEMENTS);
    else if (strcmp(text, "--device") == 0)
        command->device = read_number(argc, argv, index, 0, INT32_MAX);
    else if (strcmp(text, "--json") == 0)
        command->json = read_file_name(argc, argv, index);
    else if (text[0] == '-')
        fail(EXIT_USAGE, "there is no option %s: %s --help lists them", text, program_name);
    else if (command->experiment != NULL)
        fail(EXIT_USAGE, "one experiment at a time: '%s' behind '%s'", text,
             command->experiment->name);
    else
        command->experiment = find_experiment(experiments, text);
}

static struct command read_command(const struct experiment *experiments, int argc, char **argv)
{
    struct command command = {.elements = UNSET, .device = 0};
    int i;

    for (i = 1; i < argc; i++)
        read_argument(experiments, &command, argc, argv, &i);
    if (command.elements != UNSET && command.experiment == NULL)
        fail(EXIT_USAGE, "-n: of which experiment? %s --list shows them", program_name);
    if (command.json != NULL && command.experiment == NULL)
        fail(EXIT_USAGE, "--json: of which experiment? %s --list shows them", program_name);
    if (command.elements != UNSET && command.experiment->elements == 0)
        fail(EXIT_USAGE, "-n: %s has no vectors whose length could change",
             command.experiment->name);
    return command;
}

// On the GPU, or on the emulator where that has been asked for or there is no GPU.
static void choose_machine(const struct command *command, char **argv)
{
    struct options settings = {.shared_base = UNSET};

    if (emulated()) {
        prepare_emulation(&settings);
        return;
    }
    if (command->emulate || count_devices() == 0)
        become_twin(argv);
    if (command->emulate)
        fail(EXIT_CUDA, "--emulate: build/%s-emulated is not there: make %s", program_name,
             program_name);
    if (command->json != NULL)
        fail(EXIT_USAGE, "--json: only the emulator counts, and --emulate asks for it");
}

static FILE *open_json(const char *path)
{
    FILE *file = path != NULL ? fopen(path, "w") : NULL;

    if (path != NULL && file == NULL)
        fail(EXIT_USAGE, "cannot write --json '%s': %s", path, strerror(errno));
    return file;
}

// In the form of the other steps' records. Experiments that count row by row leave their last row.
static void write_json(const struct command *command, const struct run *run, FILE *file)
{
    fprintf(file,
            "{\n  \"records\": [\n    {\n      \"experiment\": \"%s\",\n"
            "      \"elements\": %" PRId64 ",\n      \"counters\": ",
            command->experiment->name, run->elements);
    write_counts(file, "      ");
    fputs("\n    }\n  ]\n}\n", file);
    if (ferror(file) != 0 || fclose(file) != 0)
        fail(EXIT_CUDA, "cannot write --json '%s': %s", command->json, strerror(errno));
}

static enum exit_code run(const struct command *command)
{
    const struct experiment *experiment = command->experiment;
    const int64_t elements = emulated() ? experiment->emulated : experiment->elements;
    struct run run = {.elements = command->elements == UNSET ? elements : command->elements};
    FILE *json = open_json(command->json);
    enum exit_code code;

    run.device = open_device(command->device);
    printf("step 00  %-22s docs/00-vector-add.md\n", experiment->name);
    print_device(&run.device);
    printf("shows    %s\n\n", experiment->summary);
    check_stdout();
    if (json != NULL)
        begin_counting();
    code = experiment->run(&run);
    end_counting();
    if (json != NULL)
        write_json(command, &run, json);
    check_stdout();
    finish_emulation();
    nvml_close();
    return code;
}

int run_experiments(const struct experiment *experiments, int argc, char **argv)
{
    struct command command;

    hold_standard_streams();
    set_program_name(0);
    command = read_command(experiments, argc, argv);
    if (command.help)
        print_usage(experiments);
    else if (command.version)
        printf("%s (vector add), CUDA %s\n", program_name, cuda_version());
    else if (command.list || command.experiment == NULL)
        print_list(experiments);
    else {
        choose_machine(&command, argv);
        return run(&command);
    }
    check_stdout();
    return EXIT_VERIFIED;
}
