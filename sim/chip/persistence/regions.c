/*
 * SPDX-License-Identifier: MIT
 *
 * See regions.h.
 */
#include "chip/persistence/regions.h"

#include "chip/engine/allocation.h"

#include <string.h>

/* The first interval that ends at the block or behind it. */
static size_t place_of(const struct regions *regions, uint64_t block)
{
    size_t low = 0, high = regions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (regions->of[middle].last < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool regions_have(const struct regions *regions, uint64_t block)
{
    size_t at = place_of(regions, block);

    return at < regions->count && regions->of[at].first <= block;
}

void regions_add(struct regions *regions, uint64_t first, uint64_t last)
{
    /* Neighbours that touch it become part of it. */
    size_t begin = place_of(regions, first > 0 ? first - 1 : 0), end = begin;

    while (end < regions->count && regions->of[end].first <= last + 1) {
        first = regions->of[end].first < first ? regions->of[end].first : first;
        last = regions->of[end].last > last ? regions->of[end].last : last;
        end++;
    }
    if (regions->count == regions->room) {
        regions->room = regions->room == 0 ? 16 : 2 * regions->room;
        regions->of = allocation_checked(realloc(regions->of, regions->room * sizeof *regions->of));
    }
    memmove(&regions->of[begin + 1], &regions->of[end],
            (regions->count - end) * sizeof *regions->of);
    regions->count = regions->count - (end - begin) + 1;
    regions->of[begin] = (struct region){first, last};
}

void regions_destroy(struct regions *regions)
{
    free(regions->of);
}
