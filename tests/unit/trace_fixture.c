/*
 * SPDX-License-Identifier: MIT
 *
 * See trace_fixture.h.
 */
#include "trace_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 1;

uint32_t fixture_random(uint32_t below)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((state >> 32) % below);
}

const char *fixture_path(void)
{
    static char path[] = "/tmp/mplace-trace.XXXXXX";
    static bool is_named;

    if (!is_named) {
        int file = mkstemp(path);

        ck_assert_int_ge(file, 0);
        close(file);
        is_named = true;
    }
    return path;
}

void fixture_remove(void)
{
    unlink(fixture_path());
}

struct trace_writer *fixture_writer(bool with_values)
{
    char problem[256], name[32];
    struct trace_writer *writer =
        trace_writer_open(fixture_path(), "program argument", with_values, problem, sizeof problem);

    ck_assert_msg(writer != NULL, "%s", problem);
    for (uint32_t i = 1; i <= FIXTURE_SITES; i++) {
        snprintf(name, sizeof name, "function (file.c:%u)", i);
        ck_assert(trace_writer_site(writer, i, name));
    }
    for (uint32_t i = 1; i <= FIXTURE_STACKS; i++) {
        uint32_t sites[FIXTURE_STACKS];
        for (uint32_t j = 0; j < i; j++)
            sites[j] = i + j;
        ck_assert(trace_writer_stack(writer, i, sites, i));
    }
    return writer;
}

static uint64_t random_address(void)
{
    switch (fixture_random(6)) {
    case 0:
        return (uint64_t)fixture_random(UINT32_MAX) << 32 | fixture_random(UINT32_MAX);
    case 1:
        return fixture_random(3);
    default: /* a few lines that come again */
        return 0x7ffff7000000 + 8 * fixture_random(500);
    }
}

static bool is_access(unsigned kind)
{
    return kind <= TRACE_NT_STORE;
}

/* An event with all fields that its kind has. */
static struct trace_event random_event(void)
{
    struct trace_event event = {
        .kind = (uint8_t)fixture_random(TRACE_KINDS),
        .instructions = fixture_random(20) == 0 ? fixture_random(UINT32_MAX) : fixture_random(4),
        .site = fixture_random(FIXTURE_SITES + 1),
        .address = random_address(),
    };

    if (is_access(event.kind))
        event.size = (uint16_t)(1 + fixture_random(64));
    if (event.kind == TRACE_LOAD)
        event.dependent = fixture_random(2);
    if (event.kind == TRACE_ACQUIRE || event.kind == TRACE_RELEASE)
        event.shared = fixture_random(2);
    if (event.kind == TRACE_FLUSH)
        event.what = (uint8_t)fixture_random(TRACE_MSYNC + 1);
    if (event.kind == TRACE_ALLOC || event.kind == TRACE_WAIT || event.kind == TRACE_MARK ||
        (event.kind == TRACE_FLUSH && event.what == TRACE_MSYNC))
        event.value = random_address();
    if (event.kind == TRACE_ALLOC || event.kind == TRACE_FREE)
        event.stack = fixture_random(FIXTURE_STACKS + 1);
    if (event.kind == TRACE_WAIT)
        event.thread = fixture_random(UINT32_MAX);
    return event;
}

static void append(struct written *written, struct trace_event *event)
{
    if ((written->count & (written->count - 1)) == 0) {
        size_t room = written->count == 0 ? 1 : 2 * written->count;
        written->events = realloc(written->events, room * sizeof *written->events);
        written->bytes = realloc(written->bytes, room * sizeof *written->bytes);
        if (written->events == NULL || written->bytes == NULL)
            ck_abort_msg("out of memory");
    }
    for (unsigned i = 0; i < sizeof *written->bytes; i++)
        written->bytes[written->count][i] = (uint8_t)fixture_random(256);
    written->events[written->count++] = *event;
}

void fixture_write(struct trace_writer *writer, struct written written[FIXTURE_THREADS],
                   size_t events, bool with_values)
{
    for (size_t i = 0; i < events; i++) {
        for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++) {
            struct trace_event event = random_event();
            append(&written[thread], &event);
            if (with_values)
                event.bytes = written[thread].bytes[written[thread].count - 1];
            if (!trace_writer_event(writer, thread, &event))
                ck_abort_msg("event %zu was not taken", i);
        }
    }
}

/* Check notes each assertion in a file: of many events only those that differ are asserted. */
static bool is_same(const struct trace_event *read, const struct trace_event *event,
                    const uint8_t *bytes)
{
    bool stores = is_access(event->kind) && event->kind != TRACE_LOAD;

    return read->kind == event->kind && read->what == event->what &&
           read->dependent == event->dependent && read->shared == event->shared &&
           read->size == event->size && read->instructions == event->instructions &&
           read->site == event->site && read->stack == event->stack &&
           read->thread == event->thread && read->address == event->address &&
           read->value == event->value &&
           (stores && bytes != NULL ? memcmp(read->bytes, bytes, event->size) == 0
                                    : read->bytes == NULL);
}

enum trace_status fixture_compare(struct trace *trace, uint32_t thread,
                                  const struct written *written, bool with_values, size_t *count)
{
    struct trace_stream *stream = trace_stream_open(trace, thread);
    enum trace_status status;
    struct trace_event event;

    ck_assert(stream != NULL);
    for (*count = 0; (status = trace_next(stream, &event)) == TRACE_EVENT; ++*count) {
        if (*count >= written->count ||
            !is_same(&event, &written->events[*count], with_values ? written->bytes[*count] : NULL))
            ck_abort_msg("event %zu of thread %u differs", *count, thread);
    }
    ck_assert(status == TRACE_DAMAGED ? trace_problem(stream)[0] != '\0'
                                      : trace_problem(stream)[0] == '\0');
    ck_assert_int_eq(trace_next(stream, &event), status);
    trace_stream_close(stream);
    return status;
}
