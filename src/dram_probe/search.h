/*
 * SPDX-License-Identifier: MIT
 *
 * The search for the functions that choose a bank, by the time that pairs of addresses take.
 */
#ifndef MPLACE_DRAM_PROBE_SEARCH_H
#define MPLACE_DRAM_PROBE_SEARCH_H

#include "bank_malloc/dram_map.h"
#include "dram_probe/probe.h"

#include <stdint.h>

enum {
    SEARCH_ADDRESSES = 4096, /* that a probe must have: enough for some 1000 banks */
    SEARCH_CHECKED = 200,    /* pairs of one bank, and as many of different banks */
};

enum search_verdict {
    SEARCH_FOUND,
    SEARCH_NO_MEMORY,   /* the program's own: nothing is known */
    SEARCH_ONE_LATENCY, /* no pair takes clearly longer than others */
    SEARCH_NO_BANK, /* too few slow pairs, or what is slow with one address is not with another */
    SEARCH_NO_FUNCTION,  /* pairs conflict, and no function of the address says which */
    SEARCH_NOT_CONFIRMED /* functions were found and do not foretell which other pairs conflict */
};

struct search_result {
    struct dram_map map; /* of banks; its name is empty. Of FOUND and NOT_CONFIRMED only */
    uint64_t bits;       /* of the addresses that vary: no function has another */
    double fast, slow;   /* mean cycles of a pair; with ONE_LATENCY fast is that of all */
    uint32_t sets;       /* of addresses of one bank that were looked at */
    uint32_t pairs;      /* of one bank, in all sets */
    uint32_t wrong;      /* of them that the functions put into different banks */
    uint32_t
        same_slow; /* of SEARCH_CHECKED other pairs, of one bank by the map, those that conflict */
    uint32_t different_slow; /* the same of different banks */
};

/* Deterministic for a seed if the probe is. Takes some ten million measurements of a pair at most.
 */
enum search_verdict search_functions(const struct dram_probe *probe, uint64_t seed,
                                     struct search_result *result);

#endif
