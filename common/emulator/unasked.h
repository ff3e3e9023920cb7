// Errors that a call has given and the program has not asked for: the first of them is told in one
// line, at the program's end or before the line of a fault that it may have led to.
#ifndef EMULATOR_UNASKED_H
#define EMULATOR_UNASKED_H

#include <stdbool.h>
#include <stddef.h>

// Notes an error; false where one before it is still there. `reason` may be "".
bool unasked_note(const char *call, const char *error, const char *reason);

// Another name for the call of the error that has been noted.
void unasked_rename(const char *call);

// The program has asked: there is none any more.
void unasked_forget(void);

// What there is to tell, as a line without its end; false where there is nothing. Told once.
bool unasked_take(char *line, size_t size);

// Prints that on stderr.
void unasked_tell(void);

#endif
