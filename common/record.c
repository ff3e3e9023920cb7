#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"
#include "emulation.h"
#include "nvml.h"

enum {
    MAX_FIELDS = 80
};

enum kind {
    INTEGER,
    REAL,    // NaN: not known
    BOOLEAN, // an INTEGER that is 0 or 1
    TEXT
};

// A named figure. The same list makes a line of CSV and an object of JSON.
struct field {
    const char *name;
    enum kind kind;
    int64_t integer;
    double real;
    const char *text;
};

struct fields {
    struct field field[MAX_FIELDS];
    int count;
    char date[32], throttle[200]; // texts that the fields point to
};

static struct {
    const char *csv_path, *json_path;
    FILE *csv, *json;
    int64_t records;
} output;

double record_ms(const struct setting *setting, const struct record *record, enum side who)
{
    if (!record->timed)
        return NAN;
    return setting->options->sweep.step > 0 ? record->timing.mean[who]
                                            : record->timing.time[who].median;
}

static double operations(const struct record *record)
{
    return 2 * (double)record->shape.m * (double)record->shape.n * (double)record->shape.k;
}

double record_tflops(const struct setting *setting, const struct record *record, enum side who)
{
    return operations(record) / record_ms(setting, record, who) / 1e9;
}

double record_gflops_per_watt(const struct record *record, enum side who)
{
    return record->power_measured ? operations(record) / record->power[who].joules / 1e9 : NAN;
}

const char *verification_name(enum verification verification)
{
    static const char *const names[] = {"exact", "WRONG", "not verified"};

    return names[verification];
}

static void add(struct fields *fields, struct field field)
{
    fields->field[fields->count++] = field;
}

static void add_integer(struct fields *fields, const char *name, int64_t integer)
{
    add(fields, (struct field){.name = name, .kind = INTEGER, .integer = integer});
}

static void add_real(struct fields *fields, const char *name, double real)
{
    add(fields, (struct field){.name = name, .kind = REAL, .real = real});
}

static void add_boolean(struct fields *fields, const char *name, bool boolean)
{
    add(fields, (struct field){.name = name, .kind = BOOLEAN, .integer = boolean});
}

static void add_text(struct fields *fields, const char *name, const char *text)
{
    add(fields, (struct field){.name = name, .kind = TEXT, .text = text});
}

static void add_step(struct fields *fields, const struct step *step)
{
    add_integer(fields, "step", step->number);
    add_text(fields, "name", step->name);
    add_integer(fields, "tile_m", step->tile_m);
    add_integer(fields, "tile_n", step->tile_n);
    add_integer(fields, "tile_k", step->tile_k);
    add_integer(fields, "threads", step->threads);
    add_text(fields, "arithmetic", step->arithmetic != NULL ? step->arithmetic : "float32");
}

static void add_device(struct fields *fields, const struct device *device)
{
    add_text(fields, "device", device->name);
    add_integer(fields, "compute_capability_x10", device->capability);
    add_integer(fields, "sms", device->sms);
    add_text(fields, "driver", device->driver);
    add_text(fields, "cuda", cuda_version());
    add_text(fields, "cublas", cublas_version());
    add_real(fields, "max_sm_clock_mhz", device->max_clock_mhz);
    add_real(fields, "application_clock_mhz", device->application_clock_mhz);
    add_real(fields, "ceiling_tflops", device->ceiling_tflops);
}

// Of no kernel there is nothing to know: one that a step chooses has a program of its own.
static void add_kernel(struct fields *fields, const struct kernel_facts *kernel)
{
    const bool known = kernel->path != NULL, assembled = known && kernel->registers > 0;

    add_real(fields, "registers", assembled ? (double)kernel->registers : NAN);
    add_real(fields, "shared_bytes", known ? (double)kernel->shared_bytes : NAN);
    add_real(fields, "spilled_bytes", assembled ? (double)kernel->spilled_bytes : NAN);
    add_real(fields, "blocks_per_sm", assembled ? (double)kernel->blocks_per_sm : NAN);
    add_real(fields, "occupancy_percent", assembled ? kernel->occupancy_percent : NAN);
}

static void add_problem(struct fields *fields, const struct options *options,
                        const struct shape *shape)
{
    add_integer(fields, "m", shape->m);
    add_integer(fields, "n", shape->n);
    add_integer(fields, "k", shape->k);
    add_integer(fields, "lda", shape->lda);
    add_integer(fields, "ldb", shape->ldb);
    add_integer(fields, "ldc", shape->ldc);
    add_integer(fields, "offset_a", options->offset[0]);
    add_integer(fields, "offset_b", options->offset[1]);
    add_integer(fields, "offset_c", options->offset[2]);
    add_real(fields, "alpha", (double)options->alpha);
    add_real(fields, "beta", (double)options->beta);
    add_integer(fields, "seed", options->seed);
}

static void add_verification(struct fields *fields, const struct record *record)
{
    const bool verified = record->verification == VERIFIED;

    add_text(fields, "verify", verification_name(record->verification));
    add_real(fields, "exact_alpha", verified ? (double)record->exact.alpha : NAN);
    add_real(fields, "exact_beta", verified ? (double)record->exact.beta : NAN);
}

static void add_timing(struct fields *fields, const struct setting *setting,
                       const struct record *record)
{
    const struct timing *timing = &record->timing;
    const bool timed = record->timed;
    const bool sweep = setting->options->sweep.step > 0;

    name_throttle_reasons(timed ? timing->throttle : 0, fields->throttle, sizeof fields->throttle);
    add_boolean(fields, "l2_flushed", !setting->options->warm);
    add_integer(fields, "pairs", timed ? timing->pairs : 0);
    add_real(fields, "median_ms", timed ? timing->time[STEP_SIDE].median : NAN);
    add_real(fields, "cublas_median_ms", timed ? timing->time[CUBLAS_SIDE].median : NAN);
    add_real(fields, "mean_ms", timed && sweep ? timing->mean[STEP_SIDE] : NAN);
    add_real(fields, "cublas_mean_ms", timed && sweep ? timing->mean[CUBLAS_SIDE] : NAN);
    add_real(fields, "spread_percent", timed ? spread_percent(timing->time[STEP_SIDE]) : NAN);
    add_real(fields, "cublas_spread_percent",
             timed ? spread_percent(timing->time[CUBLAS_SIDE]) : NAN);
    add_real(fields, "step_tflops", record_tflops(setting, record, STEP_SIDE));
    add_real(fields, "cublas_tflops", record_tflops(setting, record, CUBLAS_SIDE));
    add_real(fields, "ratio", timed ? timing->ratio.median : NAN);
    add_real(fields, "ratio_low", timed ? timing->ratio.low : NAN);
    add_real(fields, "ratio_high", timed ? timing->ratio.high : NAN);
    add_real(fields, "sm_clock_mhz", timed ? timing->sm_clock_mhz : NAN);
    add_text(fields, "throttle", fields->throttle);
}

static void add_power(struct fields *fields, const struct record *record)
{
    const bool measured = record->power_measured;
    const struct power *power = record->power;

    add_real(fields, "power_w", measured ? power[STEP_SIDE].watts : NAN);
    add_real(fields, "cublas_power_w", measured ? power[CUBLAS_SIDE].watts : NAN);
    add_real(fields, "energy_j", measured ? power[STEP_SIDE].joules : NAN);
    add_real(fields, "cublas_energy_j", measured ? power[CUBLAS_SIDE].joules : NAN);
    add_real(fields, "gflops_per_w", record_gflops_per_watt(record, STEP_SIDE));
    add_real(fields, "cublas_gflops_per_w", record_gflops_per_watt(record, CUBLAS_SIDE));
}

static void list_fields(struct fields *fields, const struct setting *setting,
                        const struct record *record)
{
    const time_t now = time(NULL);
    struct tm utc;

    fields->count = 0;
    gmtime_r(&now, &utc);
    strftime(fields->date, sizeof fields->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    add_text(fields, "date", fields->date);
    add_step(fields, setting->step);
    add_device(fields, setting->device);
    add_kernel(fields, &setting->kernels[0]);
    add_problem(fields, setting->options, &record->shape);
    add_verification(fields, record);
    add_timing(fields, setting, record);
    add_power(fields, record);
    add_text(fields, "runs", record->runs);
}

// A text in double quotes: quotes inside are doubled in CSV, escaped in JSON.
static void write_text(FILE *file, const char *text, char escape)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || (*text == '\\' && escape == '\\'))
            putc(escape, file);
        if ((unsigned char)*text >= ' ')
            putc(*text, file);
    }
    putc('"', file);
}

static void write_csv_value(FILE *file, const struct field *field)
{
    if (field->kind == TEXT)
        write_text(file, field->text, '"');
    else if (field->kind == BOOLEAN)
        fputs(field->integer ? "true" : "false", file);
    else if (field->kind == INTEGER)
        fprintf(file, "%" PRId64, field->integer);
    else if (isfinite(field->real))
        fprintf(file, "%.9g", field->real);
}

static void write_json_value(FILE *file, const struct field *field)
{
    if (field->kind == TEXT)
        write_text(file, field->text, '\\');
    else if (field->kind == REAL && !isfinite(field->real))
        fputs("null", file);
    else
        write_csv_value(file, field);
}

static void write_csv_record(FILE *file, const struct fields *fields)
{
    int i;

    if (output.records == 0) {
        for (i = 0; i < fields->count; i++)
            fprintf(file, "%s%s", i > 0 ? "," : "", fields->field[i].name);
        putc('\n', file);
    }
    for (i = 0; i < fields->count; i++) {
        if (i > 0)
            putc(',', file);
        write_csv_value(file, &fields->field[i]);
    }
    putc('\n', file);
}

static void write_json_fields(FILE *file, const struct fields *fields, const char *indent)
{
    int i;

    putc('{', file);
    for (i = 0; i < fields->count; i++) {
        fprintf(file, "%s\n%s  \"%s\": ", i > 0 ? "," : "", indent, fields->field[i].name);
        write_json_value(file, &fields->field[i]);
    }
}

static void write_json_object(FILE *file, const struct fields *fields, const char *indent)
{
    write_json_fields(file, fields, indent);
    fprintf(file, "\n%s}", indent);
}

// On the emulator a record also has what the kernels did.
static void write_json_record(FILE *file, const struct fields *fields)
{
    write_json_fields(file, fields, "    ");
    if (emulated()) {
        fputs(",\n      \"counters\": ", file);
        write_counts(file, "      ");
    }
    fputs("\n    }", file);
}

static FILE *open_file(const char *option, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "w") : NULL;

    if (path != NULL && file == NULL)
        fail(EXIT_USAGE, "cannot write %s '%s': %s", option, path, strerror(errno));
    return file;
}

static void check_written(FILE *file, const char *path)
{
    if (fflush(file) != 0 || ferror(file))
        fail(EXIT_CUDA, "cannot write '%s': %s", path, strerror(errno));
}

// What all records have in common, at the end of the JSON object.
static void write_json_setting(FILE *file, const struct setting *setting)
{
    struct fields fields = {.count = 0};
    int i;

    fputs(",\n  \"step\": ", file);
    add_step(&fields, setting->step);
    write_json_object(file, &fields, "  ");
    fputs(",\n  \"device\": ", file);
    fields.count = 0;
    add_device(&fields, setting->device);
    write_json_object(file, &fields, "  ");
    fputs(",\n  \"kernels\": [", file);
    for (i = 0; i < setting->kernel_count; i++) {
        fputs(i > 0 ? ", " : "", file);
        fields.count = 0;
        add_text(&fields, "path", setting->kernels[i].path);
        add_kernel(&fields, &setting->kernels[i]);
        write_json_object(file, &fields, "  ");
    }
    fputs("]", file);
}

static void end_json(FILE *file, const struct setting *setting, bool complete)
{
    fprintf(file, "%s]", output.records > 0 ? "\n  " : "");
    if (setting != NULL)
        write_json_setting(file, setting);
    fprintf(file, ",\n  \"complete\": %5s\n}\n",
            complete ? "true" : "false"); // as long, either way
}

// Writes what there is so far, with an end that makes it valid JSON, whatever becomes of the
// program. What follows takes the place of that end. A pipe cannot go back: it gets its end at
// exit.
static void flush_json(const struct setting *setting)
{
    const long end = ftell(output.json);

    if (end >= 0)
        end_json(output.json, setting, false);
    check_written(output.json, output.json_path);
    if (end >= 0)
        fseek(output.json, end, SEEK_SET);
}

// After fail(): what has gone wrong has been said.
static void end_files_at_exit(void)
{
    if (output.json != NULL) {
        if (ftell(output.json) < 0)
            end_json(output.json, NULL, false);
        fclose(output.json);
    }
    if (output.csv != NULL)
        fclose(output.csv);
}

// However the two are spelled. A device, as /dev/null, may be both.
static void refuse_same_file(const char *csv_path, const char *json_path)
{
    struct stat csv, json;

    if (csv_path != NULL && json_path != NULL && stat(csv_path, &csv) == 0 &&
        stat(json_path, &json) == 0 && S_ISREG(csv.st_mode) && csv.st_dev == json.st_dev &&
        csv.st_ino == json.st_ino)
        fail(EXIT_USAGE, "--csv '%s' and --json '%s' are the same file", csv_path, json_path);
}

void open_records(const char *csv_path, const char *json_path)
{
    output.csv_path = csv_path;
    output.json_path = json_path;
    refuse_same_file(csv_path, json_path);
    output.csv = open_file("--csv", csv_path);
    refuse_same_file(csv_path, json_path); // it may be there only now
    output.json = open_file("--json", json_path);
    atexit(end_files_at_exit);
    if (output.json != NULL) {
        fputs("{\n  \"records\": [", output.json);
        flush_json(NULL);
    }
}

void write_record(const struct setting *setting, const struct record *record)
{
    struct fields fields;

    list_fields(&fields, setting, record);
    if (output.csv != NULL) {
        write_csv_record(output.csv, &fields);
        check_written(output.csv, output.csv_path);
    }
    if (output.json != NULL) {
        fputs(output.records > 0 ? ",\n    " : "\n    ", output.json);
        write_json_record(output.json, &fields);
    }
    output.records++;
    if (output.json != NULL)
        flush_json(setting);
}

static void close_file(FILE **file, const char *path)
{
    FILE *closing = *file;

    *file = NULL;
    if (closing != NULL && fclose(closing) != 0)
        fail(EXIT_CUDA, "cannot write '%s': %s", path, strerror(errno));
}

void close_records(const struct setting *setting, bool complete)
{
    if (output.json != NULL)
        end_json(output.json, setting, complete);
    close_file(&output.json, output.json_path);
    close_file(&output.csv, output.csv_path);
}
