/*
 * SPDX-License-Identifier: MIT
 *
 * See tables.h. The mapping begins with its capacity; then comes what the child of a fork trusts,
 * unread and the set of chunks that are not free, up to a page's end; then the rest of the pool.
 */
#include "bank_malloc/memory/tables.h"

#include "base/pages.h"

enum { HEAD_BYTES = 64, PAGE_BYTES = 4096 };

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static size_t unread_bytes(uint32_t capacity)
{
    return (bit_index_bytes(capacity) + HEAD_BYTES - 1) & ~(size_t)(HEAD_BYTES - 1);
}

static size_t trusted_bytes(uint32_t capacity)
{
    return whole_pages(HEAD_BYTES + unread_bytes(capacity) + runs_used_bytes(capacity));
}

static size_t rest_bytes(uint32_t capacity, uint32_t controllers, uint32_t banks)
{
    return whole_pages(pool_bytes(capacity, controllers, banks));
}

static char *map_tables(uint32_t capacity, uint32_t controllers, uint32_t banks)
{
    char *mapping = pages_map(trusted_bytes(capacity) + rest_bytes(capacity, controllers, banks),
                              MAP_NORESERVE);

    if (mapping != NULL)
        *(uint32_t *)(void *)mapping = capacity;
    return mapping;
}

static char *used_of(char *mapping, uint32_t capacity)
{
    return mapping + HEAD_BYTES + unread_bytes(capacity);
}

char *tables_make(uint32_t capacity, uint32_t controllers, uint32_t banks, struct pool *pool,
                  struct bit_index *unread)
{
    char *mapping = map_tables(capacity, controllers, banks);

    if (mapping == NULL)
        return NULL;
    bit_index_init(unread, capacity, mapping + HEAD_BYTES);
    bit_index_fill(unread, capacity);
    pool_init(pool, capacity, controllers, banks, used_of(mapping, capacity),
              mapping + trusted_bytes(capacity));
    return mapping;
}

bool tables_extend(uint32_t capacity, char **mapping, struct pool *pool, struct bit_index *unread)
{
    uint32_t capacity_before = pool->capacity;
    struct bit_index unread_before = *unread;
    char *larger = map_tables(capacity, pool->controllers, pool->banks), *before = *mapping;

    if (larger == NULL)
        return false;
    bit_index_init(unread, capacity, larger + HEAD_BYTES);
    bit_index_extend(unread, capacity, &unread_before, capacity_before);
    pool_extend(pool, capacity, used_of(larger, capacity), larger + trusted_bytes(capacity));
    /* A child of fork has the old ones or the new ones, whole. */
    __atomic_store_n(mapping, larger, __ATOMIC_RELEASE);
    pages_unmap(before, trusted_bytes(capacity_before) +
                            rest_bytes(capacity_before, pool->controllers, pool->banks));
    return true;
}

void tables_start_child(char *mapping, struct pool *pool, struct bit_index *unread,
                        void (*inherit)(uint32_t chunk))
{
    uint32_t capacity = *(uint32_t *)(void *)mapping;
    struct bit_index used;

    bit_index_init(&used, capacity, used_of(mapping, capacity));
    bit_index_init(unread, capacity, mapping + HEAD_BYTES);
    for (uint32_t word = 0; word <= (capacity - 1) / 64; word++) {
        uint64_t in_use = used.level[0][word] & ~unread->level[0][word];

        for (; in_use != 0; in_use &= in_use - 1)
            inherit(word * 64 + (uint32_t)__builtin_ctzll(in_use));
        unread->level[0][word] |= ~used.level[0][word];
    }
    if (capacity % 64 != 0)
        unread->level[0][capacity / 64] &= ((uint64_t)1 << capacity % 64) - 1;
    bit_index_rebuild(unread, capacity);
    pages_clear(mapping + trusted_bytes(capacity),
                rest_bytes(capacity, pool->controllers, pool->banks));
    pool_init(pool, capacity, pool->controllers, pool->banks, used_of(mapping, capacity),
              mapping + trusted_bytes(capacity));
}
