/*
 * SPDX-License-Identifier: MIT
 *
 * Writes what was sampled as pprof's profile.proto, in gzip: a sample for each site, with four
 * values (objects and bytes allocated, objects and bytes in use) and two labels (the class and the
 * L1 set), and for each call in a file that can be read the function it is in. Calls only what a
 * signal handler may call.
 */
#ifndef MPLACE_CIA_PROFILE_DUMP_H
#define MPLACE_CIA_PROFILE_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct dump_facts {
    uint64_t interval, seed;
    uint64_t lost; /* samples that there was no memory for */
};

/* One thread at a time. False when the file could not be written, or there is no memory. */
bool dump_write(int fd, const struct dump_facts *facts);

/* How much dump_write has done since the process began: while it changes, a thread that waits for
   another one's goes on waiting. */
uint64_t dump_progress(void);

#endif
