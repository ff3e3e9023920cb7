// Ctrl-C, closed pipes and closed standard streams.
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

// Makes stdin, stdout and stderr that the caller has closed streams that cannot be written, before
// a file that is opened takes their place. Call it first.
void hold_standard_streams(void);

// From here on the first Ctrl-C, or SIGTERM, only makes interrupted() true, and a second one ends
// the program at once. Writing to a closed pipe is an error of that write, not the program's death.
void catch_signals(void);

// True after either: finish the launch in flight, print what was measured, stop.
bool interrupted(void);

#endif
