/*
 * SPDX-License-Identifier: MIT
 *
 * The machine; see machine.h. hwloc knows which L1D belongs to which CPU (they differ on hybrid
 * processors) and binds the thread.
 */
#include "harness/machine.h"

#include <fcntl.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void machine_clean_name(char *to, size_t size, const char *from)
{
    size_t length = 0;

    for (; *from != '\0' && length + 1 < size; from++) {
        unsigned char c = (unsigned char)*from;

        if (c == ' ' || c == '\t') {
            if (length > 0 && to[length - 1] != ' ')
                to[length++] = ' ';
        } else if (c > ' ' && c != 127 && c != ',' && c != '"' && c != '\'' && c != ';') {
            to[length++] = (char)c;
        }
    }
    while (length > 0 && to[length - 1] == ' ')
        length--;
    to[length] = '\0';
}

/* The first "model name" of /proc/cpuinfo, which stands well within its first page. */
static void read_model_name(char *to, size_t size)
{
    char text[4096];
    int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);

    if (file >= 0)
        close(file);
    text[length < 0 ? 0 : length] = '\0';
    char *name = strstr(text, "model name");
    if (name != NULL)
        name = strchr(name, ':');
    if (name != NULL) {
        name++;
        name[strcspn(name, "\n")] = '\0';
    }
    machine_clean_name(to, size, name != NULL ? name : "unknown");
}

static bool read_cache(hwloc_topology_t topology, unsigned cpu, struct l1d_geometry *geometry)
{
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, cpu);

    while (object != NULL && object->type != HWLOC_OBJ_L1CACHE)
        object = object->parent;
    /* Associativity is 0 where unknown and -1 where full: neither has an index to speak of. */
    if (object == NULL || object->attr->cache.associativity <= 0 ||
        object->attr->cache.linesize == 0)
        return false;
    struct l1d_geometry found = {
        .ways = (uint32_t)object->attr->cache.associativity,
        .line = object->attr->cache.linesize,
    };
    found.sets = (uint32_t)(object->attr->cache.size / found.line / found.ways);
    if (!l1d_geometry_is_plausible(&found))
        return false;
    *geometry = found;
    return true;
}

/* MPLACE_L1D as the preload libraries read it: a bad value is one line and as if unset. */
static bool read_cache_setting(struct l1d_geometry *geometry)
{
    const char *text = getenv("MPLACE_L1D");

    if (text == NULL || *text == '\0')
        return false;
    if (l1d_geometry_parse(text, geometry))
        return true;
    fprintf(stderr,
            "mplace: MPLACE_L1D=%s is not allowed (SETSxWAYS or SETSxWAYSxLINE; sets and line are "
            "powers of two); using the default\n",
            text);
    return false;
}

static bool pin(hwloc_topology_t topology, unsigned cpu, char *complaint, size_t complaint_size)
{
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, cpu);

    if (object != NULL && hwloc_set_cpubind(topology, object->cpuset, HWLOC_CPUBIND_THREAD) == 0)
        return true;
    char allowed[256] = "";
    hwloc_bitmap_list_snprintf(allowed, sizeof allowed,
                               hwloc_topology_get_allowed_cpuset(topology));
    snprintf(complaint, complaint_size, "--pin %u: this process may use the CPUs %s", cpu, allowed);
    return false;
}

bool machine_read(struct machine *machine, int pin_cpu, bool emulated, char *complaint,
                  size_t complaint_size)
{
    *machine = (struct machine){.l1d = {.sets = 64, .ways = 8, .line = 64}};

    char host[sizeof machine->host] = "";
    gethostname(host, sizeof host - 1);
    machine_clean_name(machine->host, sizeof machine->host, host);
    read_model_name(machine->cpu, sizeof machine->cpu);

    time_t now = time(NULL);
    struct tm utc;
    strftime(machine->date, sizeof machine->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));

    hwloc_topology_t topology;
    /* Without /sys it says so on standard error, each time: our own complaints are enough. */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (hwloc_topology_init(&topology) != 0) {
        snprintf(complaint, complaint_size, "hwloc cannot start");
        return false;
    }
    /* CPUs and their L1D are all that is asked for; the rest would only cost time and memory. */
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L1CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (emulated)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    bool good = hwloc_topology_load(topology) == 0;
    if (!good)
        snprintf(complaint, complaint_size, "hwloc cannot read this machine's topology");
    if (good && pin_cpu != MACHINE_NO_PIN) {
        good = pin(topology, (unsigned)pin_cpu, complaint, complaint_size);
        snprintf(machine->pinned, sizeof machine->pinned, "%d", pin_cpu);
    }
    if (good && !read_cache_setting(&machine->l1d) &&
        !read_cache(topology, (unsigned)sched_getcpu(), &machine->l1d))
        fprintf(stderr, "mplace: this machine does not tell its L1D geometry; assuming %ux%ux%u\n",
                machine->l1d.sets, machine->l1d.ways, machine->l1d.line);
    hwloc_topology_destroy(topology);
    return good;
}
