#include "watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emulator.h"
#include "fault.h"
#include "unasked.h"

enum {
    FIRST_SECONDS = 10,
    PATIENCE_SECONDS = 1, // until a block has had a turn that can say where it is
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t interrupted;
static bool watching;
static struct sigaction before;

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

// The second time Ctrl-C ends the program at once.
static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void watch_begin(struct launch *launch)
{
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    launch->begun = seconds_now();
    launch->next_news = launch->begun + FIRST_SECONDS;
    watching = emulator_settings.own_program && sigaction(SIGINT, NULL, &before) == 0 &&
               before.sa_handler == SIG_DFL && sigaction(SIGINT, &ours, NULL) == 0;
}

// "at file:line", or "" where no warp of the block can say.
static const char *place_of(const struct block *block, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < block->warp_count; i++) {
        const struct warp *warp = &block->warps[i];
        if (warp->yielded_count > 0)
            return describe_place(warp, &block->launch->code->instructions[warp->yielded[0].from],
                                  out, size);
    }
    return out;
}

// `block`: one that is running; NULL where none is known.
static void tell(const char *what, const struct launch *launch, const struct block *block)
{
    char place[512] = "";
    char where[64] = "";
    const struct text name = readable_name(text_of(launch->code->kernel->name));
    if (block != NULL) {
        const struct position at = block->position;
        place_of(block, place, sizeof place);
        snprintf(where, sizeof where, "; block (%u,%u,%u) is ", at.x, at.y, at.z);
    }
    emulator_say("%s in %.*s after %lld s: %llu of %llu blocks done%s%s", what, (int)name.length,
                 name.start, (long long)(seconds_now() - launch->begun),
                 (unsigned long long)__atomic_load_n(&launch->done, __ATOMIC_SEQ_CST),
                 (unsigned long long)launch->blocks, place[0] != '\0' ? where : "", place);
}

static void end_interrupted(const struct launch *launch, const struct block *block)
{
    unasked_tell();
    tell("interrupted", launch, block);
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}

void watch_turn(const struct block *block, enum turn turn)
{
    struct launch *launch = block->launch;
    if (turn == TURN_ENDED)
        __atomic_add_fetch(&launch->done, 1, __ATOMIC_SEQ_CST);
    if (!emulator_settings.own_program)
        return;
    const int64_t late =
        seconds_now() - __atomic_load_n(&launch->next_news, __ATOMIC_SEQ_CST) - PATIENCE_SECONDS;
    if (interrupted == 0 && (turn == TURN_ENDED ? late : late + PATIENCE_SECONDS) < 0)
        return;
    const struct block *const running = turn == TURN_ENDED ? NULL : block;
    pthread_mutex_lock(&lock);
    if (interrupted != 0)
        end_interrupted(launch, running);
    const int64_t now = seconds_now();
    if (now >= launch->next_news) {
        tell("still", launch, running);
        __atomic_store_n(&launch->next_news, now + (now - launch->begun), __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&lock);
}

void watch_end(struct launch *launch)
{
    if (!watching)
        return;
    sigaction(SIGINT, &before, NULL);
    if (interrupted != 0)
        end_interrupted(launch, NULL);
}
