/*
 * SPDX-License-Identifier: MIT
 *
 * Who owns what a thread leaves behind: tables of counters, lists of signals. Each has an owner
 * word with the kernel's id of its thread. Nothing runs at thread exit: whether the owner still
 * lives is asked of the kernel when another thread needs such a thing, and takes it over.
 */
#ifndef MPLACE_MUTEX_OWNERSHIP_H
#define MPLACE_MUTEX_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In place of a thread's id. Nobody may take over what has an unknown owner: the kernel calls the
 * id invalid, which is not ended. */
enum { OWNER_NOBODY = 0, OWNER_UNKNOWN = -1 };

/*
 * The owner word that comes after another one: the new owner's id and, above it, a number that goes
 * up with each change. The kernel may give an ended thread's id to a new one: when the new thread
 * and a third one both want what it left, both know the old word, and only one of them can replace
 * it.
 */
static inline uint64_t owner_word(uint64_t previous, int thread)
{
    return (((previous >> 32) + 1) << 32) | (uint32_t)thread;
}

/* The id in an owner word. */
static inline int owner_thread(uint64_t owner)
{
    return (int)(uint32_t)owner;
}

/* The process whose threads own the things of one kind; all 0 until ownership_begins. */
struct ownership {
    pid_t *process; /* see ownership.c */
};

/*
 * The threads of the calling process own them: before the first has an owner, and in the child of
 * fork. Not left to the first who wants one, who may be a child of vfork. errno is preserved.
 */
void ownership_begins(struct ownership *ownership);

/*
 * The calling process's id, if its threads are the owners; else 0: nothing can be taken over, in a
 * child of vfork for one. In a copy of the memory that ownership_begins was not called in, as a raw
 * clone's, the thread that called clone still uses what it owned, and nobody can tell what that is:
 * disown_all, called there once, takes every thing away from its owner (to OWNER_UNKNOWN), and the
 * process's threads are the owners from then on. NULL: they never are. (A child of vfork that is
 * the first to ask in such a copy becomes the owner in its place.) Async-signal-safe; errno is
 * preserved.
 */
pid_t ownership_process(struct ownership *ownership, void (*disown_all)(void));

/* Whether the owner, if it is another thread than the calling one, has ended or never was in this
 * process. Right in a child of vfork, too. */
bool owner_is_gone(const struct ownership *ownership, int thread);

/*
 * Makes the calling thread, whose id is given, the owner in place of a thread that has ended, of an
 * earlier one with the same id, or of nobody. False: the owner lives, or another thread was faster.
 * process as above. What the ended thread wrote is seen.
 */
bool owner_replace(uint64_t *owner, pid_t process, int thread);

#endif
