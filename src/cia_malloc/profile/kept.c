/*
 * SPDX-License-Identifier: MIT
 *
 * See kept.h. Lists are pushed to by compare-and-swap (release) and read with acquire; nothing is
 * ever taken away.
 */
#include "cia_malloc/profile/kept.h"

#include "base/pages.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK_BYTES = 256 << 10, HASH_BUCKETS = 1 << 14 };

typedef struct kept *_Atomic head;

/* In pages of their own: a process without a profile may have to lock all of its memory under a
   narrow limit. NULL: there was no memory. */
static head *buckets;

static head newest[KEPT_KINDS];

/* ---- memory ---- */

struct block {
    _Atomic size_t used; /* above BLOCK_BYTES when it is used up */
};

/* Released by compare-and-swap, read with acquire: used is initialised. */
static struct block *_Atomic block_in_use;

/* Zeroed, aligned to 8 bytes, never given back. */
static void *take(size_t bytes)
{
    for (;;) {
        struct block *block = atomic_load_explicit(&block_in_use, memory_order_acquire);

        if (block != NULL) {
            size_t at = atomic_fetch_add_explicit(&block->used, bytes, memory_order_relaxed);

            if (at + bytes <= BLOCK_BYTES)
                return (char *)block + at;
        }
        struct block *fresh = pages_map(BLOCK_BYTES, MAP_NORESERVE);
        if (fresh == NULL)
            return NULL;
        atomic_init(&fresh->used, sizeof *fresh);
        if (!atomic_compare_exchange_strong_explicit(&block_in_use, &block, fresh,
                                                     memory_order_acq_rel, memory_order_acquire))
            pages_unmap(fresh, BLOCK_BYTES);
    }
}

/* ---- the table ---- */

void kept_start(void)
{
    buckets = pages_map(HASH_BUCKETS * sizeof *buckets, 0);
}

static uint64_t hash_of(const uint64_t *key, uint32_t words)
{
    uint64_t hash = words;

    for (uint32_t i = 0; i < words; i++)
        hash = (hash ^ hash >> 29 ^ key[i]) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* next: the member of kept that the list goes on by. */
static void push(head *list, struct kept *kept, struct kept **next)
{
    *next = atomic_load_explicit(list, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(list, next, kept, memory_order_acq_rel,
                                                  memory_order_acquire))
        ;
}

struct kept *keep(enum kept_kind kind, const uint64_t *key, uint32_t words, size_t value_bytes)
{
    size_t key_bytes = words * sizeof *key;

    if (buckets == NULL)
        return NULL;
    head *bucket = &buckets[hash_of(key, words) % HASH_BUCKETS];
    struct kept *kept = atomic_load_explicit(bucket, memory_order_acquire);
    for (; kept != NULL; kept = kept->next) {
        if (kept->kind == kind && kept->words == words &&
            memcmp(kept_key(kept), key, key_bytes) == 0)
            return kept;
    }
    kept = take(sizeof *kept + key_bytes + value_bytes);
    if (kept == NULL)
        return NULL;
    kept->kind = kind;
    kept->words = words;
    memcpy(kept + 1, key, key_bytes);
    /* Whoever finds it by its key finds it among those of its kind. */
    push(&newest[kind], kept, &kept->older);
    push(bucket, kept, &kept->next);
    return kept;
}

struct kept *kept_newest(enum kept_kind kind)
{
    return atomic_load_explicit(&newest[kind], memory_order_acquire);
}
