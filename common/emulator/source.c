#include "source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

// Copies text with single blanks, as far as it fits.
static void copy_line(const char *text, char *out, size_t size)
{
    size_t length = 0;
    for (; *text != '\0' && length + 1 < size; text++) {
        const bool blank = isspace((unsigned char)*text) != 0;
        if (!blank)
            out[length++] = *text;
        else if (length > 0 && out[length - 1] != ' ')
            out[length++] = ' ';
    }
    if (length > 0 && out[length - 1] == ' ')
        length--;
    out[length] = '\0';
}

const char *source_line(struct text file, int line, char *out, size_t size)
{
    char path[4096];
    char *text = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "%.*s", (int)file.length, file.start);
    FILE *source = fopen(path, "r");
    *out = '\0';
    if (source == NULL)
        return out;
    for (int i = 1; getline(&text, &room, source) >= 0; i++)
        if (i == line) {
            copy_line(text, out, size);
            break;
        }
    free(text);
    fclose(source);
    return out;
}
