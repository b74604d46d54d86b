/*
 * SPDX-License-Identifier: MIT
 *
 * Whether the values of a machine go together, the memory's timings among them: machine_check of
 * machine.h. What a single key may be is in the table of keys.c.
 */
#include "chip/machine/machine.h"

#include <string.h>

/* banks: in which `size` is divided. */
static bool check_sets(const char *name, uint64_t size, uint64_t banks, uint64_t ways,
                       const struct machine *machine, char *problem, size_t length)
{
    uint64_t set = ways * machine->block * banks, sets = size / set;

    if (sets != 0 && (sets & (sets - 1)) == 0 && sets * set == size)
        return true;
    snprintf(problem, length,
             "%s.size = %llu: %s a cache of %llu ways and blocks of %u bytes has no sets of which "
             "the number is a power of two",
             name, (unsigned long long)size, strcmp(name, "llc") == 0 ? "in a bank," : "with it,",
             (unsigned long long)ways, machine->block);
    return false;
}

/* In memory clocks: whatever the order of its commands, a request is served within this time. */
static uint32_t sum_of_timings(const struct machine *machine)
{
    return machine->memory.tCL + machine->memory.tCWL + machine->memory.tRCD + machine->memory.tRP +
           machine->memory.tRAS + machine->memory.tRC + machine->memory.tRRD +
           machine->memory.tRRD_L + machine->memory.tFAW + machine->memory.tWR +
           machine->memory.tWTR + machine->memory.tWTR_L + machine->memory.tRTP +
           machine->memory.tCCD + machine->memory.tCCD_L + machine->memory.tCCD_L_WR +
           machine->memory.tRTRS + machine->memory.tRFC + machine->memory.burst;
}

static bool check_dram(const struct machine *machine, char *problem, size_t length)
{
    uint32_t all = sum_of_timings(machine);
    struct address_map map;

    if (machine->memory.row_bytes < machine->block) {
        snprintf(problem, length, "memory.row_bytes = %u: a block has %u bytes",
                 machine->memory.row_bytes, machine->block);
        return false;
    }
    if (machine->memory.bank_groups > machine->memory.banks) {
        snprintf(problem, length, "memory.bank_groups = %u: a rank has %u banks",
                 machine->memory.bank_groups, machine->memory.banks);
        return false;
    }
    if (machine->memory.refresh == MACHINE_ON && machine->memory.tREFI < 2 * all) {
        snprintf(problem, length,
                 "memory.tREFI = %u: allowed is %u, twice the sum of the other timings, or more",
                 machine->memory.tREFI, 2 * all);
        return false;
    }
    return machine_address_map(machine, &map, problem, length);
}

bool machine_check(const struct machine *machine, char *problem, size_t length)
{
    uint32_t tiles = machine->mesh.width * machine->mesh.height;

    if (!check_sets("l1", machine->l1.size, 1, machine->l1.ways, machine, problem, length) ||
        !check_sets("l2", machine->l2.size, 1, machine->l2.ways, machine, problem, length) ||
        !check_sets("llc", machine->llc.size, machine->llc.banks, machine->llc.ways, machine,
                    problem, length))
        return false;
    if (machine->core.count > tiles) {
        snprintf(problem, length, "core.count = %u: a mesh of %ux%u has %u tiles, one a core",
                 machine->core.count, machine->mesh.width, machine->mesh.height, tiles);
        return false;
    }
    if (machine->coherence.partition == MACHINE_ADAPTIVE && machine->filter.kind == MACHINE_CBF) {
        snprintf(
            problem, length,
            "coherence.partition = adaptive: a filter of kind cbf cannot be moved, only dleft");
        return false;
    }
    if (machine->persistence.protocol != MACHINE_NO_PERSISTENCE && machine->block != 64) {
        snprintf(problem, length, "persistence.protocol: block = %u: a block of the log has 64",
                 machine->block);
        return false;
    }
    if (machine->persistence.protocol != MACHINE_NO_PERSISTENCE &&
        machine->coherence.protocol == MACHINE_TOKEN) {
        snprintf(problem, length,
                 "persistence.protocol: coherence.protocol = token: sparse or flask is needed");
        return false;
    }
    if (machine->memory.ports > machine->mesh.width) {
        snprintf(problem, length, "memory.ports = %u: a row of the mesh has %u tiles",
                 machine->memory.ports, machine->mesh.width);
        return false;
    }
    if (machine->memory.model == MACHINE_DRAM)
        return check_dram(machine, problem, length);
    return true;
}
