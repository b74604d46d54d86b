/*
 * SPDX-License-Identifier: MIT
 *
 * A home's directory; see directory.h.
 */
#include "chip/coherence/directory.h"

#include <stdlib.h>

#define EMPTY UINT64_MAX

bool directory_init(struct directory *directory, uint32_t sets, uint32_t ways, uint32_t ways_most,
                    uint32_t shift)
{
    size_t places = (size_t)sets * ways_most;

    *directory =
        (struct directory){.sets = sets, .ways = ways, .ways_most = ways_most, .shift = shift};
    directory->entries = malloc(places * sizeof *directory->entries);
    if (directory->entries == NULL)
        return false;
    for (size_t i = 0; i < places; i++)
        directory->entries[i].block = EMPTY;
    return true;
}

void directory_destroy(struct directory *directory)
{
    free(directory->entries);
}

static struct directory_entry *set_of(const struct directory *directory, uint64_t block)
{
    return &directory
                ->entries[(block >> directory->shift) % directory->sets * directory->ways_most];
}

struct directory_entry *directory_find(struct directory *directory, uint64_t block)
{
    struct directory_entry *set = set_of(directory, block);

    for (uint32_t way = 0; way < directory->ways; way++) {
        if (set[way].block == block) {
            set[way].stamp = ++directory->clock;
            return &set[way];
        }
    }
    return NULL;
}

struct directory_entry *directory_victim(struct directory *directory, uint64_t block,
                                         bool (*is_busy)(void *context, uint64_t block),
                                         void *context)
{
    struct directory_entry *set = set_of(directory, block), *oldest = NULL;

    for (uint32_t way = 0; way < directory->ways; way++) {
        if (set[way].block == EMPTY)
            return &set[way];
        if ((oldest == NULL || set[way].stamp < oldest->stamp) && !is_busy(context, set[way].block))
            oldest = &set[way];
    }
    return oldest;
}

void directory_put(struct directory *directory, struct directory_entry *entry, uint64_t block)
{
    *entry = (struct directory_entry){
        .block = block, .stamp = ++directory->clock, .owner = DIRECTORY_NO_OWNER};
}

void directory_shrink(struct directory *directory)
{
    directory->ways--;
    for (uint32_t set = 0; set < directory->sets; set++)
        directory->entries[(size_t)set * directory->ways_most + directory->ways].block = EMPTY;
}

void directory_grow(struct directory *directory)
{
    directory->ways++;
}
