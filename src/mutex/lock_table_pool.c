/*
 * SPDX-License-Identifier: MIT
 *
 * See lock_table_pool.h. The calling thread may hold a mutex of the program's: no function of
 * libc's is called, for another library may replace it by one that locks.
 *
 * The owner word is the thread's kernel id and, above it, a number that goes up with each change of
 * owner. The kernel may give an ended thread's id to a new one: when the new thread and a third one
 * both want the table, both know the old word, and only one of them can replace it.
 */
#include "mutex/lock_table_pool.h"

#include "base/pages.h"
#include "base/system_call.h"

#include <errno.h>
#include <sys/types.h>

/*
 * Tables looked at before a new one is mapped. With n tables for a lives of threads the chance that
 * all of these are in use is (a / n)^16: the pool stops growing well below twice the threads.
 */
enum { CLAIM_LOOKS = 16 };

/* The list only grows: a push is its only change. Release: whoever reads it finds whole tables. */
static struct lock_table *newest;

/* Where the next look begins; a hint. */
static struct lock_table *cursor;

static uint64_t owner_word(uint64_t previous, int thread)
{
    return (((previous >> 32) + 1) << 32) | (uint32_t)thread;
}

/*
 * The process whose threads own the tables. A child of vfork shares them and is another process, in
 * which none of these threads exists. 0 until counting begins: the kernel knows no such process,
 * and not to know whether a thread lives counts as alive.
 */
static pid_t owning_process;

static pid_t process_id(void)
{
    return (pid_t)system_call(SYS_getpid, 0, NULL, 0);
}

void lock_tables_belong_here(void)
{
    __atomic_store_n(&owning_process, process_id(), __ATOMIC_RELAXED);
}

static bool thread_has_ended(int thread)
{
    return thread <= 0 ||
           system_call_6(SYS_tgkill, __atomic_load_n(&owning_process, __ATOMIC_RELAXED), thread, 0,
                         0, 0, 0) == -ESRCH;
}

/* Acquire: what the ended thread's taker reads is what that thread last wrote, for its end, seen
 * through the kernel, came after; the release in claiming passes it on to the next one. */
static bool take_over(struct lock_table *table, int thread)
{
    uint64_t owner = __atomic_load_n(&table->owner, __ATOMIC_ACQUIRE);
    int owning_thread = (int)(uint32_t)owner;

    /* Its id is this thread's own: then it was an earlier thread's. */
    if (owning_thread != thread && !thread_has_ended(owning_thread))
        return false;
    return __atomic_compare_exchange_n(&table->owner, &owner, owner_word(owner, thread), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct lock_table *find_left_behind(int thread)
{
    struct lock_table *table = __atomic_load_n(&cursor, __ATOMIC_ACQUIRE);

    for (int look = 0; look < CLAIM_LOOKS; look++) {
        if (table == NULL)
            table = lock_table_first();
        if (table == NULL || take_over(table, thread))
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
    table->notes.outermost = NULL;
    table->notes.count = 0;
    table->notes.beyond_elided = 0;
    table->notes.beyond_physical = 0;
    if (table->epoch != epoch)
        lock_table_clear(table, epoch);
}

struct lock_table *lock_table_claim(int thread, uint32_t epoch)
{
    struct lock_table *table = find_left_behind(thread);

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
