// One measured size, and the files that keep it: CSV and JSON, every figure with its unit.
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"
#include "options.h"
#include "power.h"
#include "timing.h"
#include "verify.h"

enum verification {
    VERIFIED, // every pass, and the result of the last timed run
    WRONG,
    NOT_VERIFIED, // the command line says so
};

// What a run is made on.
struct setting {
    const struct step *step;
    const struct options *options;
    const struct device *device;
    struct kernel_facts kernels[STEP_KERNELS];
    int kernel_count;
};

// What a run has found out about one shape.
struct record {
    struct shape shape;
    char runs[STEP_TEXT]; // what the step has chosen; "" where it has no choice
    enum verification verification;
    struct exact_plan exact; // what the exact pass runs with
    bool timed;              // there is a rate: only ever of a result that is not wrong
    struct timing timing;
    bool power_measured;
    struct power power[SIDES];
};

// The figures of a record. Those that have not been measured are NaN.
double record_ms(const struct setting *setting, const struct record *record, enum side who);
double record_tflops(const struct setting *setting, const struct record *record, enum side who);
double record_gflops_per_watt(const struct record *record, enum side who);

// "exact", "WRONG" or "not verified".
const char *verification_name(enum verification verification);

// Opens the files that the command line names, NULL for none. Where one cannot be written, or both
// are the same file: one line that says which and why, and exit 2.
void open_records(const char *csv_path, const char *json_path);

// Adds a record to the files. In CSV a first line names the fields; what is not known is an empty
// field there and null in JSON. Registers and memory are those of the step's first kernel. Here and
// in close_records, a disk that is full is one line and exit 3.
void write_record(const struct setting *setting, const struct record *record);

// Ends the files. In JSON the records are followed by the step, the device, all kernels, and
// whether every size of the run is there. A program that ends without this call, however it
// does, leaves valid files as well, with what was measured until then.
void close_records(const struct setting *setting, bool complete);

#endif
