/*
 * SPDX-License-Identifier: MIT
 *
 * Sets, ways and line size of the first- and second-level data caches, from CPUID, or as
 * MPLACE_L1D and MPLACE_L2 (SETSxWAYS or SETSxWAYSxLINE) say.
 */
#ifndef MPLACE_BASE_CACHE_GEOMETRY_H
#define MPLACE_BASE_CACHE_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

struct cache_level {
    uint32_t sets; /* a power of two, 1 to 2^20 */
    uint32_t ways; /* from 1 */
    uint32_t line; /* bytes, a power of two from 16 to 4096; 64 on every x86-64 CPU so far */
};

enum cache_source {
    CACHE_FROM_CPUID,   /* leaf 4 (Intel) or 0x8000001D (AMD, Hygon) */
    CACHE_FROM_SETTING, /* MPLACE_L1D or MPLACE_L2 */
    CACHE_FROM_DEFAULT, /* CPUID tells nothing: 64x8x64 and 1024x8x64 */
};

struct cache_geometry {
    struct cache_level l1d;
    struct cache_level l2;
    enum cache_source l1d_source;
    enum cache_source l2_source;
};

/*
 * Fills *geometry. Costs some CPUID instructions (each traps in a virtual machine, about 1 us to
 * 70 us): call it once, not on a hot path. Safe before any constructor and in several threads.
 */
void cache_geometry_read(struct cache_geometry *geometry);

/* "64x12" or "64x12x64" to *level; false, *level untouched, when it is no such thing. */
bool cache_geometry_parse(const char *text, struct cache_level *level);

#endif
