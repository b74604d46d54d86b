/*
 * SPDX-License-Identifier: MIT
 *
 * The hash table; see block_map.h.
 */
#include "chip/engine/block_map.h"

#include "chip/engine/allocation.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY UINT64_MAX

void block_map_destroy(struct block_map *map)
{
    free(map->entries);
}

/* The block's entry or the empty one where it would go. */
static struct block_map_entry *probe(const struct block_map *map, uint64_t block)
{
    size_t at = block_map_hash(block) & map->mask;

    while (map->entries[at].block != block && map->entries[at].block != EMPTY)
        at = (at + 1) & map->mask;
    return &map->entries[at];
}

uint64_t *block_map_find(const struct block_map *map, uint64_t block)
{
    struct block_map_entry *entry;

    if (map->used == 0)
        return NULL;
    entry = probe(map, block);
    return entry->block == block ? &entry->value : NULL;
}

static void grow(struct block_map *map)
{
    struct block_map old = *map;
    size_t places = old.entries == NULL ? 64 : 2 * (old.mask + 1);

    map->entries = allocation_checked(malloc(places * sizeof *map->entries));
    memset(map->entries, 0xff, places * sizeof *map->entries);
    map->mask = places - 1;
    for (size_t i = 0; old.entries != NULL && i <= old.mask; i++)
        if (old.entries[i].block != EMPTY)
            *probe(map, old.entries[i].block) = old.entries[i];
    free(old.entries);
}

uint64_t *block_map_add(struct block_map *map, uint64_t block)
{
    struct block_map_entry *entry;

    if (map->entries == NULL || 2 * map->used > map->mask)
        grow(map);
    entry = probe(map, block);
    if (entry->block != block) {
        *entry = (struct block_map_entry){.block = block};
        map->used++;
    }
    return &entry->value;
}

void block_map_remove(struct block_map *map, uint64_t block)
{
    struct block_map_entry *entry;
    size_t hole, at;

    if (map->used == 0)
        return;
    entry = probe(map, block);
    if (entry->block != block)
        return;
    map->used--;
    /* Those behind it that probed past the hole move into it. */
    hole = (size_t)(entry - map->entries);
    for (at = (hole + 1) & map->mask; map->entries[at].block != EMPTY; at = (at + 1) & map->mask) {
        size_t wanted = block_map_hash(map->entries[at].block) & map->mask;

        if (((at - wanted) & map->mask) >= ((at - hole) & map->mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].block = EMPTY;
}
