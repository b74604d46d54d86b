/*
 * SPDX-License-Identifier: MIT
 *
 * The counting Bloom filter; see filter_cbf.h.
 */
#include "chip/coherence/filter_cbf.h"

#include "chip/engine/block_map.h"

#include <stdlib.h>

bool filter_cbf_init(struct filter *filter, const struct machine *machine, uint32_t rows)
{
    enum { USUAL_COUNTER = 4 }; /* section IV-A */
    uint32_t counter = machine->filter.counter_bits;
    uint64_t bits = (uint64_t)filter->tables * rows * FILTER_ROW_BITS, size;

    if (counter == 0)
        counter = USUAL_COUNTER;
    size = bits / counter / machine->filter.hashes;
    filter->most = (1u << counter) - 1;
    filter->hashes = machine->filter.hashes;
    filter->size = size == 0 ? 1 : (uint32_t)size;
    filter->places = calloc((size_t)filter->size * filter->hashes, sizeof *filter->places);
    return filter->places != NULL;
}

/* The block's counter of a hash function. */
static uint32_t *counter(const struct filter *filter, uint32_t hash, uint64_t block)
{
    uint64_t mixed = block_map_hash((block >> filter->shift) * MACHINE_BANKS_MOST + hash);

    return &filter->places[(size_t)hash * filter->size + mixed % filter->size];
}

bool filter_cbf_holds(const struct filter *filter, uint64_t block)
{
    for (uint32_t hash = 0; hash < filter->hashes; hash++)
        if (*counter(filter, hash, block) == 0)
            return false;
    return true;
}

bool filter_cbf_has_room(const struct filter *filter, uint64_t block)
{
    for (uint32_t hash = 0; hash < filter->hashes; hash++)
        if (*counter(filter, hash, block) == filter->most)
            return false;
    return true;
}

void filter_cbf_insert(struct filter *filter, uint64_t block)
{
    for (uint32_t hash = 0; hash < filter->hashes; hash++)
        ++*counter(filter, hash, block);
}

void filter_cbf_remove(struct filter *filter, uint64_t block)
{
    for (uint32_t hash = 0; hash < filter->hashes; hash++)
        --*counter(filter, hash, block);
}

bool filter_cbf_shares(const struct filter *filter, uint64_t block, uint64_t other)
{
    for (uint32_t hash = 0; hash < filter->hashes; hash++) {
        const uint32_t *full = counter(filter, hash, block);

        if (*full == filter->most && full == counter(filter, hash, other))
            return true;
    }
    return false;
}
