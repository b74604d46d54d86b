/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_mapping.h.
 */
#include "cia_malloc/huge_mapping.h"

#include "base/probes.h"

enum { RECORDS_A_PAGE = 16 };

/* Written once a mapping of more than half a MiB comes or goes. */
static atomic_size_t huge_bytes_live, huge_blocks_live;
/* The most that those ever were. Each is raised by whoever raised the other above it. */
static atomic_size_t huge_bytes_most, huge_blocks_most;
static _Atomic uint64_t huge_made;

/*
 * Unused records of mappings that were freed, on any CPU: pushed by compare-and-swap, taken whole
 * by exchange, so that there is no ABA. Records are kept for ever: a few bytes for each half MiB
 * that was ever in use at once.
 */
static _Atomic(struct huge *) unused_records;

struct huge *huge_record_take(struct subheap *heap)
{
    if (heap->huge_records == NULL) /* acquire pairs with the release in huge_record_put */
        heap->huge_records = atomic_exchange_explicit(&unused_records, NULL, memory_order_acquire);
    if (heap->huge_records == NULL) {
        struct huge *fresh = page_source_map_metadata(RECORDS_A_PAGE * sizeof *fresh);

        for (int i = 0; fresh != NULL && i < RECORDS_A_PAGE; i++) {
            fresh[i].next = heap->huge_records;
            heap->huge_records = &fresh[i];
        }
    }
    struct huge *record = heap->huge_records;
    if (record != NULL)
        heap->huge_records = record->next;
    return record;
}

void huge_record_put(struct huge *record)
{
    struct huge *head = atomic_load_explicit(&unused_records, memory_order_relaxed);

    do
        record->next = head;
    while (!atomic_compare_exchange_weak_explicit(&unused_records, &head, record,
                                                  memory_order_release, memory_order_relaxed));
}

size_t huge_extent_for(size_t total)
{
    if (total >= CHUNK_BYTES)
        return round_up_to_chunks(total);
    /* What is closed behind a block costs no memory, and a power of two suits more blocks later. */
    return harden_is_on() ? (size_t)1 << (64 - __builtin_clzll(total - 1)) : total;
}

bool huge_map_extent(struct huge *record, size_t extent, size_t total, size_t alignment)
{
    record->base = page_source_map(extent, alignment);
    if (record->base != NULL)
        page_source_bind(record->base, extent, record->node);
    record->mapped_bytes = total;
    record->spare_bytes = extent - total;
    return record->base != NULL;
}

/* more may be negative, modulo 2^64: then the sum is no greater than it was. */
static void add_and_note(atomic_size_t *sum, atomic_size_t *most, size_t more)
{
    size_t now = atomic_fetch_add_explicit(sum, more, memory_order_relaxed) + more;
    size_t before = atomic_load_explicit(most, memory_order_relaxed);

    while (now > before && !atomic_compare_exchange_weak_explicit(
                               most, &before, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

void *huge_begin(struct huge *record, size_t offset)
{
    record->kind = OWNER_HUGE;
    record->block = record->base + offset;
    if (!page_source_register(record->block, record)) {
        huge_give_back(record);
        return NULL;
    }
    add_and_note(&huge_bytes_live, &huge_bytes_most, record->mapped_bytes);
    add_and_note(&huge_blocks_live, &huge_blocks_most, 1);
    atomic_fetch_add_explicit(&huge_made, 1, memory_order_relaxed);
    return record->block;
}

void huge_finish(struct huge *record)
{
    page_source_forget(record->block);
    atomic_fetch_sub_explicit(&huge_bytes_live, record->mapped_bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&huge_blocks_live, 1, memory_order_relaxed);
}

void *huge_resized(struct huge *huge, size_t total, size_t extent)
{
    add_and_note(&huge_bytes_live, &huge_bytes_most, total - huge->mapped_bytes);
    huge->mapped_bytes = total;
    huge->spare_bytes = extent - total;
    return huge->block;
}

void huge_give_back(struct huge *record)
{
    PROBE3(memory_given_back, record->base, huge_extent(record), 1);
    page_source_unmap(record->base, huge_extent(record));
    huge_record_put(record);
}

void huge_totals(size_t *bytes, size_t *blocks)
{
    *bytes = atomic_load_explicit(&huge_bytes_live, memory_order_relaxed);
    *blocks = atomic_load_explicit(&huge_blocks_live, memory_order_relaxed);
}

void huge_most(size_t *bytes, size_t *blocks)
{
    *bytes = atomic_load_explicit(&huge_bytes_most, memory_order_relaxed);
    *blocks = atomic_load_explicit(&huge_blocks_most, memory_order_relaxed);
}

uint64_t huge_allocations(void)
{
    return atomic_load_explicit(&huge_made, memory_order_relaxed);
}

struct huge_totals_at huge_totals_at(void)
{
    return (struct huge_totals_at){
        .bytes = (uintptr_t)&huge_bytes_live,
        .blocks = (uintptr_t)&huge_blocks_live,
        .made = (uintptr_t)&huge_made,
    };
}
