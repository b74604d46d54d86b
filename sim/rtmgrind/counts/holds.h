/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The locks that threads hold physically, and the instructions that each thread has run: in all,
 * under each of its locks, and there while another thread waited for it.
 */
#ifndef RTMGRIND_HOLDS_H
#define RTMGRIND_HOLDS_H

#include "rtmgrind/counts/section_table.h"

/* Instructions that the program has run. Translated code adds to it. */
extern ULong sections_instructions;

/* An entry of a section that took its lock. */
struct hold {
    Addr lock;
    struct section *section;
    struct stop *stop; /* why it is not a transaction; NULL: none was tried */
    Bool more;         /* something else that stops a transaction was seen */
    Bool freed;        /* by the transaction that the thread is in */
    UInt again;        /* acquisitions of a recursive lock beside the first */
    Bool waits;        /* for a condition: the lock is free */
    Bool visited;      /* another thread waits for the lock, since: */
    ULong visited_since, visited_before;
    ULong since, before; /* when it last got the lock; its instructions under it before that */
};

void holds_init(void);
/* All are forgotten; the threads' clocks go on. */
void holds_reset(void);

void holds_thread_goes_on(ThreadId thread);
void holds_thread_stops(ThreadId thread);
void holds_thread_is_new(ThreadId thread);

/* Instructions of the thread, up to now. */
ULong holds_clock(ThreadId thread);

/* The thread has taken the lock of this entry (the members up to `stop`), or has it once more.
 * Returns whether it is a new entry. visited: others wait already. */
Bool holds_begin(ThreadId thread, struct hold entry, Bool visited);
void holds_end(ThreadId thread, struct hold *hold);
void holds_end_all(void);

/* The thread's hold of this lock, and the n-th of all, the youngest first; NULL: there is none.
 * They stay where they are until one ends. */
struct hold *holds_find(ThreadId thread, Addr lock);
struct hold *holds_nth(ThreadId thread, UInt n);

/* Its thread waits for a condition, and has the lock back. */
void holds_pause(ThreadId thread, struct hold *hold);
void holds_go_on(ThreadId thread, struct hold *hold);

/* The section of another thread that holds the lock, or NULL; that of the visitor, who waits. */
struct section *holds_holder(Addr lock);
struct section *holds_visit(ThreadId visitor, Addr lock);

/* What would have aborted a transaction is met under the lock. The key is without its section. */
void holds_meet(struct hold *hold, struct stop key);

#endif
