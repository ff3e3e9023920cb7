// Lines of the programs that run, for those who read the report.
#ifndef EMULATOR_SOURCE_H
#define EMULATOR_SOURCE_H

#include <stddef.h>

#include "text.h"

// Line `line` of the file, counted from 1, with single blanks and none at its ends. Writes to
// `out`, room for `size` bytes; an empty text where the file or the line is not there. Returns
// `out`.
const char *source_line(struct text file, int line, char *out, size_t size);

#endif
