/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See holds.h.
 */
#include "rtmgrind/counts/holds.h"

enum { HOLDS_MOST = 64 }; /* locks of a thread that are followed at once */

struct holder {
    ULong done, base; /* its clock; sections_instructions when that was 0, if it runs */
    UInt used;
    struct hold holds[HOLDS_MOST];
};

ULong sections_instructions;

static struct holder *holders; /* by thread */
static ThreadId newest;        /* no thread above it has run */
static ThreadId runs;          /* the thread in the program's code, or VG_INVALID_THREADID */

void holds_init(void)
{
    holders = VG_(calloc)("rtm.holds", VG_N_THREADS, sizeof *holders);
}

void holds_reset(void)
{
    for (ThreadId thread = 1; thread <= newest; thread++)
        holders[thread].used = 0;
}

ULong holds_clock(ThreadId thread)
{
    return thread == runs ? sections_instructions - holders[thread].base : holders[thread].done;
}

void holds_thread_goes_on(ThreadId thread)
{
    runs = thread;
    newest = thread > newest ? thread : newest;
    holders[thread].base = sections_instructions - holders[thread].done;
}

void holds_thread_stops(ThreadId thread)
{
    holders[thread].done = holds_clock(thread);
    runs = VG_INVALID_THREADID;
}

void holds_thread_is_new(ThreadId thread)
{
    VG_(memset)(&holders[thread], 0, sizeof holders[thread]);
}

struct hold *holds_nth(ThreadId thread, UInt n)
{
    struct holder *holder = &holders[thread];

    return n < holder->used ? &holder->holds[holder->used - 1 - n] : NULL;
}

struct hold *holds_find(ThreadId thread, Addr lock)
{
    struct hold *hold;

    for (UInt n = 0; (hold = holds_nth(thread, n)) != NULL; n++) {
        if (hold->lock == lock)
            return hold;
    }
    return NULL;
}

Bool holds_begin(ThreadId thread, struct hold entry, Bool visited)
{
    struct holder *holder = &holders[thread];
    struct hold *hold = holds_find(thread, entry.lock);

    if (hold != NULL) {
        hold->again++;
        return False;
    }
    if (holder->used == HOLDS_MOST)
        return True;
    entry.section->visited += visited;
    entry.since = holds_clock(thread);
    entry.visited = visited;
    entry.visited_since = entry.since;
    holder->holds[holder->used++] = entry;
    return True;
}

void holds_pause(ThreadId thread, struct hold *hold)
{
    ULong clock = holds_clock(thread);

    hold->before += clock - hold->since;
    if (hold->visited)
        hold->visited_before += clock - hold->visited_since;
    hold->visited = False;
    hold->waits = True;
}

void holds_go_on(ThreadId thread, struct hold *hold)
{
    hold->since = holds_clock(thread);
    hold->waits = False;
}

void holds_end(ThreadId thread, struct hold *hold)
{
    struct holder *holder = &holders[thread];

    if (!hold->waits)
        holds_pause(thread, hold);
    if (hold->stop == NULL) {
        struct stop key = {.section = hold->section, .kind = STOP_NOT_TRIED};
        hold->stop = section_table_stop(&key);
    }
    hold->section->in_holds += hold->before;
    hold->section->in_waits += hold->visited_before;
    hold->stop->holds++;
    hold->stop->in_holds += hold->before;
    hold->stop->in_waits += hold->visited_before;
    if (!hold->more) {
        hold->stop->holds_alone++;
        hold->stop->in_waits_alone += hold->visited_before;
    }
    holder->used--;
    for (; hold < &holder->holds[holder->used]; hold++)
        *hold = hold[1];
}

void holds_end_all(void)
{
    for (ThreadId thread = 1; thread <= newest; thread++) {
        while (holders[thread].used > 0)
            holds_end(thread, holds_nth(thread, 0));
    }
}

static struct hold *find_holder(Addr lock, ThreadId *holder)
{
    for (*holder = 1; *holder <= newest; ++*holder) {
        struct hold *hold = holds_find(*holder, lock);
        if (hold != NULL && !hold->waits)
            return hold;
    }
    return NULL;
}

struct section *holds_holder(Addr lock)
{
    ThreadId holder;
    const struct hold *hold = find_holder(lock, &holder);

    return hold == NULL ? NULL : hold->section;
}

struct section *holds_visit(ThreadId visitor, Addr lock)
{
    ThreadId holder;
    struct hold *hold = find_holder(lock, &holder);

    if (hold == NULL || holder == visitor)
        return NULL;
    hold->section->visited++;
    if (!hold->visited)
        hold->visited_since = holds_clock(holder);
    hold->visited = True;
    return hold->section;
}

void holds_meet(struct hold *hold, struct stop key)
{
    key.section = hold->section;
    struct stop *stop = section_table_stop(&key);

    stop->seen++;
    if (hold->stop != stop)
        hold->more = True;
}
