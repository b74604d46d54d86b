/*
 * SPDX-License-Identifier: MIT
 *
 * What is written to a trace is what is read from it.
 */
#include "trace_fixture.h"

#include "run_suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct trace *open_trace(void)
{
    char problem[256];
    struct trace *trace = trace_open(fixture_path(), problem, sizeof problem);

    ck_assert_msg(trace != NULL, "%s", problem);
    return trace;
}

static void free_written(struct written written[FIXTURE_THREADS])
{
    for (unsigned i = 0; i < FIXTURE_THREADS; i++) {
        free(written[i].events);
        free(written[i].bytes);
    }
}

static void round_trip(size_t events, bool with_values)
{
    struct written written[FIXTURE_THREADS] = {{0}};
    struct trace_writer *writer = fixture_writer(with_values);
    struct trace *trace;
    size_t count;

    fixture_write(writer, written, events, with_values);
    ck_assert(trace_writer_close(writer, true));
    trace = open_trace();
    ck_assert(trace_is_complete(trace));
    ck_assert_str_eq(trace_damage(trace), "");
    ck_assert_uint_eq(trace_has_values(trace), with_values);
    ck_assert_uint_eq(trace_threads(trace), events > 0 ? FIXTURE_THREADS : 0);
    for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++) {
        ck_assert_int_eq(fixture_compare(trace, thread, &written[thread], with_values, &count),
                         TRACE_END);
        ck_assert_uint_eq(count, events);
    }
    trace_close(trace);
    free_written(written);
}

START_TEST(every_event_comes_back_as_it_was_written)
{
    round_trip(20000, false);
}
END_TEST

START_TEST(what_was_stored_comes_back_in_a_trace_with_values)
{
    round_trip(20000, true);
}
END_TEST

START_TEST(a_trace_without_events_is_complete)
{
    round_trip(0, false);
}
END_TEST

/* More than a block holds, by the number of events, and with values by their bytes. */
START_TEST(events_of_many_blocks_come_back)
{
    round_trip(530000, false);
    round_trip(100000, true);
}
END_TEST

/* Of random places and addresses; some are told alone, between those told together. */
START_TEST(accesses_that_are_told_together_come_back)
{
    enum { PLACES = 50, ACCESSES = 700000 };
    struct trace_writer *writer = fixture_writer(false);
    struct trace_event *events = calloc(ACCESSES, sizeof *events);
    struct trace_access accesses[200];
    uint32_t operations[PLACES];
    struct trace_stream *stream;
    struct trace_event read;
    struct trace *trace;

    ck_assert(events != NULL);
    for (size_t i = 0, together; i < ACCESSES; i += together) {
        together = fixture_random(200);
        if (together > ACCESSES - i)
            together = ACCESSES - i;
        for (size_t j = 0; j < together; j++) {
            uint32_t place = fixture_random(PLACES);
            struct trace_event *event = &events[i + j];
            event->size = (uint16_t)(1 + place);
            event->instructions = fixture_random(3);
            event->address = 0x7ffff7000000 + 8 * (uint64_t)fixture_random(1000);
            if (!trace_writer_operation(writer, event, &operations[place]))
                ck_abort_msg("operation %u was not taken", place);
            accesses[j] = (struct trace_access){
                .address = event->address,
                .operation = operations[place],
                .instructions = event->instructions,
            };
        }
        if (together == 1 ? !trace_writer_event(writer, 0, &events[i])
                          : !trace_writer_accesses_of(writer, 0, accesses, together))
            ck_abort_msg("access %zu was not taken", i);
    }
    ck_assert_uint_eq(trace_writer_accesses(writer), ACCESSES);
    ck_assert(trace_writer_close(writer, true));
    trace = open_trace();
    ck_assert(trace_is_complete(trace));
    stream = trace_stream_open(trace, 0);
    ck_assert(stream != NULL);
    for (size_t i = 0; i < ACCESSES; i++) {
        if (trace_next(stream, &read) != TRACE_EVENT || read.address != events[i].address ||
            read.size != events[i].size || read.instructions != events[i].instructions)
            ck_abort_msg("access %zu differs", i);
    }
    ck_assert_int_eq(trace_next(stream, &read), TRACE_END);
    trace_stream_close(stream);
    trace_close(trace);
    free(events);
}
END_TEST

/* As fast as they come: many more than the writer keeps waiting. */
static void write_small_blocks(struct trace_writer *writer, uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++) {
        struct trace_event event = {.kind = TRACE_LOAD, .size = 1, .address = i};
        if (!trace_writer_event(writer, 0, &event) || !trace_writer_thread_ends(writer, 0))
            break;
    }
}

START_TEST(blocks_come_back_in_their_order)
{
    enum { BLOCKS = 5000 };
    struct trace_writer *writer = fixture_writer(false);
    struct trace_stream *stream;
    struct trace_event event;
    struct trace *trace;

    write_small_blocks(writer, BLOCKS);
    ck_assert(trace_writer_close(writer, true));
    trace = open_trace();
    stream = trace_stream_open(trace, 0);
    ck_assert(stream != NULL);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (trace_next(stream, &event) != TRACE_EVENT || event.address != i)
            ck_abort_msg("event %u differs", i);
    }
    ck_assert_int_eq(trace_next(stream, &event), TRACE_END);
    trace_stream_close(stream);
    trace_close(trace);
}
END_TEST

START_TEST(the_command_sites_and_stacks_come_back)
{
    const uint32_t *sites;
    struct trace *trace;

    ck_assert(trace_writer_close(fixture_writer(false), true));
    trace = open_trace();
    ck_assert_str_eq(trace_command(trace), "program argument");
    ck_assert_str_eq(trace_site(trace, 7), "function (file.c:7)");
    ck_assert_str_eq(trace_site(trace, 0), "?");
    ck_assert_str_eq(trace_site(trace, FIXTURE_SITES + 1), "?");
    ck_assert_uint_eq(trace_stack(trace, 3, &sites), 3);
    ck_assert_uint_eq(sites[0], 3);
    ck_assert_uint_eq(sites[2], 5);
    ck_assert_uint_eq(trace_stack(trace, 0, &sites), 0);
    trace_close(trace);
}
END_TEST

START_TEST(a_thread_that_ended_may_go_on)
{
    struct written written[FIXTURE_THREADS] = {{0}};
    struct trace_writer *writer = fixture_writer(false);
    struct trace *trace;
    size_t count;

    for (unsigned i = 0; i < 10; i++) {
        fixture_write(writer, written, 10, false);
        ck_assert(trace_writer_thread_ends(writer, i % FIXTURE_THREADS));
    }
    ck_assert(trace_writer_close(writer, true));
    trace = open_trace();
    for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++)
        ck_assert_int_eq(fixture_compare(trace, thread, &written[thread], false, &count),
                         TRACE_END);
    trace_close(trace);
    free_written(written);
}
END_TEST

START_TEST(the_limit_of_the_capture_is_told)
{
    struct trace_writer *writer = fixture_writer(false);
    struct trace *trace;

    trace_writer_cut(writer, 12345);
    ck_assert(trace_writer_close(writer, true));
    trace = open_trace();
    ck_assert_uint_eq(trace_cut_at(trace), 12345);
    trace_close(trace);
}
END_TEST

/* As when the traced program was killed. */
START_TEST(a_trace_that_was_not_ended_can_be_read_and_is_not_complete)
{
    struct written written[FIXTURE_THREADS] = {{0}};
    struct trace_writer *writer = fixture_writer(false);
    struct trace *trace;
    size_t count;

    fixture_write(writer, written, 1000, false);
    ck_assert(trace_writer_close(writer, false));
    trace = open_trace();
    ck_assert(!trace_is_complete(trace));
    for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++) {
        ck_assert_int_eq(fixture_compare(trace, thread, &written[thread], false, &count),
                         TRACE_DAMAGED);
        ck_assert_uint_eq(count, 1000);
    }
    trace_close(trace);
    free_written(written);
}
END_TEST

static void expect_refusal(const struct trace_event *event)
{
    struct trace_writer *writer = fixture_writer(false);

    errno = 0;
    ck_assert(!trace_writer_event(writer, 0, event));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(!trace_writer_close(writer, true));
}

START_TEST(what_no_trace_can_have_is_refused)
{
    struct trace_writer *writer = fixture_writer(false);

    ck_assert(!trace_writer_site(writer, FIXTURE_SITES + 2, "a gap"));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(!trace_writer_close(writer, true));
    expect_refusal(&(struct trace_event){.kind = TRACE_KINDS});
    expect_refusal(&(struct trace_event){.kind = TRACE_LOAD, .site = FIXTURE_SITES + 1});
    expect_refusal(&(struct trace_event){.kind = TRACE_FREE, .stack = FIXTURE_STACKS + 1});
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_told)
{
    char problem[256] = "";

    ck_assert(trace_writer_open("/nowhere/x", "", false, problem, sizeof problem) == NULL);
    ck_assert_str_eq(problem, "/nowhere/x cannot be written: No such file or directory");
    ck_assert(trace_open("/nowhere/x", problem, sizeof problem) == NULL);
    ck_assert_str_eq(problem, "/nowhere/x cannot be read: No such file or directory");
    ck_assert(trace_open("/dev/null", problem, sizeof problem) == NULL);
    ck_assert_str_eq(problem, "/dev/null is no trace of mplace");
}
END_TEST

START_TEST(a_full_disk_is_told)
{
    char problem[256];
    struct trace_writer *writer =
        trace_writer_open("/dev/full", "", false, problem, sizeof problem);

    ck_assert(writer != NULL);
    ck_assert(!trace_writer_close(writer, true));
    ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

START_TEST(a_disk_that_becomes_full_is_told)
{
    char problem[256];
    struct trace_writer *writer =
        trace_writer_open("/dev/full", "", false, problem, sizeof problem);

    ck_assert(writer != NULL);
    write_small_blocks(writer, 5000);
    ck_assert(!trace_writer_event(writer, 0, &(struct trace_event){.kind = TRACE_FENCE}));
    ck_assert_int_eq(errno, ENOSPC);
    ck_assert(!trace_writer_close(writer, true));
    ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

/* What a program does most: the same few places, addresses that go on or come again. */
START_TEST(an_access_of_a_loop_takes_less_than_a_tenth_of_a_byte)
{
    struct trace_writer *writer = fixture_writer(false);
    struct stat status;

    for (uint64_t i = 0; i < 400000; i++) {
        struct trace_event event = {
            .kind = TRACE_LOAD,
            .size = 8,
            .instructions = 2,
            .site = 1 + (uint32_t)(i % 4),
            .address = 0x7f0000000000 + i / 4 * 8 + i % 4 * 4096,
        };
        if (!trace_writer_event(writer, 0, &event))
            ck_abort_msg("event %llu was not taken", (unsigned long long)i);
    }
    ck_assert_uint_eq(trace_writer_accesses(writer), 400000);
    ck_assert(trace_writer_close(writer, true));
    ck_assert_int_eq(stat(fixture_path(), &status), 0);
    ck_assert_int_lt(status.st_size, 40000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *files = tcase_create("files");

    tcase_add_checked_fixture(files, NULL, fixture_remove);
    tcase_set_timeout(files, 60);
    tcase_add_test(files, every_event_comes_back_as_it_was_written);
    tcase_add_test(files, what_was_stored_comes_back_in_a_trace_with_values);
    tcase_add_test(files, a_trace_without_events_is_complete);
    tcase_add_test(files, events_of_many_blocks_come_back);
    tcase_add_test(files, accesses_that_are_told_together_come_back);
    tcase_add_test(files, blocks_come_back_in_their_order);
    tcase_add_test(files, the_command_sites_and_stacks_come_back);
    tcase_add_test(files, a_thread_that_ended_may_go_on);
    tcase_add_test(files, the_limit_of_the_capture_is_told);
    tcase_add_test(files, a_trace_that_was_not_ended_can_be_read_and_is_not_complete);
    tcase_add_test(files, what_no_trace_can_have_is_refused);
    tcase_add_test(files, a_file_that_cannot_be_written_is_told);
    tcase_add_test(files, a_full_disk_is_told);
    tcase_add_test(files, a_disk_that_becomes_full_is_told);
    tcase_add_test(files, an_access_of_a_loop_takes_less_than_a_tenth_of_a_byte);
    suite_add_tcase(suite, files);
    return run_suite(suite);
}
