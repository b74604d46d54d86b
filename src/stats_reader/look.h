/*
 * SPDX-License-Identifier: MIT
 *
 * All counts of a process at one moment.
 */
#ifndef MPLACE_STATS_READER_LOOK_H
#define MPLACE_STATS_READER_LOOK_H

#include "stats_reader/reader.h"

struct look {
    bool has_cia, has_locks;
    uint64_t cia_page, locks_page; /* inodes, 0: none. Another page is another program's. */
    struct cia_summary cia;
    struct lock_report locks;
    double time; /* seconds, of the monotonic clock */
};

enum look_result {
    LOOK_TAKEN,
    LOOK_GONE,          /* the process ended meanwhile */
    LOOK_OTHER_VERSION, /* of mplace: its counts may lie elsewhere */
};

/* most: as for read_locks. *library: the one of LOOK_OTHER_VERSION, a text of the target. */
enum look_result look_at(struct target *target, int most, struct look *look, const char **library);

/* Takes it or refuses; false: the process has ended. */
bool look_or_refuse(struct target *target, int most, struct look *look);

#endif
