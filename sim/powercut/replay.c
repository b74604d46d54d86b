/*
 * SPDX-License-Identifier: MIT
 *
 * See replay.h. A thread runs for a few events, then another one that does not wait has its turn.
 */
#include "powercut/replay.h"

#include "chip/cores/sync.h"
#include "harness/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURN_GREATEST = 200 };

struct thread {
    struct trace_stream *stream;
    bool waits, over;
};

struct replay {
    struct sync sync;
    struct thread *thread;
    uint32_t threads;
};

static void wake(void *context, uint32_t number)
{
    struct replay *replay = context;

    replay->thread[number].waits = false;
}

/* False: the thread waits, and its event is done when it is woken. */
static bool synchronise(struct replay *replay, uint32_t number, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_ACQUIRE:
        return sync_acquire(&replay->sync, number, 0, event->address, event->shared);
    case TRACE_RELEASE:
        sync_release(&replay->sync, number, 0, event->address, wake, replay);
        return true;
    case TRACE_POST:
        sync_post(&replay->sync, number, wake, replay);
        return true;
    case TRACE_WAIT:
        return sync_wait(&replay->sync, number, event->thread, event->value);
    default:
        return true;
    }
}

/* A thread that does not wait, from a random one on; replay->threads: there is none. */
static uint32_t choose(const struct replay *replay, uint64_t *random)
{
    uint32_t from = (uint32_t)random_below(random, replay->threads);

    for (uint32_t i = 0; i < replay->threads; i++) {
        uint32_t number = (from + i) % replay->threads;

        if (!replay->thread[number].over && !replay->thread[number].waits)
            return number;
    }
    return replay->threads;
}

static bool all_over(const struct replay *replay)
{
    for (uint32_t i = 0; i < replay->threads; i++) {
        if (!replay->thread[i].over)
            return false;
    }
    return true;
}

static const char *run(struct replay *replay, uint64_t random,
                       bool (*visit)(void *, uint32_t, const struct trace_event *), void *context)
{
    static char problem[256]; /* outlives the stream */

    while (!all_over(replay)) {
        uint32_t number = choose(replay, &random);
        struct thread *thread = &replay->thread[number];

        if (number == replay->threads) {
            /* In this order somebody has a lock that another one got by trying. */
            if (!sync_let_one_in(&replay->sync, wake, replay))
                return "its threads wait for one another";
            continue;
        }
        for (uint64_t turn = 1 + random_below(&random, TURN_GREATEST);
             turn > 0 && !thread->waits && !thread->over; turn--) {
            struct trace_event event;

            switch (trace_next_in_user_space(thread->stream, &event)) {
            case TRACE_EVENT:
                if (!visit(context, number, &event))
                    return NULL;
                thread->waits = !synchronise(replay, number, &event);
                break;
            case TRACE_END:
                thread->over = true;
                sync_release_all(&replay->sync, number, wake, replay);
                break;
            default:
                snprintf(problem, sizeof problem, "%s", trace_problem(thread->stream));
                return problem;
            }
        }
    }
    return NULL;
}

const char *replay(struct trace *trace, uint64_t seed,
                   bool (*visit)(void *context, uint32_t thread, const struct trace_event *event),
                   void *context)
{
    struct replay replay = {.threads = trace_threads(trace)};
    const char *problem = NULL;

    replay.thread = calloc(replay.threads, sizeof *replay.thread);
    if (replay.thread == NULL || !sync_init(&replay.sync, replay.threads)) {
        free(replay.thread);
        return "no memory";
    }
    for (uint32_t i = 0; i < replay.threads && problem == NULL; i++) {
        replay.thread[i].stream = trace_stream_open(trace, i);
        if (replay.thread[i].stream == NULL)
            problem = "no memory";
    }
    if (problem == NULL)
        problem = run(&replay, seed, visit, context);
    for (uint32_t i = 0; i < replay.threads; i++) {
        if (replay.thread[i].stream != NULL)
            trace_stream_close(replay.thread[i].stream);
    }
    sync_destroy(&replay.sync);
    free(replay.thread);
    return problem;
}
