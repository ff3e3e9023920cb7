// The table that `make tune` writes: a text file of lines of whole numbers with white space
// between. Lines that start with # say something to a person. The others are, first, the device,
//
//     device  COMPUTE_CAPABILITY_X10  SMS
//
// and then, in any order, a line for each candidate that the device can run (see struct candidate):
//
//     STEP  ALIGNMENT_OF_A  OF_B  OF_C  ALONE  FULL  OVERHEAD  PART
//
// Lines of candidates that this sgemm() does not have are of no concern: step 10 has fewer than 18.
#include "handle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_SIZE = 200,
    MOST_MFLOPS = 1000000000,
    MOST_TERMS = 1000000,
};

// A table being read.
struct reading {
    struct sgemm_handle *handle;
    const char *path;
    int line; // number of the current one
    bool device;
    bool seen[MOST_CANDIDATES];
    struct candidate candidates[MOST_CANDIDATES]; // the handle's, with the table's speeds
};

// Reads exactly `count` whole numbers. (Not strtod: a program may have set another locale.)
static bool read_numbers(const char *text, int count, int64_t *numbers)
{
    int i;

    for (i = 0; i < count; i++) {
        char *end;

        errno = 0;
        numbers[i] = strtoll(text, &end, 10);
        if (end == text || errno != 0)
            return false;
        text = end;
    }
    return text[strspn(text, " \t\r\n")] == '\0';
}

static enum sgemm_status read_device_line(struct reading *reading, const char *text)
{
    struct sgemm_handle *handle = reading->handle;
    int64_t numbers[2];

    if (strncmp(text, "device", 6) != 0 || !read_numbers(text + 6, 2, numbers))
        return report(
            handle, SGEMM_BAD_TABLE,
            "%s:%d: the first line is 'device', its compute capability times ten, its SMs",
            reading->path, reading->line);
    if (numbers[0] != handle->capability || numbers[1] != handle->sms)
        return report(handle, SGEMM_BAD_TABLE,
                      "%s:%d: measured on an sm_%" PRId64 " with %" PRId64
                      " SMs, and this device is an sm_%d with %d: make tune measures it",
                      reading->path, reading->line, numbers[0], numbers[1], handle->capability,
                      handle->sms);
    reading->device = true;
    return SGEMM_OK;
}

// The candidate whose step and alignments a line begins with.
static int find_candidate(const struct reading *reading, const int64_t *line)
{
    int i;

    for (i = 0; i < reading->handle->candidate_count; i++) {
        const struct candidate *candidate = &reading->candidates[i];

        if (candidate->step->number == line[0] && candidate->alignment[0] == line[1] &&
            candidate->alignment[1] == line[2] && candidate->alignment[2] == line[3])
            break;
    }
    return i;
}

static enum sgemm_status read_candidate_line(struct reading *reading, const char *text)
{
    struct sgemm_handle *handle = reading->handle;
    int64_t line[8];
    int i;

    if (!read_numbers(text, 8, line))
        return report(
            handle, SGEMM_BAD_TABLE,
            "%s:%d: a line is eight whole numbers: step, alignments of A, B and C, alone, "
            "full, overhead, part",
            reading->path, reading->line);
    if (line[4] < 1 || line[4] > MOST_MFLOPS || line[5] < 1 || line[5] > MOST_MFLOPS ||
        line[6] < 0 || line[6] > MOST_TERMS || line[7] < 0 || line[7] > MOST_TERMS)
        return report(handle, SGEMM_BAD_TABLE,
                      "%s:%d: alone and full are 1 to %d MFLOP/s, overhead and part 0 to %d terms",
                      reading->path, reading->line, MOST_MFLOPS, MOST_TERMS);
    i = find_candidate(reading, line);
    if (i == handle->candidate_count)
        return SGEMM_OK;
    if (reading->seen[i])
        return report(handle, SGEMM_BAD_TABLE,
                      "%s:%d: step %" PRId64 " with these alignments for the second time",
                      reading->path, reading->line, line[0]);
    reading->seen[i] = true;
    reading->candidates[i].speed = (struct speed){line[4], line[5], line[6], line[7]};
    return SGEMM_OK;
}

static enum sgemm_status read_lines(struct reading *reading, FILE *file)
{
    enum sgemm_status status = SGEMM_OK;
    char text[LINE_SIZE];

    while (status == SGEMM_OK && fgets(text, sizeof text, file) != NULL) {
        reading->line++;
        if (strchr(text, '\n') == NULL && !feof(file))
            return report(reading->handle, SGEMM_BAD_TABLE,
                          "%s:%d: a line has at most %d characters", reading->path, reading->line,
                          LINE_SIZE - 2);
        if (text[0] == '#' || text[strspn(text, " \t\r\n")] == '\0')
            continue;
        status =
            reading->device ? read_candidate_line(reading, text) : read_device_line(reading, text);
    }
    return status;
}

// Of what the device can run, all must be there.
static enum sgemm_status check_complete(const struct reading *reading)
{
    struct sgemm_handle *handle = reading->handle;
    int i;

    for (i = 0; i < handle->candidate_count; i++) {
        const struct candidate *candidate = &reading->candidates[i];

        if (!reading->seen[i] && step_runs_on(candidate->step, handle->capability))
            return report(handle, SGEMM_BAD_TABLE,
                          "%s: no line for step %d with alignments %d, %d, %d: make tune writes "
                          "them all",
                          reading->path, candidate->step->number, candidate->alignment[0],
                          candidate->alignment[1], candidate->alignment[2]);
    }
    return SGEMM_OK;
}

static enum sgemm_status report_unreadable(const struct reading *reading, int error)
{
    char why[80] = "";

    strerror_r(error, why, sizeof why); // strerror() is not for several threads
    return report(reading->handle, SGEMM_UNREADABLE_TABLE, "cannot read '%s': %s", reading->path,
                  why);
}

enum sgemm_status sgemm_load_table(struct sgemm_handle *handle, const char *path)
{
    struct reading reading = {.handle = handle, .path = path};
    enum sgemm_status status;
    FILE *file;

    if (handle == NULL)
        return SGEMM_NO_HANDLE;
    if (path == NULL)
        return report(handle, SGEMM_UNREADABLE_TABLE, "the table's path is NULL");
    memcpy(reading.candidates, handle->candidates, sizeof reading.candidates);
    file = fopen(path, "r");
    if (file == NULL)
        return report_unreadable(&reading, errno);
    status = read_lines(&reading, file);
    if (ferror(file))
        status = report_unreadable(&reading, errno);
    fclose(file);
    if (status == SGEMM_OK)
        status = check_complete(&reading);
    if (status == SGEMM_OK)
        memcpy(handle->candidates, reading.candidates, sizeof reading.candidates);
    return status;
}
