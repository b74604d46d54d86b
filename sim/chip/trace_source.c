/*
 * SPDX-License-Identifier: MIT
 *
 * Trace files as sources; see trace_source.h.
 */
#include "chip/trace_source.h"

#include <stdio.h>
#include <stdlib.h>

static enum trace_status next(void *self, struct trace_event *event)
{
    return trace_next_in_user_space(self, event);
}

static const char *problem_of(void *self)
{
    return trace_problem(self);
}

static bool add_trace(struct trace_sources *sources, struct trace *trace)
{
    uint32_t threads = trace_threads(trace), program = (uint32_t)sources->trace_count;
    struct source *grown;

    sources->traces[sources->trace_count++] = trace;
    grown = realloc(sources->sources, (sources->count + threads) * sizeof *grown);
    if (grown == NULL)
        return false;
    sources->sources = grown;
    for (uint32_t i = 0; i < threads; i++) {
        struct trace_stream *stream = trace_stream_open(trace, i);

        if (stream == NULL)
            return false;
        sources->sources[sources->count++] = (struct source){next, problem_of, stream, program, i};
    }
    return true;
}

bool trace_sources_open(struct trace_sources *sources, char **paths, size_t count, char *problem,
                        size_t length)
{
    char why[512];

    *sources = (struct trace_sources){0};
    sources->traces = calloc(count, sizeof *sources->traces);
    for (size_t i = 0; i < count && sources->traces != NULL; i++) {
        struct trace *trace = trace_open(paths[i], why, sizeof why);

        if (trace == NULL) {
            snprintf(problem, length, "%s", why);
            return false;
        }
        if (!trace_is_complete(trace) || trace_threads(trace) == 0) {
            snprintf(problem, length, "%s: %s", paths[i],
                     trace_is_complete(trace) ? "it has no thread" : trace_damage(trace));
            trace_close(trace);
            return false;
        }
        if (!add_trace(sources, trace)) {
            snprintf(problem, length, "%s: out of memory", paths[i]);
            return false;
        }
    }
    return sources->traces != NULL;
}

void trace_sources_close(struct trace_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++)
        trace_stream_close(sources->sources[i].self);
    for (size_t i = 0; i < sources->trace_count; i++)
        trace_close(sources->traces[i]);
    free(sources->sources);
    free(sources->traces);
}

uint64_t trace_sources_accesses(char **paths, size_t count)
{
    struct trace_sources sources;
    struct trace_event event;
    uint64_t accesses = 0;
    char problem[512];
    bool whole = trace_sources_open(&sources, paths, count, problem, sizeof problem);

    for (uint32_t i = 0; whole && i < sources.count; i++) {
        enum trace_status status;

        while ((status = trace_next(sources.sources[i].self, &event)) == TRACE_EVENT)
            accesses += event.kind <= TRACE_NT_STORE;
        whole = status == TRACE_END;
    }
    trace_sources_close(&sources);
    return whole ? accesses : 0;
}
