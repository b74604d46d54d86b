/*
 * SPDX-License-Identifier: MIT
 *
 * What the search asks of a memory: addresses, and how long a pair of them takes. This machine's
 * memory answers (timing.h), or a simulated one (simulated.h).
 */
#ifndef MPLACE_DRAM_PROBE_PROBE_H
#define MPLACE_DRAM_PROBE_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct dram_probe {
    const uint64_t *physical; /* of each address; no two are of one cache line */
    size_t count;
    /*
     * One measurement, in cycles: the time of reading two different addresses, given by index, of
     * which no cache holds a copy. A row conflict is when both lie in one bank in different rows:
     * the second read waits until the bank has closed one row and opened the other.
     */
    uint32_t (*measure)(void *context, size_t first, size_t second);
    void *context;
};

#endif
