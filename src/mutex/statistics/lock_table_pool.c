/*
 * SPDX-License-Identifier: MIT
 *
 * See lock_table_pool.h. The calling thread may hold a mutex of the program's: no function of
 * libc's is called, for another library may replace it by one that locks.
 */
#include "mutex/statistics/lock_table_pool.h"

#include "base/pages.h"
#include "base/system_call.h"
#include "mutex/ownership.h"

/*
 * Tables looked at before a new one is mapped. With n tables for a lives of threads the chance that
 * all of these are in use is (a / n)^16: the pool stops growing well below twice the threads.
 */
enum { CLAIM_LOOKS = 16 };

/* The list only grows: a push is its only change. Release: whoever reads it finds whole tables. */
static struct lock_table *newest;

/* Where the next look begins; a hint. */
static struct lock_table *cursor;

static struct ownership owners;

void lock_tables_belong_here(void)
{
    ownership_begins(&owners);
}

/* A thread counts on in its table without a look at the owner: nobody may take it over. */
static void disown_all(void)
{
    for (struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table)) {
        uint64_t owner = __atomic_load_n(&table->owner, __ATOMIC_RELAXED);

        (void)__atomic_compare_exchange_n(&table->owner, &owner, owner_word(owner, OWNER_UNKNOWN),
                                          false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

static struct lock_table *find_left_behind(pid_t process, int thread)
{
    struct lock_table *table = __atomic_load_n(&cursor, __ATOMIC_ACQUIRE);

    for (int look = 0; look < CLAIM_LOOKS; look++) {
        if (table == NULL)
            table = lock_table_first();
        if (table == NULL || owner_replace(&table->owner, process, thread))
            break;
        table = lock_table_after(table);
        if (look + 1 == CLAIM_LOOKS) {
            __atomic_store_n(&cursor, table, __ATOMIC_RELEASE);
            return NULL;
        }
    }
    if (table != NULL)
        __atomic_store_n(&cursor, lock_table_after(table), __ATOMIC_RELEASE);
    return table;
}

static struct lock_table *map_new(int thread)
{
    struct lock_table *table = pages_map(sizeof *table, 0);

    if (table == NULL)
        return NULL;
    table->owner = owner_word(0, thread);
    table->next = __atomic_load_n(&newest, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&newest, &table->next, table, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return table;
}

/* What the ended thread was doing when it ended is over; what it counted stays. */
static void make_usable(struct lock_table *table, uint32_t epoch)
{
    table->busy = 0;
    table->wait_lock = NULL;
    table->nested.outermost = NULL;
    table->nested.count = 0;
    table->nested.beyond_elided = 0;
    table->nested.beyond_physical = 0;
    if (table->epoch != epoch)
        lock_table_clear(table, epoch);
}

struct lock_table *lock_table_claim(int thread, uint32_t epoch)
{
    pid_t process = ownership_process(&owners, disown_all);
    struct lock_table *table = NULL;

    if (process != 0) {
        thread = (int)system_call(SYS_gettid, 0, NULL, 0); /* see lock_table_pool.h */
        table = find_left_behind(process, thread);
    }
    if (table == NULL)
        table = map_new(thread);
    if (table != NULL)
        make_usable(table, epoch);
    return table;
}

void lock_table_keep_in_child(struct lock_table *table, int thread)
{
    __atomic_store_n(&table->owner, owner_word(table->owner, thread), __ATOMIC_RELEASE);
}

struct lock_table *lock_table_first(void)
{
    return __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
}

struct lock_table *const *lock_tables_at(void)
{
    return &newest;
}

struct lock_table *lock_table_after(const struct lock_table *table)
{
    return table->next; /* never changes once the table is in the list */
}
