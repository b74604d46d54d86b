/*
 * SPDX-License-Identifier: MIT
 *
 * See sites.h.
 */
#include "cia_malloc/profile/sites.h"

#include "cia_malloc/profile/arena.h"
#include "cia_malloc/profile/weight.h"

#include "base/pages.h"

enum { HASH_BUCKETS = 1 << 14 };

/* Pushed by compare-and-swap (release), read with acquire; never taken away. */
typedef struct site *_Atomic bucket;

/*
 * In pages of their own from the first sample on: a process without a profile may have to lock all
 * of its memory under a narrow limit. Published by compare-and-swap (release), read with acquire;
 * NULL: there was no sample.
 */
static bucket *_Atomic buckets;

/* NULL: out of memory. */
static bucket *buckets_or_new(void)
{
    const size_t bytes = HASH_BUCKETS * sizeof(bucket);
    bucket *known = atomic_load_explicit(&buckets, memory_order_acquire), *fresh;

    if (known != NULL)
        return known;
    fresh = pages_map(bytes, 0);
    if (fresh == NULL || atomic_compare_exchange_strong_explicit(
                             &buckets, &known, fresh, memory_order_acq_rel, memory_order_acquire))
        return fresh;
    pages_unmap(fresh, bytes);
    return known;
}

static uint64_t number_of(const struct stack *stack, size_t class_bytes, uint32_t colour)
{
    uint64_t hash = (uint64_t)(uintptr_t)stack * 0x9e3779b97f4a7c15u;

    hash = (hash ^ hash >> 32 ^ class_bytes << 8 ^ colour) * 0xbf58476d1ce4e5b9u;
    return (hash ^ hash >> 32) % HASH_BUCKETS;
}

struct site *site_of(const struct stack *stack, size_t class_bytes, uint32_t colour)
{
    bucket *all = buckets_or_new();

    if (all == NULL)
        return NULL;
    bucket *of = &all[number_of(stack, class_bytes, colour)];
    struct site *first = atomic_load_explicit(of, memory_order_acquire);
    for (struct site *site = first; site != NULL; site = site->next) {
        if (site->stack == stack && site->class_bytes == class_bytes && site->colour == colour)
            return site;
    }
    struct site *site = arena_take(sizeof *site);
    if (site == NULL)
        return NULL;
    site->stack = stack;
    site->class_bytes = class_bytes;
    site->colour = colour;
    /* Two threads that come at once may make it twice: readers add sites up. */
    site->next = first;
    while (!atomic_compare_exchange_weak_explicit(of, &site->next, site, memory_order_acq_rel,
                                                  memory_order_acquire))
        ;
    return site;
}

void site_add(struct site_sum *sum, size_t bytes, uint64_t interval)
{
    double weight = weight_of(bytes, interval);

    atomic_fetch_add_explicit(&sum->parts, (uint64_t)(weight * SITE_PARTS + 0.5),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&sum->bytes, (uint64_t)(weight * (double)bytes + 0.5),
                              memory_order_relaxed);
}

struct site *site_next(const struct site *site)
{
    bucket *all = atomic_load_explicit(&buckets, memory_order_acquire);
    uint64_t number = 0;

    if (site != NULL) {
        if (site->next != NULL)
            return site->next;
        number = number_of(site->stack, site->class_bytes, site->colour) + 1;
    }
    for (; all != NULL && number < HASH_BUCKETS; number++) {
        struct site *first = atomic_load_explicit(&all[number], memory_order_acquire);

        if (first != NULL)
            return first;
    }
    return NULL;
}
