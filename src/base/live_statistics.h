/*
 * SPDX-License-Identifier: MIT
 *
 * Statistics that another process reads while this one runs (MPLACE_STATS_LIVE=1, "mplace stats").
 *
 * What is published is not the counts but where they are: a page that is written once, mapped
 * read-only, and found by its name in /proc/PID/maps. The reader takes the counts from this
 * process's memory by process_vm_readv and adds them up itself. So the process does nothing for
 * it, whether it runs, sleeps, or is stopped; and no memory is shared that another process could
 * write or cut short, or that the child of a fork would go on counting in. The child has the page
 * too, and its own counts where it says.
 */
#ifndef MPLACE_BASE_LIVE_STATISTICS_H
#define MPLACE_BASE_LIVE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mapping's name in /proc/PID/maps. */
#define LIVE_MAPPING_NAME "mplace-statistics"
#define LIVE_MAGIC        "mplace counters"

/* How every published page begins. */
struct live_header {
    char magic[16];
    char library[24]; /* "libcia_malloc": says what follows */
    /* LIVE_LAYOUT. What is published, and the structures that it leads to, have the same layout for
       who was built from the same headers. */
    uint64_t layout;
};

/* Whether MPLACE_STATS_LIVE asks for it. For constructors. */
bool live_statistics_wanted(void);

/*
 * Publishes a copy of the header and what follows it, for the life of the process; bytes is the
 * size of both. One line on standard error if that cannot be done. For constructors.
 */
void live_statistics_publish(struct live_header *header, const char *library, size_t bytes);

#endif
