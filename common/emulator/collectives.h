// Instructions by which the lanes of a warp exchange values: all lanes of a mask execute them
// together.
#ifndef EMULATOR_COLLECTIVES_H
#define EMULATOR_COLLECTIVES_H

#include "warp.h"

// Sources and destinations in the order of the PTX; the mask is s[4]. Of shuffle, match_all and
// elect d[1] is the predicate.
operation shuffle, vote, ballot, match_any, match_all, reduce, elect, active_mask;

#endif
