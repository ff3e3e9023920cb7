#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "fault.h"
#include "footprint.h"

// Of some threads of a block: what they did before this time is known.
struct fact {
    uint64_t who; // the block's number, then the threads
    uint32_t time;
};

// In the order of `who`. Never changed once more than one has it.
struct knowledge {
    int references;
    int count, room;
    struct fact facts[];
};

enum {
    // Which threads of a block: all, those of a warp, or one; behind these, what is like one.
    ALL_THREADS = 0,
    FIRST_WARP = 1,
    FIRST_THREAD = 64,
    THREADS = 1024,
    THREADS_BITS = 11,
    FEW = 8, // facts that are better added one by one
};

static uint64_t who(uint64_t block, int threads)
{
    return block << THREADS_BITS | (uint64_t)threads;
}

// Knowledge -------------------------------------------------------------------------------------

static struct knowledge *new_knowledge(int room)
{
    struct knowledge *k = zeroed(1, sizeof *k + (size_t)room * sizeof(struct fact));
    k->references = 1;
    k->room = room;
    return k;
}

static struct knowledge *share(struct knowledge *k)
{
    if (k != NULL)
        k->references++;
    return k;
}

void order_forget(struct knowledge **k)
{
    if (*k != NULL && --(*k)->references == 0)
        free(*k);
    *k = NULL;
}

static void replace(struct knowledge **k, struct knowledge *by)
{
    order_forget(k);
    *k = by;
}

// How many facts of b are news to a.
static int news(const struct knowledge *a, const struct knowledge *b)
{
    int count = 0;
    for (int i = 0, j = 0; j < b->count; j++) {
        while (i < a->count && a->facts[i].who < b->facts[j].who)
            i++;
        count += i == a->count || a->facts[i].who != b->facts[j].who ||
                 a->facts[i].time < b->facts[j].time;
    }
    return count;
}

static struct knowledge *merged(const struct knowledge *a, const struct knowledge *b)
{
    struct knowledge *k = new_knowledge(2 * (a->count + b->count));
    int i = 0;
    int j = 0;
    while (i < a->count || j < b->count) {
        struct fact fact = {UINT64_MAX, 0};
        if (i < a->count)
            fact = a->facts[i];
        if (j < b->count && b->facts[j].who < fact.who)
            fact = b->facts[j];
        if (i < a->count && a->facts[i].who == fact.who)
            i++;
        if (j < b->count && b->facts[j].who == fact.who) {
            if (b->facts[j].time > fact.time)
                fact.time = b->facts[j].time;
            j++;
        }
        k->facts[k->count++] = fact;
    }
    return k;
}

// Where a fact about this stands, or would stand.
static int place_of(const struct knowledge *k, uint64_t about)
{
    int low = 0;
    int high = k->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (k->facts[middle].who < about)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Adds facts to knowledge that nobody else has: what is new is mostly about blocks that have begun
// last, whose facts are the last ones.
static void insert(struct knowledge *a, const struct knowledge *b)
{
    for (int i = 0; i < b->count; i++) {
        const int at = place_of(a, b->facts[i].who);
        if (at < a->count && a->facts[at].who == b->facts[i].who) {
            if (a->facts[at].time < b->facts[i].time)
                a->facts[at].time = b->facts[i].time;
            continue;
        }
        memmove(&a->facts[at + 1], &a->facts[at], (size_t)(a->count - at) * sizeof *a->facts);
        a->facts[at] = b->facts[i];
        a->count++;
    }
}

// Adds b to *a.
static void learn(struct knowledge **a, struct knowledge *b)
{
    if (b == NULL || b == *a || b->count == 0)
        return;
    if (*a == NULL || (*a)->count == 0) {
        replace(a, share(b));
        return;
    }
    if ((*a)->references == 1 && b->count <= FEW && (*a)->count + b->count <= (*a)->room) {
        insert(*a, b);
        return;
    }
    if (news(*a, b) == 0)
        return;
    if (news(b, *a) == 0)
        replace(a, share(b));
    else
        replace(a, merged(*a, b));
}

static void learn_fact(struct knowledge **k, uint64_t about, uint32_t time)
{
    struct knowledge *one = new_knowledge(1);
    one->facts[one->count++] = (struct fact){about, time};
    learn(k, one);
    order_forget(&one);
}

static uint32_t time_of(const struct knowledge *k, uint64_t about)
{
    const int at = k == NULL ? 0 : place_of(k, about);
    return k != NULL && at < k->count && k->facts[at].who == about ? k->facts[at].time : 0;
}

static bool knows(const struct knowledge *k, uint64_t block, int thread, uint32_t time)
{
    return k != NULL &&
           (time_of(k, who(block, FIRST_THREAD + thread)) > time ||
            (thread < THREADS && (time_of(k, who(block, ALL_THREADS)) > time ||
                                  time_of(k, who(block, FIRST_WARP + thread / LANES)) > time)));
}

// Of a block's threads, not of what is like one.
static bool is_of_threads(const struct fact *fact, uint64_t block)
{
    return fact->who >= who(block, ALL_THREADS) && fact->who < who(block, FIRST_THREAD + THREADS);
}

// Leaves out what a barrier of the block has made superfluous.
static void drop_block(struct knowledge **k, uint64_t block)
{
    int own = 0;
    for (int i = 0; *k != NULL && i < (*k)->count; i++)
        own += is_of_threads(&(*k)->facts[i], block);
    if (own == 0)
        return;
    struct knowledge *kept = new_knowledge((*k)->count);
    for (int i = 0; i < (*k)->count; i++)
        if (!is_of_threads(&(*k)->facts[i], block))
            kept->facts[kept->count++] = (*k)->facts[i];
    replace(k, kept);
}

// Warps -----------------------------------------------------------------------------------------

void order_open(struct warp *warp)
{
    warp->order = zeroed(LANES, sizeof *warp->order);
}

static void forget_lane(struct lane_order *lane)
{
    order_forget(&lane->knows);
    for (int i = 0; i < 2; i++) {
        order_forget(&lane->published[i]);
        order_forget(&lane->seen[i]);
    }
}

void order_reset(struct warp *warp)
{
    for (int l = 0; l < LANES; l++) {
        forget_lane(&warp->order[l]);
        warp->order[l].time = warp->block->clock;
    }
}

void order_close(struct warp *warp)
{
    if (warp->order != NULL)
        order_reset(warp);
    free(warp->order);
}

static int thread_of(const struct warp *warp, int lane)
{
    return warp->index * LANES + lane;
}

// What of the lane itself comes before what others will do: all that it did until now.
static void learn_of_itself(const struct warp *warp, int lane, struct knowledge **k)
{
    learn_fact(k, who(warp->block->index, FIRST_THREAD + thread_of(warp, lane)),
               warp->block->clock);
}

// Barriers --------------------------------------------------------------------------------------

// What lanes know and have seen together, in two lots.
static void gather(const struct warp *warp, uint32_t lanes, struct knowledge *lots[2])
{
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1) {
            learn(&lots[0], warp->order[l].knows);
            learn(&lots[1], warp->order[l].seen[0]);
            learn(&lots[1], warp->order[l].seen[1]);
        }
}

static void give(const struct warp *warp, uint32_t lanes, struct knowledge *const lots[2])
{
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1) {
            struct lane_order *lane = &warp->order[l];
            learn(&lane->knows, lots[0]);
            learn(&lane->seen[1], lots[1]);
            lane->time = warp->block->clock;
        }
}

// All that these lanes did until now.
static void learn_of_lanes(const struct warp *warp, uint32_t lanes, struct knowledge **k)
{
    if (lanes == warp->live)
        learn_fact(k, who(warp->block->index, FIRST_WARP + warp->index), warp->block->clock);
    for (int l = 0; l < LANES && lanes != warp->live; l++)
        if (lanes >> l & 1)
            learn_of_itself(warp, l, k);
}

void order_lanes(struct warp *warp, uint32_t lanes)
{
    struct knowledge *lots[2] = {NULL, NULL};
    gather(warp, lanes, lots);
    learn_of_lanes(warp, lanes, &lots[0]);
    give(warp, lanes, lots);
    order_forget(&lots[0]);
    order_forget(&lots[1]);
}

// What was done in the block before is settled by the time of its barrier alone.
void order_block(struct block *block)
{
    struct knowledge *lots[2] = {NULL, NULL};
    for (int i = 0; i < block->warp_count; i++)
        gather(&block->warps[i], ALL_LANES, lots);
    drop_block(&lots[0], block->index);
    for (int i = 0; i < block->warp_count; i++)
        for (int l = 0; l < LANES; l++) {
            struct lane_order *lane = &block->warps[i].order[l];
            replace(&lane->knows, share(lots[0]));
            learn(&lane->seen[1], lots[1]);
            lane->time = block->clock;
        }
    order_forget(&lots[0]);
    order_forget(&lots[1]);
}

// What lanes know, and that they bring it now.
static void bring(struct warp *warp, uint32_t lanes, struct knowledge **brought)
{
    struct knowledge *lots[2] = {NULL, NULL};
    gather(warp, lanes, lots);
    learn(brought, lots[0]);
    order_forget(&lots[0]);
    order_forget(&lots[1]);
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            warp->order[l].time = warp->block->clock;
}

void order_bring(struct warp *warp, uint32_t lanes, struct knowledge **brought)
{
    bring(warp, lanes, brought);
    learn_fact(brought, who(warp->block->index, FIRST_WARP + warp->index), warp->block->clock);
}

void order_bring_lanes(struct warp *warp, uint32_t lanes, struct knowledge **brought)
{
    bring(warp, lanes, brought);
    learn_of_lanes(warp, lanes, brought);
}

void order_take(struct warp *warp, uint32_t lanes, struct knowledge *brought)
{
    struct knowledge *const lots[2] = {brought, NULL};
    give(warp, lanes, lots);
}

void order_add(struct knowledge **to, struct knowledge *more)
{
    learn(to, more);
}

int order_copies(int mbarrier)
{
    return THREADS + mbarrier;
}

int order_products(int warpgroup)
{
    return THREADS + MBARRIERS + warpgroup;
}

void order_learn_of(const struct block *block, int thread, uint32_t time,
                    struct knowledge **knowledge)
{
    learn_fact(knowledge, who(block->index, FIRST_THREAD + thread), time);
}

void order_show(struct warp *warp, uint32_t lanes)
{
    struct block *block = warp->block;
    order_bring_lanes(warp, lanes, &block->shown);
    learn_fact(&block->shown, who(block->index, ALL_THREADS), block->barrier_time);
}

bool order_shown(const struct block *block, int thread, uint32_t time)
{
    return knows(block->shown, block->index, thread, time);
}

// Fences ----------------------------------------------------------------------------------------

void order_acquire(struct warp *warp, uint32_t lanes, bool block_only)
{
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < (block_only ? 1 : 2) && (lanes >> l & 1); i++) {
            learn(&warp->order[l].knows, warp->order[l].seen[i]);
            order_forget(&warp->order[l].seen[i]);
        }
}

void order_release(struct warp *warp, uint32_t lanes, bool block_only)
{
    const struct block *block = warp->block;
    for (int l = 0; l < LANES; l++) {
        struct lane_order *lane = &warp->order[l];
        if ((lanes >> l & 1) == 0)
            continue;
        struct knowledge *all = share(lane->knows);
        learn_fact(&all, who(block->index, ALL_THREADS), block->barrier_time);
        learn_of_itself(warp, l, &all);
        for (int i = 0; i < (block_only ? 1 : 2); i++)
            replace(&lane->published[i], share(all));
        order_forget(&all);
        lane->time = block->clock;
    }
}

// Memory ----------------------------------------------------------------------------------------

// What has been published at an address: [0] to the threads of `block` only.
struct publication {
    uint64_t address; // 0: none
    uint64_t block;
    struct knowledge *knowledge[2];
};

struct publications {
    struct publication *table; // by hash; `size` is a power of two
    size_t count, size;
};

enum {
    FIRST_SIZE = 64,
};

struct publications *publications_new(void)
{
    struct publications *p = zeroed(1, sizeof *p);
    p->size = FIRST_SIZE;
    p->table = zeroed(p->size, sizeof *p->table);
    return p;
}

void publications_clear(struct publications *p)
{
    for (size_t i = 0; i < p->size && p->count > 0; i++) {
        order_forget(&p->table[i].knowledge[0]);
        order_forget(&p->table[i].knowledge[1]);
        p->table[i].address = 0;
    }
    p->count = 0;
}

void publications_free(struct publications *p)
{
    if (p == NULL)
        return;
    publications_clear(p);
    free(p->table);
    free(p);
}

// The entry of this address, or the free one that it would get.
static struct publication *find(const struct publications *p, uint64_t address)
{
    size_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (p->size - 1);
    while (p->table[i].address != 0 && p->table[i].address != address)
        i = (i + 1) & (p->size - 1);
    return &p->table[i];
}

static struct publication *find_or_add(struct publications *p, uint64_t address)
{
    if (2 * p->count >= p->size) {
        struct publications larger = {.size = 2 * p->size, .count = p->count};
        larger.table = zeroed(larger.size, sizeof *larger.table);
        for (size_t i = 0; i < p->size; i++)
            if (p->table[i].address != 0)
                *find(&larger, p->table[i].address) = p->table[i];
        free(p->table);
        *p = larger;
    }
    struct publication *entry = find(p, address);
    p->count += entry->address == 0;
    entry->address = address;
    return entry;
}

// Shared memory starts at 0, which stands for no address.
static struct publications *publications_of(const struct warp *warp, bool shared, uint64_t *address)
{
    *address += shared;
    return shared ? warp->block->publications : warp->block->launch->publications;
}

// An atomic adds to what is there; a store takes its place.
void order_publish(struct warp *warp, int lane, bool shared, uint64_t address, bool replaces)
{
    struct publications *p = publications_of(warp, shared, &address);
    const struct lane_order *order = &warp->order[lane];
    if (order->published[0] == NULL && order->published[1] == NULL &&
        (!replaces || find(p, address)->address == 0))
        return;
    struct publication *entry = find_or_add(p, address);
    if (replaces || entry->block != warp->block->index)
        order_forget(&entry->knowledge[0]);
    if (replaces)
        order_forget(&entry->knowledge[1]);
    entry->block = warp->block->index;
    learn(&entry->knowledge[0], order->published[0]);
    learn(&entry->knowledge[1], order->published[1]);
}

void order_see(struct warp *warp, int lane, bool shared, uint64_t address)
{
    const struct publications *p = publications_of(warp, shared, &address);
    const struct publication *entry = find(p, address);
    if (entry->address == 0)
        return;
    if (entry->block == warp->block->index)
        learn(&warp->order[lane].seen[0], entry->knowledge[0]);
    learn(&warp->order[lane].seen[1], entry->knowledge[1]);
}

// Questions -------------------------------------------------------------------------------------

bool order_knows(const struct warp *warp, int lane, uint64_t block, int thread, uint32_t time)
{
    if (block == warp->block->index && thread < THREADS &&
        (time < warp->block->barrier_time || thread == thread_of(warp, lane)))
        return true;
    return knows(warp->order[lane].knows, block, thread, time);
}

bool order_has_seen(const struct warp *warp, int lane, uint64_t block, int thread, uint32_t time)
{
    const struct lane_order *order = &warp->order[lane];
    return order_knows(warp, lane, block, thread, time) ||
           knows(order->seen[0], block, thread, time) || knows(order->seen[1], block, thread, time);
}
