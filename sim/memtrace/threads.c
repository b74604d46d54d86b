/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See threads.h. libc's name of a thread, a pthread_t, is the address of its control block, which
 * is also the base of its segment FS; the next thread can have the same one.
 */
#include "memtrace/threads.h"

#include "memtrace/buffers.h"
#include "memtrace/events.h"

#include "pub_tool_hashtable.h"

struct thread_record {
    struct thread_record *next; /* as the hash table wants it */
    UWord name;
    UInt number;
    struct post end; /* number 0: it has not ended */
};

/* Of the core's threads that live now. */
static struct living {
    struct thread_record *record; /* NULL: not known yet */
    struct post made;             /* by its parent */
    Bool is_waiting;              /* for its first turn */
} * living;

static VgHashTable *records;

void threads_init(void)
{
    living = VG_(calloc)("memtrace.threads", VG_N_THREADS, sizeof *living);
    records = VG_(HT_construct)("memtrace.threads");
}

void threads_made(ThreadId parent, ThreadId thread)
{
    UInt number = buffers_thread_is_made(thread);

    events_thread_is_made(thread);
    living[thread] = (struct living){.is_waiting = True};
    if (parent != VG_INVALID_THREADID)
        living[thread].made = events_post(parent, TRACE_THREAD, number, 0);
}

/* Records that nobody can ask for any more stay: who joins may still hold one. */
static struct thread_record *new_record(ThreadId thread)
{
    struct thread_record *record = VG_(calloc)("memtrace.thread", 1, sizeof *record);

    VG_(get_shadow_regs_area)
    (thread, (UChar *)&record->name, 0, offsetof(Guest, guest_FS_CONST), sizeof record->name);
    record->number = buffers_number_of(thread);
    (void)VG_(HT_remove)(records, record->name);
    VG_(HT_add_node)(records, record);
    return record;
}

void threads_begins(ThreadId thread)
{
    if (living[thread].record == NULL)
        living[thread].record = new_record(thread);
    living[thread].is_waiting = False;
    events_wait(thread, TRACE_THREAD, buffers_number_of(thread), 0, living[thread].made);
}

void threads_ends(ThreadId thread)
{
    struct post end;

    living[thread].is_waiting = False;
    end = events_post(thread, TRACE_THREAD, buffers_number_of(thread), 0);

    if (living[thread].record != NULL)
        living[thread].record->end = end;
    events_thread_ends(thread, end);
    buffers_thread_ends(thread);
}

/* A thread has its control block from clone(2) on, and may be joined before it has its first turn.
 */
const struct thread_record *threads_known_as(UWord name)
{
    for (ThreadId thread = 1; thread < VG_N_THREADS; thread++) {
        if (living[thread].is_waiting && living[thread].record == NULL)
            living[thread].record = new_record(thread);
    }
    return VG_(HT_lookup)(records, name);
}

void threads_joined(ThreadId thread, const struct thread_record *ended, UInt site)
{
    if (ended != NULL)
        events_wait(thread, TRACE_THREAD, ended->number, site, ended->end);
}
