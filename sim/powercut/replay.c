/*
 * SPDX-License-Identifier: MIT
 *
 * See replay.h. Threads have their turns as they had them in the capture: only so is what a store
 * left in memory what it leaves in the replay.
 */
#include "powercut/replay.h"

#include "chip/cores/sync.h"

#include <stdio.h>
#include <stdlib.h>

struct thread {
    struct trace_stream *stream;
    bool begun, waits, over;
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

/* False: the thread waits for another one's turn to end. Locks were had in the order of turns. */
static bool synchronise(struct replay *replay, uint32_t number, const struct trace_event *event)
{
    if (event->kind == TRACE_POST)
        sync_post(&replay->sync, number, wake, replay);
    return event->kind != TRACE_WAIT ||
           sync_wait(&replay->sync, number, event->thread, event->value);
}

/* The thread whose turn it is; replay->threads: there is none. */
static uint32_t choose(const struct replay *replay)
{
    uint32_t number = 0;

    while (number < replay->threads &&
           (replay->thread[number].over || replay->thread[number].waits))
        number++;
    return number;
}

static bool all_over(const struct replay *replay)
{
    for (uint32_t i = 0; i < replay->threads; i++) {
        if (!replay->thread[i].over)
            return false;
    }
    return true;
}

/* Older traces say of each thread only in which order its own events came. */
static bool has_turns(uint32_t number, const struct trace_event *first)
{
    return number == 0 || (first->kind == TRACE_WAIT && first->what == TRACE_TURN);
}

static const char *run(struct replay *replay,
                       bool (*visit)(void *, uint32_t, const struct trace_event *), void *context)
{
    static char problem[256]; /* outlives the stream */

    while (!all_over(replay)) {
        uint32_t number = choose(replay);
        struct thread *thread = &replay->thread[number];

        if (number == replay->threads)
            return "its threads wait for one another";
        while (!thread->waits && !thread->over) {
            struct trace_event event;

            switch (trace_next_in_user_space(thread->stream, &event)) {
            case TRACE_EVENT:
                if (!thread->begun && !has_turns(number, &event))
                    return "it does not have the order of its threads: trace the program again";
                thread->begun = true;
                if (!visit(context, number, &event))
                    return NULL;
                thread->waits = !synchronise(replay, number, &event);
                break;
            case TRACE_END:
                thread->over = true;
                break;
            default:
                snprintf(problem, sizeof problem, "%s", trace_problem(thread->stream));
                return problem;
            }
        }
    }
    return NULL;
}

const char *replay(struct trace *trace,
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
        problem = run(&replay, visit, context);
    for (uint32_t i = 0; i < replay.threads; i++) {
        if (replay.thread[i].stream != NULL)
            trace_stream_close(replay.thread[i].stream);
    }
    sync_destroy(&replay.sync);
    free(replay.thread);
    return problem;
}
