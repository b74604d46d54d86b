/*
 * SPDX-License-Identifier: MIT
 *
 * A memory controller alone: its machine by settings, and requests at given clocks.
 */
#ifndef TESTS_UNIT_CHIP_DRAM_FIXTURE_H
#define TESTS_UNIT_CHIP_DRAM_FIXTURE_H

#include "chip/memory/dram.h"

#include <check.h>

/* One controller with the timings of a part, and further keys: name, value, ..., NULL. */
static inline struct machine dram_machine(const char *part, const char *const *settings)
{
    struct machine machine;
    char problem[2048];

    machine_defaults(&machine);
    machine_parts(&machine, CHIP_PARTS);
    ck_assert(machine_set(&machine, "memory.model", "dram", problem, sizeof problem));
    ck_assert(machine_set(&machine, "memory.controllers", "1", problem, sizeof problem));
    ck_assert_msg(machine_set(&machine, "memory.part", part, problem, sizeof problem), "%s",
                  problem);
    for (unsigned i = 0; settings[i] != NULL; i += 2)
        ck_assert_msg(machine_set(&machine, settings[i], settings[i + 1], problem, sizeof problem),
                      "%s", problem);
    ck_assert_msg(machine_check(&machine, problem, sizeof problem), "%s", problem);
    return machine;
}

/* All that is left to do is done. */
static inline void dram_finish(struct dram *dram)
{
    uint64_t next = 0;

    while ((next = dram_run(dram, next)) != UINT64_MAX)
        ;
}

#endif
