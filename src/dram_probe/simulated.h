/*
 * SPDX-License-Identifier: MIT
 *
 * A memory that conflicts as a map says, with the noise of a real one, for trying the search.
 */
#ifndef MPLACE_DRAM_PROBE_SIMULATED_H
#define MPLACE_DRAM_PROBE_SIMULATED_H

#include "bank_malloc/dram_map.h"
#include "dram_probe/probe.h"

#include <stdbool.h>
#include <stdint.h>

/* Cycles of a pair of reads; rates are of a million. */
struct simulated_noise {
    uint32_t different; /* of different banks, or of one row */
    uint32_t conflict;  /* what a row conflict adds */
    uint32_t jitter;    /* standard deviation of each measurement */
    uint32_t spike_rate,
        spike;           /* measurements that take longer, by up to spike: refresh, interrupts */
    uint32_t wrong_rate; /* pairs that always take the other time */
};

extern const struct simulated_noise simulated_noise_usual;

struct simulated_memory {
    struct dram_map map; /* controllers are told apart by it as banks are */
    struct simulated_noise noise;
    /* Whoever reads these addresses sees others: each page of 4 KiB lies in a random one, as under
       a hypervisor. */
    bool scrambled;
    uint64_t seed;
    uint64_t state; /* of the random generator; begins as the seed */
    uint64_t *physical;
    size_t count;
};

/* Takes count lines of 64 bytes at random from the first 1 << bits bytes, all different. False: out
 * of memory. The map, the noise and the seed are set by the caller. */
bool simulated_open(struct simulated_memory *memory, size_t count, unsigned bits);
void simulated_close(struct simulated_memory *memory);

/* The memory must outlive the probe. */
struct dram_probe simulated_probe(struct simulated_memory *memory);

/* Bits of addresses that have all of a map's functions in them; at least 30. */
unsigned simulated_bits(const struct dram_map *map);

#endif
