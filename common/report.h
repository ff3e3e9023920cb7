// What a person reads: the table on stdout.
#ifndef REPORT_H
#define REPORT_H

#include "record.h"

// The lines above the table: the step, the device, each kernel. `device` may be NULL where there is
// none: what only the runtime knows is left out then, and that is said.
void print_setting(const struct setting *setting);

// The second of these lines.
void print_device(const struct device *device);

// The table's head and one of its lines. A size that has no rate has dashes.
void print_table_head(const struct options *options);
void print_row(const struct setting *setting, const struct record *record);

// Watts and joules, below a row.
void print_power(const struct record *record);

// A line below the table.
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Flushes stdout. Where it cannot be written: one line and exit 3.
void check_stdout(void);

#endif
