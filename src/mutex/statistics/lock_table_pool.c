/*
 * SPDX-License-Identifier: MIT
 *
 * See lock_table_pool.h. The calling thread may hold a mutex of the program's: no function of
 * libc's is called, for another library may replace it by one that locks.
 */
#include "mutex/statistics/lock_table_pool.h"

#include "base/pages.h"
#include "base/system_call.h"
#include "mutex/thread_id.h"

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

/*
 * The process whose threads own the tables, in a page that the kernel empties in a child which gets
 * a copy of the memory (MADV_WIPEONFORK, Linux 4.14). So:
 *   the caller's id      threads that the kernel does not know in this process have ended
 *   0                    a copy that no handler of fork was told about: a raw clone's
 *   another process's    a child on the same memory, as vfork's; without MADV_WIPEONFORK a copy too
 * Only the first says which threads have ended. An id alone would not do: in a child with its own
 * numbers (CLONE_NEWPID) both ids may be 1. NULL until counting begins.
 */
static pid_t *owning_process;

enum { OWNER_PAGE_BYTES = 4096 };

static pid_t process_id(void)
{
    return (pid_t)system_call(SYS_getpid, 0, NULL, 0);
}

static pid_t *owner_page(void)
{
    pid_t *page = __atomic_load_n(&owning_process, __ATOMIC_ACQUIRE), *none = NULL;

    if (page != NULL)
        return page;
    page = pages_map(OWNER_PAGE_BYTES, 0);
    if (page == NULL)
        return NULL;
    (void)system_call_6(SYS_madvise, (long)page, OWNER_PAGE_BYTES, MADV_WIPEONFORK, 0, 0, 0);
    if (__atomic_compare_exchange_n(&owning_process, &none, page, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return page;
    pages_unmap(page, OWNER_PAGE_BYTES);
    return none;
}

void lock_tables_belong_here(void)
{
    pid_t *page = owner_page();

    if (page != NULL)
        __atomic_store_n(page, process_id(), __ATOMIC_RELEASE);
}

/* The id of no thread; the kernel calls it invalid, which is not ended. */
enum { UNKNOWN_THREAD = -1 };

/*
 * In a copy of the memory: one of the tables is still in use, by the thread that called clone, and
 * nobody can tell which. So none of them is taken over. Threads that do this at the same time may
 * take a new table away from the pool, no more.
 */
static void disown_all(void)
{
    for (struct lock_table *table = lock_table_first(); table != NULL;
         table = lock_table_after(table)) {
        uint64_t owner = __atomic_load_n(&table->owner, __ATOMIC_RELAXED);

        (void)__atomic_compare_exchange_n(&table->owner, &owner,
                                          thread_id_owner_word(owner, UNKNOWN_THREAD), false,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

/* 0: which threads have ended cannot be told here. */
static pid_t process_to_ask_about(void)
{
    pid_t *page = __atomic_load_n(&owning_process, __ATOMIC_ACQUIRE);
    pid_t here = process_id(), owner = page != NULL ? __atomic_load_n(page, __ATOMIC_ACQUIRE) : -1;

    if (owner == 0) {
        disown_all();
        __atomic_store_n(page, here, __ATOMIC_RELEASE);
        return here;
    }
    return owner == here ? here : 0;
}

static bool thread_has_ended(pid_t process, int thread)
{
    return system_call_6(SYS_tgkill, process, thread, 0, 0, 0, 0) == -ESRCH;
}

/* Acquire: what the ended thread's taker reads is what that thread last wrote, for its end, seen
 * through the kernel, came after; the release in claiming passes it on to the next one. */
static bool take_over(struct lock_table *table, pid_t process, int thread)
{
    uint64_t owner = __atomic_load_n(&table->owner, __ATOMIC_ACQUIRE);
    int owning_thread = thread_id_of_owner(owner);

    /* Its id is this thread's own: then it was an earlier thread's. */
    if (owning_thread != thread && !thread_has_ended(process, owning_thread))
        return false;
    return __atomic_compare_exchange_n(&table->owner, &owner, thread_id_owner_word(owner, thread),
                                       false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct lock_table *find_left_behind(int thread)
{
    struct lock_table *table = __atomic_load_n(&cursor, __ATOMIC_ACQUIRE);
    pid_t process = process_to_ask_about();

    if (process == 0)
        return NULL;
    for (int look = 0; look < CLAIM_LOOKS; look++) {
        if (table == NULL)
            table = lock_table_first();
        if (table == NULL || take_over(table, process, thread))
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
    table->owner = thread_id_owner_word(0, thread);
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
    struct lock_table *table = find_left_behind(thread);

    if (table == NULL)
        table = map_new(thread);
    if (table != NULL)
        make_usable(table, epoch);
    return table;
}

void lock_table_keep_in_child(struct lock_table *table, int thread)
{
    __atomic_store_n(&table->owner, thread_id_owner_word(table->owner, thread), __ATOMIC_RELEASE);
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
