#include "request.h"

// The words of each bank that a group wants, in the order of its lanes.
struct banks {
    uint32_t words[BANKS][LANES];
    int count[BANKS];
};

static int words_of(int bytes)
{
    return bytes < BANK_BYTES ? 1 : bytes / BANK_BYTES;
}

// The turn at which the word's bank serves it.
static int turn_of(struct banks *banks, uint32_t word)
{
    const uint32_t bank = word % BANKS;
    int turn = 0;
    while (turn < banks->count[bank] && banks->words[bank][turn] != word)
        turn++;
    if (turn == banks->count[bank])
        banks->words[bank][banks->count[bank]++] = word;
    return turn;
}

static void serve_group(struct service *service, uint32_t lanes, const uint32_t addresses[LANES],
                        int words)
{
    struct banks banks = {.count = {0}};
    int turns = 0;
    if (lanes == 0)
        return;
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < words && (lanes >> l & 1); i++) {
            const int turn = turn_of(&banks, addresses[l] / BANK_BYTES + (uint32_t)i);
            service->turn[l][i] = (uint8_t)turn;
            turns = turn + 1 > turns ? turn + 1 : turns;
        }
    service->lanes[service->groups] = lanes;
    service->turns[service->groups++] = turns;
    service->wavefronts += turns;
    service->conflicts += turns - 1;
}

// Whether each of the lanes wants what the lane does whose number differs in these bits.
static bool pairs_share(uint32_t lanes, const uint32_t addresses[LANES], int bits)
{
    for (int l = 0; l < LANES; l++)
        if ((lanes >> l & 1) && (lanes >> (l ^ bits) & 1) && addresses[l] != addresses[l ^ bits])
            return false;
    return true;
}

struct service serve_shared(uint32_t active, const uint32_t addresses[LANES], int bytes, bool load)
{
    const int words = words_of(bytes);
    const int size = GROUP_BYTES / BANK_BYTES / words; // lanes of a group
    const uint64_t mask = (UINT64_C(1) << size) - 1;
    struct service service = {.groups = 0};
    for (int first = 0; first < LANES; first += PAIRED_GROUPS * size) {
        const uint32_t left = active & (uint32_t)(mask << first);
        const uint32_t right = active & (uint32_t)(mask << first << size);
        const uint32_t both = left | right;
        if (load && size < LANES &&
            (pairs_share(both, addresses, 1) || pairs_share(both, addresses, 2))) {
            serve_group(&service, both, addresses, words);
        } else {
            serve_group(&service, left, addresses, words);
            serve_group(&service, right, addresses, words);
        }
    }
    return service;
}

int count_sectors(uint32_t active, const uint64_t addresses[LANES])
{
    uint64_t sectors[LANES];
    int count = 0;
    for (int l = 0; l < LANES; l++) {
        const uint64_t sector = addresses[l] / SECTOR_BYTES;
        int same = 0;
        while (same < count && sectors[same] != sector)
            same++;
        if ((active >> l & 1) && same == count)
            sectors[count++] = sector;
    }
    return count;
}
