/*
 * SPDX-License-Identifier: MIT
 *
 * See huge_mapping.h.
 */
#include "cia_malloc/large/huge_mapping.h"

enum { RECORDS_AT_ONCE = 32 };

struct huge_totals huge_totals;

/*
 * A stack of records, by any thread without a lock: the top's address, a multiple of 128 below
 * 2^47, in the low 40 bits, and above it a number that goes up with each pop. So a pop that was
 * overtaken by others, and finds the same record on top of another one, fails. Records are kept for
 * ever, 128 bytes for each half MiB that was ever in use at once: next may be read of one that is
 * gone.
 */
typedef _Atomic uint64_t record_stack;

enum { RECORD_BITS = 40 };
static_assert(ADDRESS_BITS - 7 <= (int)RECORD_BITS, "a record's address fits");

static struct huge *record_of(uint64_t top)
{
    return (struct huge *)(uintptr_t)(top << (64 - RECORD_BITS) >> (64 - RECORD_BITS) << 7);
}

static void push(record_stack *stack, struct huge *record)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_relaxed), pushed;

    do {
        atomic_store_explicit(&record->next, record_of(top), memory_order_relaxed);
        pushed = top >> RECORD_BITS << RECORD_BITS | (uint64_t)(uintptr_t)record >> 7;
        /* Release pairs with the acquire in pop: what was written to the record is seen. */
    } while (!atomic_compare_exchange_weak_explicit(stack, &top, pushed, memory_order_release,
                                                    memory_order_relaxed));
}

static struct huge *pop(record_stack *stack)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_acquire), popped;
    struct huge *record;

    do {
        record = record_of(top);
        if (record == NULL)
            return NULL;
        const struct huge *next = atomic_load_explicit(&record->next, memory_order_relaxed);
        popped = ((top >> RECORD_BITS) + 1) << RECORD_BITS | (uint64_t)(uintptr_t)next >> 7;
    } while (!atomic_compare_exchange_weak_explicit(stack, &top, popped, memory_order_acquire,
                                                    memory_order_acquire));
    return record;
}

static record_stack unused_records;
static record_stack refused; /* with addresses that the kernel did not take back */

struct huge *huge_record_take(void)
{
    struct huge *record = pop(&unused_records);

    if (record == NULL) {
        char *fresh = page_source_map_metadata((RECORDS_AT_ONCE + 1) * sizeof *record);

        if (fresh == NULL)
            return NULL;
        record = (struct huge *)(void *)(fresh + (-(uintptr_t)fresh & (sizeof *record - 1)));
        for (int i = 1; i < RECORDS_AT_ONCE; i++)
            push(&unused_records, &record[i]);
    }
    record->since = 0;
    atomic_store_explicit(&record->marked, 0, memory_order_relaxed);
    return record;
}

void huge_record_put(struct huge *record)
{
    push(&unused_records, record);
}

bool huge_map_extent(struct huge *record, size_t extent, size_t alignment)
{
    record->base = page_source_map(extent, alignment);
    if (record->base == NULL)
        return false;
    record->extent = extent;
    page_source_bind(record->base, extent, record->node);
    return true;
}

/* Whoever raises the sum above the most raises that. more may be negative, modulo 2^64: then the
   sum is no greater than it was. */
static void add_and_record(atomic_size_t *sum, atomic_size_t *most, size_t more)
{
    size_t now = atomic_fetch_add_explicit(sum, more, memory_order_relaxed) + more;
    size_t before = atomic_load_explicit(most, memory_order_relaxed);

    while (now > before && !atomic_compare_exchange_weak_explicit(
                               most, &before, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Of the pages up to the block's end, those that it is on. */
static size_t block_bytes(const struct huge *record)
{
    size_t offset = (size_t)(record->block - record->base);

    return record->used_bytes - (offset & ~(size_t)(PAGE_BYTES - 1));
}

void *huge_begin(struct huge *record, size_t offset, size_t total)
{
    record->block = record->base + offset;
    record->used_bytes = total;
    if (page_map_provide(record->block) == NULL) {
        huge_give_back(record);
        return NULL;
    }
    page_map_set_huge(record->block, record);
    add_and_record(&huge_totals.bytes, &huge_totals.bytes_most, block_bytes(record));
    add_and_record(&huge_totals.blocks, &huge_totals.blocks_most, 1);
    atomic_fetch_add_explicit(&huge_totals.made, 1, memory_order_relaxed);
    return record->block;
}

void huge_finish(struct huge *record)
{
    page_map_set_huge(record->block, NULL);
    atomic_fetch_sub_explicit(&huge_totals.bytes, block_bytes(record), memory_order_relaxed);
    atomic_fetch_sub_explicit(&huge_totals.blocks, 1, memory_order_relaxed);
}

void *huge_resized(struct huge *huge, size_t total, size_t extent)
{
    add_and_record(&huge_totals.bytes, &huge_totals.bytes_most, total - huge->used_bytes);
    huge->used_bytes = total;
    huge->extent = extent;
    return huge->block;
}

bool huge_grow(struct huge *huge, size_t total, size_t extent)
{
    size_t offset = (size_t)(huge->block - huge->base);
    struct page_map_leaf *leaf = page_map_take_leaf();

    if (leaf == NULL)
        return false;
    /* Before the pages move: once they have, another thread may map their place and begin a block
       there. */
    page_map_set_huge(huge->block, NULL);
    char *base = page_source_grow(huge->base, huge->extent, extent);
    if (base != NULL) {
        huge->base = base;
        huge->block = base + offset;
        page_map_use_leaf(huge->block, leaf);
        (void)huge_resized(huge, total, extent);
    } else {
        page_map_put_leaf(leaf);
    }
    page_map_set_huge(huge->block, huge);
    return base != NULL;
}

void huge_unmap_refused(void)
{
    struct huge *record = pop(&refused);

    if (record == NULL)
        return;
    push(page_source_unmap(record->base, record->extent) ? &unused_records : &refused, record);
}

void huge_give_back(struct huge *record)
{
    push(page_source_unmap(record->base, record->extent) ? &unused_records : &refused, record);
    huge_unmap_refused();
}
