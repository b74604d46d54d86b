/*
 * SPDX-License-Identifier: MIT
 *
 * Counting lock operations; see statistics.h for the rules. The report is in report.c.
 */
#include "mutex/statistics/statistics.h"

#include "base/clock.h"
#include "mplace.h"
#include "mutex/statistics/lock_ranking.h"
#include "mutex/statistics/lock_table_pool.h"
#include "mutex/thread_id.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

uint32_t statistics_epoch;

/* Shared and contended, but only while there is no memory for tables. */
static uint64_t uncounted;

/* All that this file keeps in thread-local storage. */
static __thread struct lock_table *thread_table;
static __thread bool preparing;

static uint32_t epoch_now(void)
{
    return __atomic_load_n(&statistics_epoch, __ATOMIC_RELAXED);
}

/* Whether the thread has a table and it counts for the present epoch. */
static inline bool is_current(const struct lock_table *table)
{
    return table != NULL && table->epoch == epoch_now();
}

/* A signal handler that forks before thread_table is set leaves the child a table that is claimed
 * for its parent's thread; one that forks later puts it right itself. */
static void claim_first_table(uint32_t epoch)
{
    int thread = thread_id();

    thread_table = lock_table_claim(thread, epoch);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (thread_table != NULL && thread_id() != thread)
        lock_table_keep_in_child(thread_table, thread_id());
}

static __attribute__((noinline, cold)) struct lock_table *claim_table(void)
{
    uint32_t epoch = epoch_now();

    /* This thread is claiming or emptying a table, or making a row of it, and this is its signal
     * handler, which must do neither: what it counts goes uncounted. */
    if (preparing || (thread_table != NULL && thread_table->busy))
        return NULL;
    preparing = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (thread_table == NULL)
        claim_first_table(epoch);
    else
        lock_table_clear(thread_table, epoch);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    preparing = false;
    return thread_table;
}

/* Outside transactions only: it may call the system. NULL: counted as uncounted. */
static inline struct lock_table *own_table(void)
{
    struct lock_table *table = thread_table;

    if (__builtin_expect(is_current(table), 1))
        return table;
    table = claim_table();
    if (table == NULL)
        (void)__atomic_fetch_add(&uncounted, 1, __ATOMIC_RELAXED);
    return table;
}

uint64_t statistics_uncounted(void)
{
    return __atomic_load_n(&uncounted, __ATOMIC_RELAXED);
}

const uint64_t *statistics_uncounted_at(void)
{
    return &uncounted;
}

/* ---- waiting ---- */

/* The clock is read twice for an acquisition that waits, and not for others. */

void statistics_wait_begins(const void *lock)
{
    struct lock_table *table = own_table();

    /* It may be waiting already: first for an attempt at elision, then for the lock itself. */
    if (table == NULL || table->wait_lock == lock)
        return;
    table->wait_lock = lock;
    table->wait_since = clock_monotonic_ns();
}

static __attribute__((noinline)) void end_wait(struct lock_table *table, struct lock_row *row)
{
    table->wait_lock = NULL;
    lock_row_add_wait(row, clock_monotonic_ns() - table->wait_since);
}

void statistics_gave_up(const void *lock, const void *caller)
{
    struct lock_table *table = own_table();

    if (table != NULL && table->wait_lock == lock)
        end_wait(table, lock_table_row(table, lock, caller));
}

/* ---- sections nested in a transaction: written inside it ---- */

static struct nested_section *find_nested(struct nested_sections *nested, const void *lock,
                                          const void *caller)
{
    for (uint32_t i = 0; i < nested->count; i++) {
        if (nested->list[i].lock == lock)
            return &nested->list[i];
    }
    if (nested->count == NESTED_SECTIONS)
        return NULL;

    struct nested_section *section = &nested->list[nested->count++];
    *section = (struct nested_section){.lock = lock, .caller = caller};
    return section;
}

/* A thread without a table began to count inside this transaction: nothing can be mapped here, and
 * it begins with the commit instead. */
static void record_elided(const void *lock, const void *caller)
{
    if (thread_table == NULL)
        return;
    struct nested_section *section = find_nested(&thread_table->nested, lock, caller);
    if (section != NULL)
        section->elided++;
    else
        thread_table->nested.beyond_elided++;
}

static __attribute__((noinline)) void record_physical(const void *lock, const void *caller)
{
    if (thread_table == NULL)
        return;
    struct nested_section *section = find_nested(&thread_table->nested, lock, caller);
    if (section != NULL)
        section->physical++;
    else
        thread_table->nested.beyond_physical++;
}

static __attribute__((noinline)) void count_nested(struct lock_table *table)
{
    struct nested_sections *nested = &table->nested;
    uint32_t count = nested->count;

    nested->count = 0; /* first: a signal handler that commits too must not count them again */
    for (uint32_t i = 0; i < count; i++) {
        const struct nested_section *section = &nested->list[i];
        struct lock_row *row = lock_table_row(table, section->lock, section->caller);
        lock_row_add(row, COUNT_NESTED, section->elided);
        lock_row_add(row, COUNT_PHYSICAL, section->physical);
    }
    lock_row_add(&table->rows[0], COUNT_NESTED, nested->beyond_elided);
    lock_row_add(&table->rows[0], COUNT_PHYSICAL, nested->beyond_physical);
    nested->beyond_elided = 0;
    nested->beyond_physical = 0;
}

/* ---- what the front and the elision core report ---- */

static __attribute__((noinline)) void count_acquired(struct lock_table *table, const void *lock,
                                                     const void *caller)
{
    struct lock_row *row = lock_table_row(table, lock, caller);

    lock_row_add(row, COUNT_PHYSICAL, 1);
    if (table->wait_lock == lock)
        end_wait(table, row);
}

static __attribute__((noinline)) void claim_and_count_acquired(const void *lock, const void *caller)
{
    struct lock_table *table = own_table();

    if (table != NULL)
        count_acquired(table, lock, caller);
}

/* What every acquisition pays while counting: the common case has no call and no frame. */
void statistics_acquired(const void *lock, const void *caller, bool in_transaction)
{
    struct lock_table *table = thread_table;

    if (__builtin_expect(in_transaction, 0)) {
        record_physical(lock, caller);
    } else if (__builtin_expect(!is_current(table), 0)) {
        claim_and_count_acquired(lock, caller);
    } else {
        struct lock_row *row = lock_table_row_fast(table, lock);

        if (__builtin_expect(row == NULL || table->wait_lock == lock, 0))
            count_acquired(table, lock, caller);
        else
            lock_row_add(row, COUNT_PHYSICAL, 1);
    }
}

void statistics_attempt(const void *lock, const void *caller)
{
    struct lock_table *table = own_table();

    if (table == NULL)
        return;
    table->nested.outermost_caller = caller;
    table->nested.outermost_wait_ns =
        table->wait_lock == lock ? clock_monotonic_ns() - table->wait_since : 0;
    table->nested.outermost = lock;
}

void statistics_elided_nested(const void *lock, const void *caller)
{
    record_elided(lock, caller);
}

void statistics_committed(void)
{
    struct lock_table *table = own_table();

    if (table == NULL)
        return;
    struct nested_sections *nested = &table->nested;
    const void *lock = nested->outermost;
    struct lock_row *row =
        lock != NULL ? lock_table_row(table, lock, nested->outermost_caller) : &table->rows[0];
    nested->outermost = NULL;
    lock_row_add(row, COUNT_COMMITTED, 1);
    if (__builtin_expect(lock != NULL && table->wait_lock == lock, 0)) {
        table->wait_lock = NULL;
        lock_row_add_wait(row, nested->outermost_wait_ns);
    }
    if (nested->count != 0)
        count_nested(table);
}

void statistics_aborted(const void *lock, const void *caller, enum statistics_abort cause)
{
    struct lock_table *table = own_table();

    if (table != NULL)
        lock_row_add(lock_table_row(table, lock, caller),
                     (enum lock_counter)(COUNT_FIRST_ABORT + cause), 1);
}

/* ---- the totals ---- */

EXPORT int mplace_lock_statistics(struct mplace_lock_statistics *out, size_t out_size)
{
    struct lock_row total;

    if (out == NULL || out_size == 0)
        return EINVAL;
    if (!statistics_on())
        return ENODATA;
    lock_ranking_total(&total, epoch_now());

    const uint64_t *aborts = &total.counts[COUNT_FIRST_ABORT];
    struct mplace_lock_statistics totals = {
        .acquisitions = lock_row_acquisitions(&total),
        .slow_path = total.counts[COUNT_PHYSICAL],
        .tx_started = total.counts[COUNT_COMMITTED] + lock_row_aborts(&total),
        .tx_committed = total.counts[COUNT_COMMITTED],
        .abort_conflict = aborts[ABORT_CONFLICT],
        .abort_capacity = aborts[ABORT_CAPACITY],
        .abort_explicit = aborts[ABORT_EXPLICIT],
        .abort_nested = aborts[ABORT_NESTED],
        .abort_debug = aborts[ABORT_DEBUG],
        .abort_other = aborts[ABORT_OTHER],
    };
    memcpy(out, &totals, out_size < sizeof totals ? out_size : sizeof totals);
    return 0;
}

EXPORT void mplace_lock_statistics_reset(void)
{
    if (!statistics_on())
        lock_tables_belong_here();
    if (__atomic_add_fetch(&statistics_epoch, 1, __ATOMIC_RELAXED) == 0) /* 2^32 resets */
        (void)__atomic_add_fetch(&statistics_epoch, 1, __ATOMIC_RELAXED);
}

void statistics_restart_in_child(void)
{
    if (!statistics_on())
        return;
    lock_tables_belong_here();
    /* The other tables belong to threads that this process does not have: the pool finds out. */
    if (thread_table != NULL)
        lock_table_keep_in_child(thread_table, thread_id());
    mplace_lock_statistics_reset();
    __atomic_store_n(&uncounted, 0, __ATOMIC_RELAXED);
}
