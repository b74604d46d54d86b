/*
 * SPDX-License-Identifier: MIT
 *
 * Memory of this process whose physical addresses are known: /proc/self/pagemap, which tells them
 * to those who have CAP_SYS_ADMIN.
 */
#ifndef MPLACE_DRAM_PROBE_PHYSICAL_H
#define MPLACE_DRAM_PROBE_PHYSICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct physical_sample {
    uint64_t *physical;
    const volatile char **line; /* where each address is mapped */
    size_t count;
    void *pool;
    size_t pool_size;
};

enum physical_result {
    PHYSICAL_TAKEN,
    PHYSICAL_NO_MEMORY,
    PHYSICAL_NO_PAGEMAP, /* it cannot be opened or read: errno says why */
    PHYSICAL_HIDDEN,     /* all addresses read as 0: no CAP_SYS_ADMIN */
};

/*
 * Maps a pool of pool_size bytes, a multiple of the page size, and takes count lines of 64 bytes
 * out of it, each in a page drawn at random and no line twice; the pool must have at least twice as
 * many lines. On PHYSICAL_TAKEN only there is something to free.
 */
enum physical_result physical_sample_take(struct physical_sample *sample, size_t pool_size,
                                          size_t count, uint64_t seed);
void physical_sample_free(struct physical_sample *sample);

/* The program runs in a virtual machine: what it takes for physical addresses, the hypervisor
 * translates once more. */
bool physical_is_virtual_machine(void);

#endif
