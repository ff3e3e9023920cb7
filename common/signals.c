#include "signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void remember(int signal_number)
{
    caught = signal_number;
}

void hold_standard_streams(void)
{
    int descriptor;

    do
        descriptor = open("/dev/null", O_RDONLY); // the lowest that is closed
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    close(descriptor);
}

void catch_signals(void)
{
    struct sigaction on_interrupt = {.sa_handler = remember, .sa_flags = SA_RESTART | SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGINT, &on_interrupt, NULL);
    sigaction(SIGTERM, &on_interrupt, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

bool interrupted(void)
{
    return caught != 0;
}
