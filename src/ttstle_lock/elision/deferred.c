/*
 * SPDX-License-Identifier: MIT
 *
 * See deferred.h.
 *
 * Who writes: the list's thread alone; a thread that takes over the list of an ended one; and in
 * the child of fork, where it is alone. Inside a transaction only count and entries change. A
 * signal handler of the thread may run between any two instructions outside, elide sections of its
 * own, and so add and carry out entries beside those that the thread is about to: so an entry is
 * marked by one compare-and-exchange before it is carried out, and the list is emptied only by who
 * saw no marked one.
 *
 * Who reads: any thread, acquire. Clearing an entry is a release: who no longer finds it knows that
 * the call on the object has returned.
 */
#include "ttstle_lock/elision/deferred.h"

#include "base/spin.h"
#include "base/system_call.h"
#include "mutex/ownership.h"
#include "mutex/thread_id.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

bool deferred_on;

static deferred_carry_out *carry_out;

enum {
    LISTS = 1024,
    /* What fits in two lines beside the rest. Transactions nest 7 deep; two signals for each. */
    ENTRIES = 14,
    CLAIM_LOOKS = 16, /* as lock_table_pool.c, for the same reason */
};

/* An entry is the object's address, 8 bytes aligned, with its kind and whether it is being carried
 * out; 0 for none. */
enum { ENTRY_KIND = 1, ENTRY_TAKEN = 2, ENTRY_BITS = 7 };

struct list {
    uint64_t owner;  /* owner_word */
    uint32_t count;  /* entries in use, cleared ones included */
    uint32_t drains; /* how often it was emptied */
    uintptr_t entries[ENTRIES];
} __attribute__((aligned(128)));
static_assert(sizeof(struct list) == 128, "two lines, nobody else's");

static struct list lists[LISTS];
static unsigned lists_used; /* those that ever had an owner; only grows */
static unsigned cursor;     /* where the next look for an ended owner begins; a hint */

static struct ownership owners;

void deferred_start(bool on, deferred_carry_out *function)
{
    if (on)
        ownership_begins(&owners);
    carry_out = function;
    deferred_on = on;
}

static unsigned used(void)
{
    unsigned count = __atomic_load_n(&lists_used, __ATOMIC_ACQUIRE);

    return count < LISTS ? count : LISTS;
}

/* ---- the thread's own ---- */

/* What the ended thread left is dropped: its objects may be gone. */
static bool take_over(struct list *list, pid_t process, int thread)
{
    if (!owner_replace(&list->owner, process, thread))
        return false;
    for (int i = 0; i < ENTRIES; i++)
        __atomic_store_n(&list->entries[i], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&list->count, 0, __ATOMIC_RELAXED);
    return true;
}

static int owner_of(const struct list *list)
{
    return owner_thread(__atomic_load_n(&list->owner, __ATOMIC_RELAXED));
}

static __attribute__((noinline)) unsigned claim(void)
{
    int thread = thread_id();
    unsigned count = used();
    pid_t process = ownership_process(&owners, NULL);

    if (process == 0)
        return 0;
    unsigned looks = count == LISTS ? 1 : CLAIM_LOOKS; /* then each section of a thread looks */

    for (unsigned look = 0; look < looks && look < count; look++) {
        unsigned at = __atomic_fetch_add(&cursor, 1, __ATOMIC_RELAXED) % count;
        if (take_over(&lists[at], process, thread))
            return at + 1;
    }
    if (count == LISTS)
        return 0;
    count = __atomic_fetch_add(&lists_used, 1, __ATOMIC_ACQ_REL);
    if (count >= LISTS) {
        __atomic_store_n(&lists_used, LISTS, __ATOMIC_RELEASE);
        return 0;
    }
    /* False: another thread was faster. */
    return take_over(&lists[count], process, thread) ? count + 1 : 0;
}

unsigned deferred_list_of_thread(unsigned known)
{
    /* Another owner than this thread: the process was forked since. */
    if (known != 0 && owner_of(&lists[known - 1]) == thread_id())
        return known;
    return claim();
}

bool deferred_add(unsigned number, const void *object, enum deferred_kind kind)
{
    struct list *list = &lists[number - 1];
    uintptr_t entry = (uintptr_t)object | kind;

    for (unsigned i = 0; kind == DEFERRED_BROADCAST && i < list->count; i++) {
        if (__atomic_load_n(&list->entries[i], __ATOMIC_RELAXED) == entry)
            return true;
    }
    if (list->count == ENTRIES)
        return false;
    /* The commit publishes it; no store in a transaction needs an order. */
    __atomic_store_n(&list->entries[list->count++], entry, __ATOMIC_RELAXED);
    return true;
}

void deferred_drain(unsigned number)
{
    struct list *list = &lists[number - 1];
    int saved = errno;
    bool others = false;

    if (__atomic_load_n(&list->count, __ATOMIC_RELAXED) == 0)
        return;
    for (unsigned i = 0; i < __atomic_load_n(&list->count, __ATOMIC_RELAXED); i++) {
        uintptr_t entry = __atomic_load_n(&list->entries[i], __ATOMIC_RELAXED);

        /* Marked: by the code that this signal handler has interrupted, and left to it. */
        if (entry & ENTRY_TAKEN)
            others = true;
        else if (entry != 0 &&
                 __atomic_compare_exchange_n(&list->entries[i], &entry, entry | ENTRY_TAKEN, false,
                                             __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            carry_out((void *)(entry & ~(uintptr_t)ENTRY_BITS),
                      (enum deferred_kind)(entry & ENTRY_KIND));
            __atomic_store_n(&list->entries[i], 0, __ATOMIC_RELEASE);
        }
    }
    if (!others) {
        __atomic_store_n(&list->count, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&list->drains, list->drains + 1, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* ---- the other threads' ---- */

/* object NULL: any. */
static bool has(const struct list *list, const void *object)
{
    for (int i = 0; i < ENTRIES; i++) {
        uintptr_t entry = __atomic_load_n(&list->entries[i], __ATOMIC_ACQUIRE);
        if (entry != 0 && (object == NULL || (entry & ~(uintptr_t)ENTRY_BITS) == (uintptr_t)object))
            return true;
    }
    return false;
}

bool deferred_is_pending(const void *object)
{
    for (unsigned at = 0, count = used(); at < count; at++) {
        if (has(&lists[at], object))
            return true;
    }
    return false;
}

/* Looks, then yields, then sleeps: the list's thread may have a lower priority than this one. */
static void wait_a_little(unsigned waits)
{
    static const struct timespec nap = {.tv_nsec = 50000};

    if (waits < 100)
        spin_pause();
    else if (waits < 200)
        (void)sched_yield();
    else
        (void)system_call(SYS_nanosleep, (long)&nap, NULL, 0);
}

/* Emptied once since the look: then that entry was carried out, and what is there came later. */
static void wait_for_list(const struct list *list, const void *object)
{
    uint32_t drains = __atomic_load_n(&list->drains, __ATOMIC_ACQUIRE);

    for (unsigned waits = 0;
         has(list, object) && __atomic_load_n(&list->drains, __ATOMIC_ACQUIRE) == drains; waits++) {
        if (waits >= 200 && owner_is_gone(&owners, owner_of(list)))
            return;
        wait_a_little(waits);
    }
}

void deferred_wait(const void *object, unsigned own)
{
    for (unsigned at = 0, count = used(); at < count; at++) {
        if (at + 1 != own)
            wait_for_list(&lists[at], object);
    }
}

void deferred_after_fork(unsigned own)
{
    ownership_begins(&owners);
    for (unsigned at = 0, count = used(); at < count; at++) {
        if (at + 1 == own) {
            lists[at].owner = owner_word(lists[at].owner, thread_id());
            continue;
        }
        for (int i = 0; i < ENTRIES; i++)
            lists[at].entries[i] = 0;
        lists[at].count = 0;
        lists[at].owner = owner_word(lists[at].owner, OWNER_NOBODY);
    }
}
