/*
 * SPDX-License-Identifier: MIT
 *
 * Which blocks are persistent: a set of block numbers as intervals, in order and merged where they
 * touch. A lookup is a binary search; adding an interval moves those behind it.
 */
#ifndef CHIP_REGIONS_H
#define CHIP_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct regions {
    struct region {
        uint64_t first, last; /* both are in it */
    } * of;
    size_t count, room;
};

/* first <= last. Ends the program when there is no memory. */
void regions_add(struct regions *regions, uint64_t first, uint64_t last);
bool regions_have(const struct regions *regions, uint64_t block);
void regions_destroy(struct regions *regions);

#endif
