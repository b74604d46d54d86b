/*
 * SPDX-License-Identifier: MIT
 *
 * Making, dropping and reading the rows of a thread's table; see lock_table.h.
 */
#include "mutex/statistics/lock_table.h"

#include "base/clock.h"

#include <string.h>

enum {
    /* Rows that compete when one has to go. */
    DROP_CANDIDATES = 8,
    /* What an abort is worth beside waiting, in nanoseconds: about a short section run in vain. */
    ABORT_WORTH_NS = 1000,
};

const char *lock_kind_name(enum lock_kind kind)
{
    static const char *const names[LOCK_KINDS] = {
        [LOCK_MUTEX] = "mutex",
        [LOCK_RWLOCK] = "rwlock",
        [LOCK_SPIN] = "spin",
    };

    return kind < LOCK_KINDS ? names[kind] : "unknown"; /* read from another process */
}

const char *abort_cause_name(enum statistics_abort cause)
{
    static const char *const names[ABORT_CAUSES] = {
        [ABORT_CONFLICT] = "conflict", [ABORT_CAPACITY] = "capacity", [ABORT_EXPLICIT] = "explicit",
        [ABORT_NESTED] = "nested",     [ABORT_DEBUG] = "debug",       [ABORT_OTHER] = "other",
    };

    return names[cause];
}

/* Release, for drop_one: see lock_table_read_row. */
static void store(uint64_t *count, uint64_t value)
{
    __atomic_store_n(count, value, __ATOMIC_RELEASE);
}

static void store_lock(struct lock_row *row, const void *lock, int order)
{
    __atomic_store_n(&row->lock, lock, order);
}

static void empty_row(struct lock_row *row)
{
    for (int counter = 0; counter < LOCK_COUNTERS; counter++)
        store(&row->counts[counter], 0);
    store(&row->longest_wait_ns, 0);
}

/*
 * Between the first store and the last one readers find the epoch that they do not count. What a
 * signal handler counts meanwhile is not counted, and one that empties the table between another
 * count's look-up and its addition loses that one: counts are exact from the first lock call after
 * a reset on, not during it.
 */
void lock_table_clear(struct lock_table *table, uint32_t epoch)
{
    unsigned used = table->used < LOCK_TABLE_ROWS ? table->used : LOCK_TABLE_ROWS;

    memset(table->buckets, 0, sizeof table->buckets);
    for (unsigned at = 0; at < used; at++) {
        store_lock(&table->rows[at], NULL, __ATOMIC_RELAXED);
        empty_row(&table->rows[at]);
    }
    table->hand = 1;
    store(&table->dropped_rows, 0);
    table->misses = 0;
    __atomic_store_n(&table->used, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&table->epoch, epoch, __ATOMIC_RELEASE);
}

static uint64_t worth(const struct lock_row *row)
{
    return row->counts[COUNT_WAIT_NS] + ABORT_WORTH_NS * lock_row_aborts(row) +
           lock_row_acquisitions(row);
}

/* The least worth of the next few rows, so that a lock that matters stays while others pass. */
static unsigned choose_victim(struct lock_table *table)
{
    unsigned victim = 0;

    for (int candidate = 0; candidate < DROP_CANDIDATES; candidate++) {
        unsigned at = table->hand;

        table->hand = at + 1 < LOCK_TABLE_ROWS ? at + 1 : 1;
        if (victim == 0 || worth(&table->rows[at]) < worth(&table->rows[victim]))
            victim = at;
    }
    return victim;
}

static void unlink_row(struct lock_table *table, unsigned victim)
{
    uint16_t *link = &table->buckets[lock_table_bucket(table->rows[victim].lock)];

    while (*link != 0 && *link != victim)
        link = &table->rows[*link].next;
    *link = table->rows[victim].next;
}

static void raise_longest(struct lock_row *row, uint64_t nanoseconds)
{
    if (nanoseconds > row->longest_wait_ns)
        store(&row->longest_wait_ns, nanoseconds);
}

static unsigned drop_one(struct lock_table *table)
{
    unsigned victim = choose_victim(table);
    struct lock_row *row = &table->rows[victim];
    struct lock_row *rest = &table->rows[0];

    unlink_row(table, victim);
    lock_table_add(&table->dropped_rows, 1);
    store_lock(row, NULL, __ATOMIC_RELAXED);
    for (int counter = 0; counter < LOCK_COUNTERS; counter++)
        lock_row_add(rest, (enum lock_counter)counter, row->counts[counter]);
    raise_longest(rest, row->longest_wait_ns);
    empty_row(row);
    return victim;
}

static struct lock_row *make_row(struct lock_table *table, const void *lock, const void *caller)
{
    if (table->busy)
        return &table->rows[0];
    if (table->used == LOCK_TABLE_ROWS && ++table->misses % LOCK_ADMISSIONS != 0)
        return &table->rows[0];
    table->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler finds busy set before anything changes */

    bool drops = table->used == LOCK_TABLE_ROWS;
    unsigned at = drops ? drop_one(table) : table->used;
    struct lock_row *row = &table->rows[at];
    if (!drops)
        empty_row(row); /* of an addition to a row that was emptied meanwhile */
    uint16_t *bucket = &table->buckets[lock_table_bucket(lock)];

    __atomic_store_n(&row->first_caller, caller, __ATOMIC_RELEASE);
    store(&row->first_seen, clock_monotonic_ns());
    store_lock(row, lock, __ATOMIC_RELEASE);
    row->next = *bucket;
    *bucket = (uint16_t)at;
    if (at == table->used)
        __atomic_store_n(&table->used, at + 1, __ATOMIC_RELEASE);

    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    table->busy = 0;
    return row;
}

struct lock_row *lock_table_row(struct lock_table *table, const void *lock, const void *caller)
{
    unsigned at = table->buckets[lock_table_bucket(lock)];

    while (at != 0 && table->rows[at].lock != lock)
        at = table->rows[at].next;
    return at != 0 ? &table->rows[at] : make_row(table, lock, caller);
}

void lock_row_add_wait(struct lock_row *row, uint64_t nanoseconds)
{
    lock_row_add(row, COUNT_WAITS, 1);
    lock_row_add(row, COUNT_WAIT_NS, nanoseconds);
    raise_longest(row, nanoseconds);
}

uint64_t lock_row_aborts(const struct lock_row *row)
{
    uint64_t aborts = 0;

    for (int cause = 0; cause < ABORT_CAUSES; cause++)
        aborts += row->counts[COUNT_FIRST_ABORT + cause];
    return aborts;
}

void lock_row_merge(struct lock_row *into, const struct lock_row *from)
{
    for (int counter = 0; counter < LOCK_COUNTERS; counter++)
        into->counts[counter] += from->counts[counter];
    if (from->longest_wait_ns > into->longest_wait_ns)
        into->longest_wait_ns = from->longest_wait_ns;
    if (into->first_caller == NULL || from->first_seen < into->first_seen) {
        into->first_caller = from->first_caller;
        into->first_seen = from->first_seen;
    }
}

/*
 * A row that changes its lock has NULL there first, then its counts go to 0 (release), then come
 * the next lock and its counts. Whoever reads such a 0 or a later count (acquire) finds at the
 * second look that the lock is no longer the one of the first.
 */
bool lock_table_read_row(const struct lock_table *table, unsigned at, struct lock_row *out)
{
    const struct lock_row *row = &table->rows[at];
    const void *lock = __atomic_load_n(&row->lock, __ATOMIC_ACQUIRE);

    *out = (struct lock_row){.lock = lock};
    for (int counter = 0; counter < LOCK_COUNTERS; counter++)
        out->counts[counter] = __atomic_load_n(&row->counts[counter], __ATOMIC_ACQUIRE);
    out->longest_wait_ns = __atomic_load_n(&row->longest_wait_ns, __ATOMIC_ACQUIRE);
    out->first_caller = __atomic_load_n(&row->first_caller, __ATOMIC_ACQUIRE);
    out->first_seen = __atomic_load_n(&row->first_seen, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&row->lock, __ATOMIC_RELAXED) == lock && (lock != NULL || at == 0);
}
