#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator.h"

static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static bool is_written_beside(const struct output *output)
{
    return output->beside[0] != '\0';
}

bool output_open(struct output *output, const char *path)
{
    output->path = path;
    output->beside[0] = '\0';
    if (is_special(path)) {
        output->file = fopen(path, "w");
        return output->file != NULL;
    }
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
        return false;
    const int length =
        snprintf(output->beside, sizeof output->beside, "%s.%ld", path, (long)getpid());
    if (length >= (int)sizeof output->beside) {
        errno = ENAMETOOLONG;
        return false;
    }
    output->file = fopen(output->beside, "wx");
    return output->file != NULL;
}

bool output_keep(struct output *output)
{
    if (fclose(output->file) == 0 &&
        (!is_written_beside(output) || rename(output->beside, output->path) == 0))
        return true;
    const int problem = errno;
    if (is_written_beside(output))
        remove(output->beside);
    errno = problem;
    return false;
}

void output_drop(struct output *output)
{
    fclose(output->file);
    if (is_written_beside(output))
        remove(output->beside);
}

const char *emulator_output_problem(const char *path)
{
    struct output output;
    if (!output_open(&output, path))
        return strerror(errno);
    output_drop(&output);
    return NULL;
}
