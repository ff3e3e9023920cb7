#include "facts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "emulator.h"
#include "launch.h"
#include "request.h"
#include "tensor.h"

static int64_t sm_threads(void)
{
    return device_model()->sm_threads;
}

static int64_t sm_blocks(void)
{
    return device_model()->sm_blocks;
}

static int64_t sm_shared_bytes(void)
{
    return device_model()->sm_shared_bytes;
}

static int64_t shared_unit(void)
{
    return device_shared_unit();
}

static int64_t reserved_bytes(void)
{
    return device_reserved_bytes();
}

static int64_t shared_start(void)
{
    return (int64_t)shared_base();
}

static const struct fact {
    const char *name;
    enum topic topic;
    int measured_on; // the capability, times ten, of the GPU that the test has run on; 0: none
    int64_t constant;
    int64_t (*value)(void); // of the modelled GPU, where it is not the same for all
} facts[] = {
    {"sector_bytes", TOPIC_SECTORS, 90, SECTOR_BYTES, NULL},
    {"requests_of_an_access", TOPIC_SECTORS, 90, 1, NULL},
    {"requests_of_a_copy", TOPIC_SECTORS, 90, 1, NULL},
    {"global_requests_of_a_fetch", TOPIC_SECTORS, 90, 0, NULL},
    {"fetch_sector_bytes", TOPIC_TEXTURES, 0, SECTOR_BYTES, NULL},
    {"bulk_sector_bytes", TOPIC_BULK, 0, SECTOR_BYTES, NULL},
    {"atomic_sector_bytes", TOPIC_ATOMICS, 0, SECTOR_BYTES, NULL},
    {"banks", TOPIC_BANKS, 90, BANKS, NULL},
    {"bank_bytes", TOPIC_BANKS, 90, BANK_BYTES, NULL},
    {"group_bytes", TOPIC_BANKS, 90, GROUP_BYTES, NULL},
    {"groups_of_paired_loads", TOPIC_BANKS, 90, PAIRED_GROUPS, NULL},
    {"groups_of_paired_stores", TOPIC_BANKS, 90, 1, NULL},
    {"bytes_of_a_narrow_access", TOPIC_NARROW, 0, BANK_BYTES, NULL},
    {"tensor_bits_kept", TOPIC_TENSOR, 90, TENSOR_KEPT, NULL},
    {"wgmma_bits_kept", TOPIC_WGMMA, 90, TENSOR_KEPT, NULL},
    {"sm_threads", TOPIC_OCCUPANCY, 0, 0, sm_threads},
    {"sm_blocks", TOPIC_OCCUPANCY, 0, 0, sm_blocks},
    {"sm_registers", TOPIC_OCCUPANCY, 0, SM_REGISTERS, NULL},
    {"sm_register_parts", TOPIC_OCCUPANCY, 0, SM_PARTS, NULL},
    {"register_unit", TOPIC_OCCUPANCY, 0, REGISTER_UNIT, NULL},
    {"sm_shared_bytes", TOPIC_OCCUPANCY, 0, 0, sm_shared_bytes},
    {"shared_unit_bytes", TOPIC_OCCUPANCY, 0, 0, shared_unit},
    {"reserved_shared_bytes", TOPIC_OCCUPANCY, 0, 0, reserved_bytes},
    {"shared_start", TOPIC_NONE, 0, 0, shared_start},
    {"texels_outside", TOPIC_NONE, 0, 0, NULL},
    {"copied_bytes_beyond_size", TOPIC_NONE, 0, 0, NULL},
    {"most_texels", TOPIC_NONE, 0, MAX_TEXELS, NULL},
    {"most_blocks_x", TOPIC_NONE, 0, MAX_GRID_X, NULL},
    {"most_blocks_yz", TOPIC_NONE, 0, MAX_GRID_YZ, NULL},
    {"most_threads_of_a_block", TOPIC_NONE, 0, MAX_BLOCK_THREADS, NULL},
};

enum {
    FACTS = sizeof facts / sizeof *facts,
};

bool topic_is_measured(enum topic topic)
{
    for (int i = 0; i < FACTS; i++)
        if (facts[i].topic == topic && facts[i].measured_on != device_capability())
            return false;
    return true;
}

const char *topic_name(enum topic topic)
{
    static const char *const names[] = {"sectors",         "wavefronts",  "narrow wavefronts",
                                        "texture sectors", "bulk copies", "atomics",
                                        "tensor cores",    "wgmma",       "occupancy"};
    return names[topic];
}

void emulator_print_facts(FILE *out)
{
    const int modelled = emulator_settings.capability;
    for (int i = 0; i < FACTS; i++)
        for (int model = 0; device_capability_of(model) != 0; model++) {
            emulator_settings.capability = device_capability_of(model);
            fprintf(out, "%s\tsm_%d\t%" PRId64 "\t%s\n", facts[i].name,
                    emulator_settings.capability,
                    facts[i].value != NULL ? facts[i].value() : facts[i].constant,
                    emulator_settings.capability == facts[i].measured_on ? "measured" : "assumed");
        }
    emulator_settings.capability = modelled;
}
