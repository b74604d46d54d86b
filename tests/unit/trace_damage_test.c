/*
 * SPDX-License-Identifier: MIT
 *
 * A trace that is cut or damaged anywhere: it is noticed, and what is read before that is right.
 */
#include "chip/trace_source.h"

#include "trace_fixture.h"

#include "run_suite.h"

#include "trace/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

static struct written written[FIXTURE_THREADS];
static uint8_t *file;
static size_t length;

/* A small trace of several blocks a thread, in memory. */
static void write_trace(void)
{
    struct trace_writer *writer = fixture_writer(true);
    FILE *stream;

    for (unsigned i = 0; i < 3; i++) {
        fixture_write(writer, written, 8, true);
        for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++)
            ck_assert(trace_writer_thread_ends(writer, thread));
    }
    ck_assert(trace_writer_close(writer, true));
    stream = fopen(fixture_path(), "rb");
    ck_assert(stream != NULL);
    file = malloc(1 << 20);
    length = fread(file, 1, 1 << 20, stream);
    fclose(stream);
    ck_assert_uint_gt(length, 1000);
}

static void forget_trace(void)
{
    fixture_remove();
    free(file);
    for (uint32_t thread = 0; thread < FIXTURE_THREADS; thread++) {
        free(written[thread].events);
        free(written[thread].bytes);
    }
}

static void put_file(const uint8_t *bytes, size_t count)
{
    FILE *stream = fopen(fixture_path(), "wb");

    ck_assert(stream != NULL);
    ck_assert_uint_eq(fwrite(bytes, 1, count, stream), count);
    ck_assert_int_eq(fclose(stream), 0);
}

/* Reads what is there. True: something is wrong with it. The events must be right in any case. */
static bool is_noticed(size_t *events)
{
    char problem[256] = "";
    struct trace *trace = trace_open(fixture_path(), problem, sizeof problem);
    bool noticed;

    *events = 0;
    if (trace == NULL) {
        ck_assert_str_ne(problem, "");
        return true;
    }
    noticed = !trace_is_complete(trace);
    ck_assert(noticed == (trace_damage(trace)[0] != '\0'));
    for (uint32_t thread = 0; thread < trace_threads(trace); thread++) {
        size_t count;
        ck_assert_uint_lt(thread, FIXTURE_THREADS);
        noticed |= fixture_compare(trace, thread, &written[thread], true, &count) == TRACE_DAMAGED;
        *events += count;
    }
    trace_close(trace);
    return noticed;
}

START_TEST(a_cut_at_any_length_is_noticed_and_what_is_before_it_is_right)
{
    size_t before = 0, events;

    for (size_t cut = 0; cut < length; cut++) {
        put_file(file, cut);
        if (!is_noticed(&events) || events < before)
            ck_abort_msg("cut at %zu", cut);
        before = events;
    }
    ck_assert_uint_eq(before, 3 * 8 * FIXTURE_THREADS);
}
END_TEST

START_TEST(a_flipped_bit_anywhere_is_noticed_and_what_is_before_it_is_right)
{
    size_t events;

    for (size_t bit = 0; bit < 8 * length; bit += 5) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        put_file(file, length);
        if (!is_noticed(&events))
            ck_abort_msg("bit %zu", bit);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

START_TEST(bytes_behind_the_end_are_noticed)
{
    size_t events;

    file[length] = 0;
    put_file(file, length + 1);
    ck_assert(is_noticed(&events));
    ck_assert_uint_eq(events, 3 * 8 * FIXTURE_THREADS);
}
END_TEST

/* Offsets of the headers of all blocks. */
static size_t find_blocks(size_t *offsets, size_t most)
{
    size_t at = TRACE_HEADER_BYTES + trace_get32(file + 16), count = 0;

    for (; at < length; at += TRACE_BLOCK_HEADER_BYTES + trace_get32(file + at + 20)) {
        ck_assert_uint_lt(count, most);
        offsets[count++] = at;
    }
    ck_assert_uint_eq(at, length);
    return count;
}

START_TEST(a_block_that_is_missing_or_comes_twice_is_noticed)
{
    size_t offsets[64], count = find_blocks(offsets, 64), events;
    uint8_t *other = malloc(2 * length);

    for (size_t i = 0; i + 1 < count; i++) {
        size_t block = offsets[i + 1] - offsets[i];
        memcpy(other, file, offsets[i]);
        memcpy(other + offsets[i], file + offsets[i + 1], length - offsets[i + 1]);
        put_file(other, length - block);
        ck_assert(is_noticed(&events));
        memcpy(other, file, offsets[i + 1]);
        memcpy(other + offsets[i + 1], file + offsets[i], length - offsets[i]);
        put_file(other, length + block);
        ck_assert(is_noticed(&events));
    }
    free(other);
}
END_TEST

/* Reads everything, whatever it is. */
static void read_through(void)
{
    char problem[256];
    struct trace *trace = trace_open(fixture_path(), problem, sizeof problem);
    struct trace_event event;

    if (trace == NULL)
        return;
    for (uint32_t thread = 0; thread < trace_threads(trace) && thread < 100; thread++) {
        struct trace_stream *stream = trace_stream_open(trace, thread);
        unsigned sum = 0;
        while (trace_next(stream, &event) == TRACE_EVENT) {
            for (unsigned i = 0; event.bytes != NULL && i < event.size; i++)
                sum += event.bytes[i];
            if (event.kind >= TRACE_KINDS || trace_site(trace, event.site) == NULL)
                ck_abort_msg("an event that no trace can have");
        }
        ck_assert_uint_lt(sum, UINT32_MAX);
        trace_stream_close(stream);
    }
    trace_close(trace);
}

/* The block's content is changed and all checksums are right: only what the content says is wrong,
 * as somebody could make it who wants a reader to go astray. */
static void change_content(size_t offset)
{
    uint32_t raw_length = trace_get32(file + offset + 16), packed = trace_get32(file + offset + 20);
    uint8_t *raw = malloc(raw_length), *changed = malloc(length + raw_length + 1024);
    size_t room = length + raw_length + 1024 - offset - TRACE_BLOCK_HEADER_BYTES, got;
    uint8_t *header = changed + offset, *content = header + TRACE_BLOCK_HEADER_BYTES;
    size_t behind = offset + TRACE_BLOCK_HEADER_BYTES + packed;

    got = ZSTD_decompress(raw, raw_length, file + offset + TRACE_BLOCK_HEADER_BYTES, packed);
    ck_assert_uint_eq(got, raw_length);
    for (unsigned i = 0; i < 1 + fixture_random(3); i++)
        raw[fixture_random(raw_length)] = (uint8_t)fixture_random(256);
    memcpy(changed, file, offset + TRACE_BLOCK_HEADER_BYTES);
    got = ZSTD_compress(content, room, raw, raw_length, 1);
    ck_assert(!ZSTD_isError(got));
    if (fixture_random(4) == 0) /* and another number of events */
        trace_put32(header + 12, fixture_random(100));
    trace_put32(header + 20, (uint32_t)got);
    trace_put32(header + 24, trace_checksum(0, content, got));
    trace_put32(header + 28, trace_checksum(0, header, 28));
    memcpy(content + got, file + behind, length - behind);
    put_file(changed, offset + TRACE_BLOCK_HEADER_BYTES + got + length - behind);
    free(raw);
    free(changed);
}

START_TEST(a_content_that_makes_no_sense_leads_no_reader_astray)
{
    size_t offsets[64], count = find_blocks(offsets, 64);

    for (unsigned i = 0; i < 1000; i++) {
        change_content(offsets[fixture_random((uint32_t)count)]);
        read_through();
    }
}
END_TEST

/* What a source makes of a trace whose only event this is. */
static enum trace_status status_of(const struct trace_event *event)
{
    struct trace_writer *writer = fixture_writer(false);
    struct trace_sources sources;
    struct trace_event read;
    char problem[256], path[64];
    char *paths[] = {path};

    snprintf(path, sizeof path, "%s", fixture_path());
    ck_assert(trace_writer_event(writer, 0, event));
    ck_assert(trace_writer_close(writer, true));
    ck_assert_msg(trace_sources_open(&sources, paths, 1, problem, sizeof problem), "%s", problem);
    const struct source *source = &sources.sources[0];
    enum trace_status status = source->next(source->self, &read);
    if (status == TRACE_DAMAGED)
        ck_assert_str_ne(source->problem(source->self), "");
    trace_sources_close(&sources);
    return status;
}

START_TEST(a_simulation_is_given_no_address_that_no_program_has)
{
    const uint64_t end = (uint64_t)1 << 47;
    const struct {
        struct trace_event event;
        enum trace_status status;
    } cases[] = {
        {{.kind = TRACE_LOAD, .size = 8, .address = end - 8}, TRACE_EVENT},
        {{.kind = TRACE_LOAD, .size = 8, .address = end - 7}, TRACE_DAMAGED},
        {{.kind = TRACE_STORE, .size = 1, .address = UINT64_MAX}, TRACE_DAMAGED},
        {{.kind = TRACE_ACQUIRE, .address = UINT64_MAX}, TRACE_DAMAGED},
        {{.kind = TRACE_RELEASE, .address = end}, TRACE_DAMAGED},
        {{.kind = TRACE_ALLOC, .address = 4096, .value = end - 4096}, TRACE_EVENT},
        {{.kind = TRACE_ALLOC, .address = 4096, .value = UINT64_MAX - 4095}, TRACE_DAMAGED},
        {{.kind = TRACE_FLUSH, .what = TRACE_MSYNC, .address = 64, .value = end}, TRACE_DAMAGED},
        {{.kind = TRACE_MARK, .what = TRACE_PERSISTENT, .address = end, .value = 0}, TRACE_DAMAGED},
        {{.kind = TRACE_MARK, .what = TRACE_FRAME, .address = 4096, .value = UINT64_MAX},
         TRACE_EVENT},
        {{.kind = TRACE_MARK, .what = TRACE_TX_BEGIN, .address = UINT64_MAX}, TRACE_EVENT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(status_of(&cases[i].event) == cases[i].status, "case %zu", i);
}
END_TEST

START_TEST(another_version_is_told)
{
    char problem[256];

    trace_put32(file + 8, TRACE_VERSION + 1);
    put_file(file, length);
    ck_assert(trace_open(fixture_path(), problem, sizeof problem) == NULL);
    ck_assert(strstr(problem, "is a trace of version 2; this program reads version 1") != NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace damage");
    TCase *damage = tcase_create("damage");

    tcase_add_checked_fixture(damage, write_trace, forget_trace);
    tcase_set_timeout(damage, 60);
    tcase_add_test(damage, a_cut_at_any_length_is_noticed_and_what_is_before_it_is_right);
    tcase_add_test(damage, a_flipped_bit_anywhere_is_noticed_and_what_is_before_it_is_right);
    tcase_add_test(damage, bytes_behind_the_end_are_noticed);
    tcase_add_test(damage, a_block_that_is_missing_or_comes_twice_is_noticed);
    tcase_add_test(damage, a_content_that_makes_no_sense_leads_no_reader_astray);
    tcase_add_test(damage, a_simulation_is_given_no_address_that_no_program_has);
    tcase_add_test(damage, another_version_is_told);
    suite_add_tcase(suite, damage);
    return run_suite(suite);
}
