/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The virtual processors, and which thread is at which.
 *
 * A thread goes where the fewest are and stays there while it is busy, as under any kernel. Threads
 * at one processor take turns by time slice; changing to another one is a context switch, which the
 * tool may hear of.
 *
 * The running thread changes all this, but threads that return from system calls of the host come
 * in on their own: every function here is for who holds the guard, unless it says otherwise.
 */
#ifndef VIRTUAL_PROCESSORS_PROCESSORS_H
#define VIRTUAL_PROCESSORS_PROCESSORS_H

#include "program_calls/valgrind_api.h"

enum {
    NOBODY_RUNS = -1,
    NOWHERE = -1,
    CPUS_MOST = 64, /* sets of processors are the bits of one word */
};

/* What the tool chooses, before its threads run, and what it wants to hear of; a function may be
 * NULL. */
struct processor_settings {
    Int cpus;
    Int timeslice; /* blocks until a processor changes to its next thread */
    /* The processor's current thread leaves it. Called by who holds the guard. */
    void (*switches)(Int cpu);
    /* The running thread has just got the baton. */
    void (*resumes)(void);
    /* Is there still a reason to favour this processor (baton_favour)? */
    Bool (*is_favoured)(Int cpu);
    /* System calls that are answered here are about to store to the program's memory. */
    void (*stores)(Addr address, SizeT size);
};

extern struct processor_settings processor_settings;

/* A thread of the host. What the core calls ThreadId comes and goes before and after this. */
struct runner {
    Int lwp; /* 0: free */
    Int cpu; /* NOWHERE until it first waits for the baton */
    ULong affinity;
    Bool ready; /* waits for the baton, or will at once */

    /* baton.c alone uses these. */
    Bool in_call; /* gives up the baton for a system call */
    Bool keeps;   /* does not, though the core thinks so: the call returns at once */
    Bool exits;   /* gives it up for good */
    UInt granted; /* the futex it sleeps on; 1: the baton is its own */
};

extern struct runner *runners;
extern Int runner_running; /* index into runners: who holds the baton, or NOBODY_RUNS */

/* Needs no guard: the process has one thread, this one. A forked child keeps what the thread that
 * forked may use. */
void processors_reset(void);

void processors_lock(void);
void processors_unlock(void);

/* The thread's entry; a new one if it never came here. */
Int processors_runner_of(Int lwp);

/* The thread waits for the baton from now on. */
void processors_arrive(struct runner *runner);

/* The running thread does not want its processor for a while: it may be another one's. */
void processors_leave(const struct runner *runner);

/* Bit n: somebody at processor n is ready. */
ULong processors_ready(void);

/* Who goes on at this processor, where somebody is ready. */
Int processors_turn(Int cpu);

/* The thread whose turn it is there, if it is ready. */
Int processors_current(Int cpu);

/* The running thread had so many blocks. Needs no guard. */
void processors_count(UInt blocks);

/* It has had its time slice. Needs no guard. */
void processors_end_slice(void);

/* The processor of the running thread. Needs no guard. */
Int processors_mine(void);

/* Is the running thread the only one of the process? Needs no guard. */
Bool processors_alone(void);

/* Only one thread is there, and what was before does not matter any more. */
void processors_start_anew(void);

/* The processors that there are: as many low bits as --cpus says. Needs no guard. */
ULong processors_all(void);

/* What the thread may use. It moves at once if it is elsewhere. */
ULong processors_affinity(Int lwp);
void processors_set_affinity(Int lwp, ULong cpus);

#endif
