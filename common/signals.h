// Ctrl-C and closed pipes.
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

// From here on the first Ctrl-C only makes interrupted() true, and a second one ends the program at
// once. Writing to a closed pipe is an error of that write, not the program's death.
void catch_signals(void);

// True after a Ctrl-C: finish the launch in flight, print what was measured, stop.
bool interrupted(void);

#endif
