/*
 * SPDX-License-Identifier: MIT
 *
 * What one thread has counted, by lock: a table of fixed size that only its thread writes. Others
 * read it at any time, for a report. Allocates nothing, waits for nothing.
 *
 * Who writes: the owning thread, never inside a transaction except nested. Counts are added by
 * one plain instruction each: no other thread writes them, so that needs no lock prefix, and being
 * one instruction it loses nothing to a signal handler of the same thread that counts as well.
 *
 * Who reads: any thread, relaxed. Exact when the owner is not in a lock function.
 *
 * When a table is full, one in LOCK_ADMISSIONS of the calls that find no row gets the row of a lock
 * that mattered little. Counts without a row of their own are in row 0, those of dropped rows too,
 * so that the sum over all rows is always the sum of what was counted. A lock that goes on being
 * used soon has a row; a million that are locked once pass by at little cost.
 */
#ifndef MPLACE_MUTEX_LOCK_TABLE_H
#define MPLACE_MUTEX_LOCK_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Transactions ended by an abort, by cause; one cause an abort. */
enum statistics_abort {
    ABORT_CONFLICT,
    ABORT_CAPACITY,
    ABORT_EXPLICIT,
    ABORT_NESTED,
    ABORT_DEBUG,
    ABORT_OTHER,
    ABORT_CAUSES
};

/* Acquisitions are the sum of the first three; transactions begun are commits and aborts. */
enum lock_counter {
    COUNT_PHYSICAL,  /* acquisitions that took the word */
    COUNT_COMMITTED, /* sections elided as the outermost of their transaction */
    COUNT_NESTED,    /* sections elided inside a transaction begun for another lock */
    COUNT_WAITS,     /* acquisitions, and attempts with a deadline, that had to wait or to retry */
    COUNT_WAIT_NS,   /* how long, all together */
    COUNT_FIRST_ABORT,
    LOCK_COUNTERS = COUNT_FIRST_ABORT + ABORT_CAUSES
};

/* What sort of lock a row counts. Its name in the reports is lock_kind_name's. */
enum lock_kind { LOCK_MUTEX, LOCK_RWLOCK, LOCK_SPIN, LOCK_KINDS };

/*
 * A lock as the tables know it: its address with its kind in the two low bits, which are 0 in the
 * address of any lock. So a mutex is known by its address, and a rwlock made where a mutex was has
 * a row of its own.
 */
static_assert(LOCK_MUTEX == 0 && LOCK_KINDS <= 4, "two bits, and none for a mutex");

static inline const void *lock_key(const volatile void *lock, enum lock_kind kind)
{
    return (const void *)((uintptr_t)lock | kind);
}

static inline enum lock_kind lock_key_kind(const void *key)
{
    return (enum lock_kind)((uintptr_t)key & 3);
}

static inline const void *lock_key_address(const void *key)
{
    return (const void *)((uintptr_t)key & ~(uintptr_t)3);
}

/* "mutex", "rwlock", "spin". */
const char *lock_kind_name(enum lock_kind kind);

/* "conflict" and so on, as JSON has them; below ABORT_CAUSES. */
const char *abort_cause_name(enum statistics_abort cause);

/* One lock, by its key. In row 0, lock is NULL. The first line has what an acquisition without
 * trouble needs.
 */
struct lock_row {
    const void *lock;
    uint64_t counts[LOCK_COUNTERS];
    uint64_t longest_wait_ns;
    const void *first_caller; /* who locked it when the row was made */
    uint64_t first_seen;      /* when that was: CLOCK_MONOTONIC, nanoseconds */
    uint16_t next;            /* row with the same hash, 0 for none; the owner alone looks at it */
} __attribute__((aligned(128)));
static_assert(sizeof(struct lock_row) == 128, "two lines a row");
static_assert(offsetof(struct lock_row, counts[COUNT_WAIT_NS]) < 64,
              "the common ones in the first");

enum {
    LOCK_TABLE_ROWS = 1024, /* row 0 included: 1023 locks a thread */
    LOCK_TABLE_BUCKETS = 2048,
    LOCK_TABLE_BUCKET_BITS = 11,
    LOCK_ADMISSIONS = 16,
    NESTED_SECTIONS = 8,
};
static_assert(1 << LOCK_TABLE_BUCKET_BITS == LOCK_TABLE_BUCKETS, "a power of two");
static_assert(LOCK_TABLE_ROWS <= UINT16_MAX, "row numbers fit in next");

/* Acquisitions of one lock inside the transaction that is running. */
struct nested_section {
    const void *lock;
    const void *caller;
    uint32_t elided;
    uint32_t physical;
};

/*
 * The only part that is written inside a transaction, and only for sections nested in one; an abort
 * takes that back. The outermost section is recorded before its transaction begins, so the
 * commonest transaction has no line of ours in its write set.
 */
struct nested_sections {
    const void *outermost; /* NULL: counting began inside this transaction */
    const void *outermost_caller;
    uint64_t outermost_wait_ns; /* until the attempt that is running began */
    uint32_t count;
    uint32_t beyond_elided; /* nested sections that found no room in list */
    uint32_t beyond_physical;
    struct nested_section list[NESTED_SECTIONS];
} __attribute__((aligned(64)));

struct lock_table {
    /* The pool's; see lock_table_pool.h. */
    uint64_t owner;
    struct lock_table *next;

    /* Which reset the counts belong to: those of another epoch than the process's do not count.
     * Stored with release after the rows were emptied; readers acquire it. */
    uint32_t epoch;

    uint32_t used;   /* rows, row 0 included; stored with release after the row is whole */
    uint32_t busy;   /* rows are being made: a signal handler that counts now leaves them alone */
    uint32_t hand;   /* where to look for the next row to drop */
    uint32_t misses; /* calls that found no row since the table is full */
    uint64_t dropped_rows;

    /* The lock that the thread waits for, NULL for none, and since when. */
    const void *wait_lock;
    uint64_t wait_since;

    struct nested_sections nested;
    uint16_t buckets[LOCK_TABLE_BUCKETS];
    struct lock_row rows[LOCK_TABLE_ROWS];
};
static_assert(offsetof(struct lock_table, nested) + sizeof(struct nested_sections) <= 4096,
              "writing outermost makes the page of all of it resident: a page fault "
              "inside the transaction would abort it");

/* Empties the table for the given epoch. The owner's, or nobody's table. */
void lock_table_clear(struct lock_table *table, uint32_t epoch);

/* Multiplying by an odd constant mixes all address bits into the upper ones (Fibonacci hashing). */
static inline unsigned lock_table_bucket(const void *lock)
{
    return (unsigned)((uint64_t)(uintptr_t)lock * 0x9e3779b97f4a7c15u >>
                      (64 - LOCK_TABLE_BUCKET_BITS));
}

/* The lock's row, if it is the first of its bucket; else NULL, and lock_table_row has to look. */
static inline struct lock_row *lock_table_row_fast(struct lock_table *table, const void *lock)
{
    struct lock_row *row = &table->rows[table->buckets[lock_table_bucket(lock)]];

    return __builtin_expect(row->lock == lock, 1) ? row : NULL;
}

/* The lock's row, or another place for its counts: row 0. lock must not be NULL. */
struct lock_row *lock_table_row(struct lock_table *table, const void *lock, const void *caller);

/* One instruction; see the top. */
static inline void lock_table_add(uint64_t *count, uint64_t amount)
{
    __asm__("addq %1, %0" : "+m"(*count) : "er"(amount) : "cc");
}

static inline void lock_row_add(struct lock_row *row, enum lock_counter counter, uint64_t amount)
{
    lock_table_add(&row->counts[counter], amount);
}

void lock_row_add_wait(struct lock_row *row, uint64_t nanoseconds);

static inline uint64_t lock_row_acquisitions(const struct lock_row *row)
{
    return row->counts[COUNT_PHYSICAL] + row->counts[COUNT_COMMITTED] + row->counts[COUNT_NESTED];
}

uint64_t lock_row_aborts(const struct lock_row *row);

/* Adds what from counted to into; who locked it first is whoever did so earlier. */
void lock_row_merge(struct lock_row *into, const struct lock_row *from);

/*
 * Copies row number at, for threads that do not own the table. False: the row is being given to
 * another lock at this moment.
 */
bool lock_table_read_row(const struct lock_table *table, unsigned at, struct lock_row *out);

#endif
