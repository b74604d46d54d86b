/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Critical sections of mutexes, rwlocks and spin locks, from where the function that locks returns
 * to where the one that unlocks is called, the outermost of nested ones, as a transaction in the
 * lock's place would be. One overflows if a line that it wrote has to leave the first-level cache
 * before it ends.
 */
#ifndef SETGRIND_SECTIONS_H
#define SETGRIND_SECTIONS_H

#include "origins.h"

#include "program_calls/lock_calls.h"

enum { SECTION_FILLERS_MOST = 8 };

struct section {
    const struct origin *origin; /* of the call that locks */
    ULong entered, overflowed, waited;
    ULong held;       /* when the program ended */
    ULong lines;      /* written, in all sections together; in one that overflowed, until then */
    UInt lines_most;  /* in one section */
    UInt in_set_most; /* in one set */
    struct section_filler {
        const struct origin *origin; /* of the blocks; NULL: no known block */
        SizeT size;                  /* of the greatest of them */
        ULong lines;                 /* in sets that overflowed, the one that left included */
    } filler[SECTION_FILLERS_MOST];
    ULong other_fillers; /* lines of more origins than there is room for */
};

void sections_entered(ThreadId thread, struct program_call *call);
void sections_returned(ThreadId thread, const struct program_call *call, UWord result);

void sections_thread_is_new(ThreadId thread);
void sections_reset(void);
void sections_init(void);

/* Those that threads are still in end now, and say so. */
void sections_finish(void);

/* Calls it with every section that was entered. */
void sections_each(void (*report)(struct section *section, void *argument), void *argument);

#endif
