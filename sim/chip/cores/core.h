/*
 * SPDX-License-Identifier: MIT
 *
 * The cores of the simulated chip and the threads that they replay.
 *
 * A core issues core.width instructions a cycle and goes on past misses until core.window of them
 * are under way, or core.rob instructions beyond the oldest load that it waits for. A load whose
 * address came from an earlier load waits for all earlier loads; a locked access and a fence wait
 * for all accesses. A core runs ahead of the simulation's time by at most core.slack cycles on hits
 * in its own caches: what others do to its copies it sees up to so much later, never in another
 * order.
 *
 * Where threads outnumber cores, those of a core take turns. A thread whose trace ends while it has
 * locks gives them back: the capture ended there, and others may have had them earlier.
 */
#ifndef CHIP_CORE_H
#define CHIP_CORE_H

#include "chip/coherence/fabric.h"
#include "chip/cores/source.h"
#include "chip/cores/sync.h"
#include "chip/persistence/persistence.h"
#include "chip/persistence/power_cut.h"
#include "chip/persistence/software.h"
#include "chip/sharing/sharing.h"

struct thread {
    struct source source;
    struct trace_event event;
    uint64_t block, last_block; /* of the access under way */
    uint32_t core;
    uint32_t base; /* the number of its program's thread 0 */
    bool has_event;
    bool at_end;
    bool in_l2;    /* a block of the access under way was in the second level, */
    bool missed;   /* or in neither: that miss counts */
    bool blocked;  /* it waits for another thread, or for persistent memory */
    bool software; /* the event is of the software of a protocol of persistence */
    bool held;     /* and this one comes after all of these */
    struct trace_event after;
    bool over;
};

struct core {
    uint64_t time;         /* of its next instruction */
    uint64_t ready;        /* when the data of all its loads so far are there, misses excepted */
    uint64_t instructions; /* issued */
    uint64_t oldest;       /* of them, those before the oldest load under way */
    uint64_t ended;        /* when its last thread was over */
    uint64_t turn;         /* since when the thread has it */
    uint32_t slots;        /* of the present cycle */
    uint32_t outstanding;  /* misses */
    uint32_t loads;        /* of them, those with loads */
    uint32_t thread;       /* that it runs, or SYNC_NOBODY */
    uint32_t threads;      /* that it has */
    bool scheduled;        /* a WAKE is under way */
    bool stalled;          /* until a miss is over */
    bool fence;            /* the next event waits for all accesses */
};

struct cores {
    struct fabric fabric;
    struct core *core;
    struct thread *threads;
    uint32_t thread_count, running; /* threads that are not over */
    struct sync sync;
    uint64_t let_in;      /* threads that got a lock that others had, see cores_run */
    uint64_t released;    /* when the thread that lets others go on did so */
    const char *problem;  /* of a source, */
    uint32_t problem_of;  /* and its program */
    uint64_t accesses;    /* replayed, the region of interest or not */
    bool in_region, left; /* the region of interest has begun, and ended */
    uint64_t region_begin, region_end;
    struct counts *region;   /* the counts when it ended */
    struct sharing *sharing; /* NULL: nobody asks which lines move */
    struct persistence *persistence;
    struct power_cuts power_cuts; /* of the run, when it was over; none: nobody asked */
};

/* Threads go to the cores in turn. False: out of memory. */
bool cores_init(struct cores *cores, const struct machine *machine, const struct source *sources,
                uint32_t count, bool check);
void cores_destroy(struct cores *cores);

/* Notes from now on which lines move between cores, and why. */
void cores_record_sharing(struct cores *cores);

/*
 * Replays up to about `accesses` more accesses. Where all threads wait for one another, one of them
 * gets its lock although others have it: a lock that was tried and got in the capture, against the
 * order in which others take it, is waited for in the replay. False: it is over, because all
 * threads are, or no event is left while some wait (running > 0), or a source has a problem, or the
 * checker a finding.
 */
bool cores_run(struct cores *cores, uint64_t accesses);

#endif
