/*
 * SPDX-License-Identifier: MIT
 *
 * A simulated machine that replays events made up by a test.
 */
#ifndef TESTS_UNIT_CHIP_FIXTURE_H
#define TESTS_UNIT_CHIP_FIXTURE_H

#include "chip/coherence/check.h"
#include "chip/cores/core.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CHIP_THREADS_MOST = 64, CHIP_EVENTS_MOST = 4096 };

struct chip_script;

struct chip_self {
    struct chip_script *script;
    unsigned thread;
};

/* The events of each thread, one after the other. */
struct chip_script {
    struct trace_event events[CHIP_THREADS_MOST][CHIP_EVENTS_MOST];
    unsigned count[CHIP_THREADS_MOST], at[CHIP_THREADS_MOST];
    uint64_t posts[CHIP_THREADS_MOST];
    unsigned threads;
    bool sharing;                /* which lines move is noted, */
    enum sharing_mutant without; /* without a rule */
    struct source sources[CHIP_THREADS_MOST];
    struct chip_self selves[CHIP_THREADS_MOST];
};

static inline struct trace_event *chip_event(struct chip_script *script, unsigned thread,
                                             enum trace_kind kind, uint64_t address)
{
    struct trace_event *event = &script->events[thread][script->count[thread]++];

    ck_assert_uint_le(script->count[thread], CHIP_EVENTS_MOST);
    *event = (struct trace_event){
        .kind = (uint8_t)kind, .address = address, .size = 8, .instructions = 1};
    if (thread >= script->threads)
        script->threads = thread + 1;
    return event;
}

/* The other thread goes on only when this one has come here. */
static inline void chip_hand_over(struct chip_script *script, unsigned from, unsigned to)
{
    struct trace_event *wait;

    /* A fence first: what was done before is over. */
    chip_event(script, from, TRACE_FENCE, 0);
    chip_event(script, from, TRACE_POST, 64);
    wait = chip_event(script, to, TRACE_WAIT, 64);
    wait->thread = from;
    wait->value = ++script->posts[from];
}

static inline enum trace_status chip_next(void *self, struct trace_event *event)
{
    const struct chip_self *mine = self;
    struct chip_script *script = mine->script;

    if (script->at[mine->thread] == script->count[mine->thread])
        return TRACE_END;
    *event = script->events[mine->thread][script->at[mine->thread]++];
    return TRACE_EVENT;
}

/* Replays the script under the checker, which must have no finding; the caller destroys the cores.
 */
static inline void chip_replay(struct chip_script *script, const struct machine *machine,
                               struct cores *cores)
{
    for (unsigned i = 0; i < script->threads; i++) {
        script->selves[i].script = script;
        script->selves[i].thread = i;
        script->sources[i] =
            (struct source){.next = chip_next, .self = &script->selves[i], .thread = i};
    }
    ck_assert(cores_init(cores, machine, script->sources, script->threads, true));
    if (script->sharing) {
        cores_record_sharing(cores);
        cores->sharing->mutant = script->without;
    }
    while (cores_run(cores, 1u << 30))
        ;
    ck_assert_msg(check_finding(cores->fabric.check) == NULL, "%s",
                  check_finding(cores->fabric.check));
    ck_assert_uint_eq(cores->running, 0);
}

static inline uint64_t chip_total(const struct cores *cores, enum count what)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < cores->fabric.machine->core.count; i++)
        total += cores->fabric.counts[i].of[what];
    return total;
}

/* 16 cores of Table I with a small last level, so that a test's machine is made quickly. */
static inline struct machine chip_machine(enum machine_protocol protocol)
{
    struct machine machine;

    machine_defaults(&machine);
    machine.llc.size = 1 << 20;
    machine.coherence.protocol = (uint32_t)protocol;
    return machine;
}

#endif
