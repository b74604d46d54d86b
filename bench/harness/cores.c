/*
 * SPDX-License-Identifier: MIT
 *
 * Physical cores; see cores.h.
 */
#include "harness/cores.h"

#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a core's hardware threads the first that is allowed; of a CPU without a core, itself. */
static void collect(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, struct cores *cores)
{
    hwloc_obj_t cpu = NULL, core_before = NULL;

    while ((cpu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, cpu)) != NULL) {
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, cpu);

        if (!hwloc_bitmap_isset(allowed, cpu->os_index) || cores->count == CORES_MOST ||
            (core != NULL && core == core_before))
            continue;
        core_before = core;
        cores->cpu[cores->count++] = cpu->os_index;
    }
}

bool cores_read(struct cores *cores, bool emulated, char *complaint, size_t complaint_size)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();

    cores->count = 0;
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* as in machine.c */
    if (allowed == NULL || hwloc_topology_init(&topology) != 0) {
        hwloc_bitmap_free(allowed);
        snprintf(complaint, complaint_size, "hwloc cannot start");
        return false;
    }
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (emulated)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    /* What this thread was bound to, by taskset for one, is all that its children may use. */
    if (hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) == 0)
        collect(topology, allowed, cores);
    hwloc_topology_destroy(topology);
    hwloc_bitmap_free(allowed);
    if (cores->count == 0)
        snprintf(complaint, complaint_size, "hwloc cannot tell which CPUs this process may use");
    return cores->count != 0;
}

/* A set of one CPU; CPU_ALLOC would go to the allocator. */
struct one_cpu {
    unsigned long word[CORES_CPUS_MOST / (8 * sizeof(unsigned long))];
};

static bool one_cpu(struct one_cpu *set, unsigned cpu)
{
    enum { WORD_BITS = 8 * sizeof set->word[0] };

    *set = (struct one_cpu){{0}};
    if (cpu >= CORES_CPUS_MOST)
        return false;
    set->word[cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
    return true;
}

int cores_bind_self(unsigned cpu)
{
    struct one_cpu set;

    if (!one_cpu(&set, cpu))
        return EINVAL;
    return sched_setaffinity(0, sizeof set, (cpu_set_t *)&set) == 0 ? 0 : errno;
}

void cores_text(char *to, size_t size, const struct cores *cores, size_t count)
{
    size_t length = 0;

    to[0] = '\0';
    for (size_t i = 0; i < count && i < cores->count; i++) {
        int written =
            snprintf(to + length, size - length, "%s%u", i == 0 ? "" : ";", cores->cpu[i]);
        /* Room for the three dots is kept at all times. */
        if (length + (size_t)written + 4 > size) {
            snprintf(to + length, size - length, "...");
            return;
        }
        length += (size_t)written;
    }
}
