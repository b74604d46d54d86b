/*
 * SPDX-License-Identifier: MIT
 *
 * See lock_ranking.h. A hash table in memory mapped for the purpose merges the rows of one lock.
 */
#include "mutex/statistics/lock_ranking.h"

#include "base/pages.h"
#include "mutex/statistics/lock_table_pool.h"

#include <string.h>

/* Rows of the table that count; 0 when it belongs to another epoch. Acquire: with it, all that the
 * owner wrote before it stored the epoch and the number. */
static unsigned rows_of(const struct lock_table *table, uint32_t epoch)
{
    if (__atomic_load_n(&table->epoch, __ATOMIC_ACQUIRE) != epoch)
        return 0;
    return __atomic_load_n(&table->used, __ATOMIC_ACQUIRE);
}

void lock_ranking_total(struct lock_row *total, uint32_t epoch)
{
    struct lock_row row;

    *total = (struct lock_row){.lock = NULL};
    for (const struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table)) {
        unsigned rows = rows_of(table, epoch);

        for (unsigned at = 0; at < rows; at++) {
            if (lock_table_read_row(table, at, &row))
                lock_row_merge(total, &row);
        }
    }
}

/* ---- merging ---- */

struct merge {
    struct lock_row *slots;
    size_t size; /* a power of two, more than twice the rows */
    size_t room; /* rows that may still be added: threads go on making rows meanwhile */
    uint64_t locks;
};

static bool merge_open(struct merge *merge, size_t rows)
{
    merge->size = 64;
    while (merge->size < 4 * rows)
        merge->size *= 2;
    merge->room = merge->size / 2;
    merge->locks = 0;
    merge->slots = pages_map(merge->size * sizeof *merge->slots, MAP_NORESERVE);
    return merge->slots != NULL;
}

static void merge_close(struct merge *merge)
{
    pages_unmap(merge->slots, merge->size * sizeof *merge->slots);
}

/* False: no room left. */
static bool merge_add(struct merge *merge, const struct lock_row *row)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)row->lock * 0x9e3779b97f4a7c15u >> 20);

    for (at &= merge->size - 1; merge->slots[at].lock != NULL; at = (at + 1) & (merge->size - 1)) {
        if (merge->slots[at].lock == row->lock) {
            lock_row_merge(&merge->slots[at], row);
            return true;
        }
    }
    if (merge->room == 0)
        return false;
    merge->room--;
    merge->locks++;
    merge->slots[at] = *row;
    return true;
}

/* ---- choosing ---- */

uint64_t lock_ranking_share(uint64_t n, uint64_t all)
{
    /* In two steps where n * 10000 would not fit. */
    if (all == 0)
        return 0;
    return n <= UINT64_MAX / 10000 ? n * 10000 / all : n / (all / 10000);
}

static uint64_t larger_share(const struct lock_row *row, const struct lock_row *total)
{
    uint64_t waiting = lock_ranking_share(row->counts[COUNT_WAIT_NS], total->counts[COUNT_WAIT_NS]);
    uint64_t aborts = lock_ranking_share(lock_row_aborts(row), lock_row_aborts(total));

    return waiting > aborts ? waiting : aborts;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* A total order: the same counts give the same report. */
static bool costs_more(const struct lock_row *a, const struct lock_row *b,
                       const struct lock_row *total)
{
    int order = compare(larger_share(a, total), larger_share(b, total));

    if (order == 0)
        order = compare(a->counts[COUNT_WAIT_NS], b->counts[COUNT_WAIT_NS]);
    if (order == 0)
        order = compare(lock_row_aborts(a), lock_row_aborts(b));
    if (order == 0)
        order = compare(lock_row_acquisitions(a), lock_row_acquisitions(b));
    if (order == 0)
        order = compare((uintptr_t)b->lock, (uintptr_t)a->lock);
    return order > 0;
}

static void choose(struct lock_ranking *ranking, const struct merge *merge, unsigned wanted)
{
    for (size_t slot = 0; slot < merge->size; slot++) {
        const struct lock_row *row = &merge->slots[slot];
        unsigned at = ranking->count;

        if (row->lock == NULL)
            continue;
        while (at > 0 && costs_more(row, &ranking->top[at - 1], &ranking->total))
            at--;
        if (at == wanted)
            continue;
        if (ranking->count < wanted)
            ranking->count++;
        memmove(&ranking->top[at + 1], &ranking->top[at],
                (ranking->count - at - 1) * sizeof ranking->top[0]);
        ranking->top[at] = *row;
    }
}

static void subtract(struct lock_row *from, const struct lock_row *row)
{
    for (int counter = 0; counter < LOCK_COUNTERS; counter++)
        from->counts[counter] -= row->counts[counter];
}

/*
 * One pass over the tables gives the total and the merged rows, so that they agree even while
 * threads count: whatever a pass reads goes into both.
 */
void lock_ranking_make(struct lock_ranking *ranking, unsigned wanted, uint32_t epoch)
{
    struct merge merge;
    struct lock_row row;
    size_t rows_seen = 0;

    memset(ranking, 0, sizeof *ranking);
    for (const struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table))
        rows_seen += rows_of(table, epoch);
    ranking->merged = merge_open(&merge, rows_seen);

    for (const struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table)) {
        unsigned rows = rows_of(table, epoch);

        if (rows == 0)
            continue;
        ranking->tables++;
        ranking->dropped_rows += __atomic_load_n(&table->dropped_rows, __ATOMIC_RELAXED);
        for (unsigned at = 0; at < rows; at++) {
            if (!lock_table_read_row(table, at, &row))
                continue;
            lock_row_merge(&ranking->total, &row);
            if (row.lock == NULL)
                ranking->unattributed += lock_row_acquisitions(&row);
            else if (ranking->merged)
                (void)merge_add(&merge, &row);
        }
    }
    if (ranking->merged) {
        ranking->locks = merge.locks;
        choose(ranking, &merge, wanted);
        merge_close(&merge);
    }
    ranking->others = ranking->total;
    for (unsigned i = 0; i < ranking->count; i++)
        subtract(&ranking->others, &ranking->top[i]);
}
