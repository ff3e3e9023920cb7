#include "signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void remember(int signal_number)
{
    caught = signal_number;
}

void catch_signals(void)
{
    struct sigaction on_interrupt = {.sa_handler = remember, .sa_flags = SA_RESTART | SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &on_interrupt, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

bool interrupted(void)
{
    return caught != 0;
}
