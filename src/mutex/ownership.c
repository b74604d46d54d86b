/*
 * SPDX-License-Identifier: MIT
 *
 * See ownership.h. The calling thread may hold a mutex of the program's: no function of libc's is
 * called, for another library may replace it by one that locks.
 *
 * The process is kept in a page that the kernel empties in a child which gets a copy of the memory
 * (MADV_WIPEONFORK, Linux 4.14). So its word is one of:
 *   the caller's id      threads that the kernel does not know in this process have ended
 *   0                    a copy that no handler of fork was told about: a raw clone's
 *   DISOWNING            such a copy, in which a thread is calling disown_all
 *   another process's    a child on the same memory, as vfork's; without MADV_WIPEONFORK a copy too
 * Only the first says which threads have ended. An id alone would not do: in a child with its own
 * numbers (CLONE_NEWPID) both ids may be 1.
 */
#include "mutex/ownership.h"

#include "base/pages.h"
#include "base/system_call.h"

#include <errno.h>

enum { PAGE_BYTES = 4096, DISOWNING = -1 };

static pid_t process_id(void)
{
    return (pid_t)system_call(SYS_getpid, 0, NULL, 0);
}

static pid_t *page_of(struct ownership *ownership)
{
    pid_t *page = __atomic_load_n(&ownership->process, __ATOMIC_ACQUIRE), *none = NULL;

    if (page != NULL)
        return page;
    page = pages_map(PAGE_BYTES, 0);
    if (page == NULL)
        return NULL;
    (void)system_call_6(SYS_madvise, (long)page, PAGE_BYTES, MADV_WIPEONFORK, 0, 0, 0);
    if (__atomic_compare_exchange_n(&ownership->process, &none, page, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return page;
    pages_unmap(page, PAGE_BYTES);
    return none;
}

void ownership_begins(struct ownership *ownership)
{
    pid_t *page = page_of(ownership);

    if (page != NULL)
        __atomic_store_n(page, process_id(), __ATOMIC_RELEASE);
}

/* One thread disowns. The others find out nothing until it has done so: what one of them got in
 * between would be taken from it again. */
pid_t ownership_process(struct ownership *ownership, void (*disown_all)(void))
{
    pid_t *page = __atomic_load_n(&ownership->process, __ATOMIC_ACQUIRE);
    pid_t here = process_id();
    pid_t owner = page != NULL ? __atomic_load_n(page, __ATOMIC_ACQUIRE) : DISOWNING;

    if (owner != 0 || disown_all == NULL ||
        !__atomic_compare_exchange_n(page, &owner, DISOWNING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE))
        return owner == here ? here : 0;
    disown_all();
    __atomic_store_n(page, here, __ATOMIC_RELEASE);
    return here;
}

static bool has_ended(pid_t process, int thread)
{
    return thread == OWNER_NOBODY ||
           system_call_6(SYS_tgkill, process, thread, 0, 0, 0, 0) == -ESRCH;
}

bool owner_is_gone(const struct ownership *ownership, int thread)
{
    const pid_t *page = __atomic_load_n(&ownership->process, __ATOMIC_ACQUIRE);
    pid_t process = page != NULL ? __atomic_load_n(page, __ATOMIC_ACQUIRE) : 0;

    return process <= 0 || has_ended(process, thread);
}

/* Acquire: what the taker reads is what the ended thread last wrote, for its end, seen through the
 * kernel, came after; the release passes it on to the next one. */
bool owner_replace(uint64_t *word, pid_t process, int thread)
{
    uint64_t owner = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    int owning_thread = owner_thread(owner);

    /* Its id is this thread's own: then it was an earlier thread's. */
    if (owning_thread != thread && !has_ended(process, owning_thread))
        return false;
    return __atomic_compare_exchange_n(word, &owner, owner_word(owner, thread), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
