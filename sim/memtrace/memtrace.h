/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the user chose, and what all files of the tool share.
 */
#ifndef MEMTRACE_H
#define MEMTRACE_H

#include "program_calls/valgrind_api.h"

struct memtrace_options {
    const HChar *pipe; /* where the writer listens; NULL: nothing is recorded */
    Bool values;       /* what is stored is recorded, too */
    Long max_accesses; /* 0: no limit */
    Long seed;         /* of how threads interleave */
    Int turn;          /* mean blocks of code until another processor goes on */
};

extern struct memtrace_options options;

#endif
