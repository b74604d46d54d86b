/*
 * SPDX-License-Identifier: MIT
 *
 * What "--counters paper" promises on the processors that have had RTM, by libpfm4's own tables of
 * them: which events the kernel is asked for, and under which names their counts come back. The
 * kernel's answer is made up: perf_event_open gives a file with a reading in it.
 */
#include "harness/counter_roles.h"
#include "harness/counters.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct counters counters;
static uint64_t asked[COUNTERS_MOST];
static size_t asked_count;
static uint64_t refused; /* the kernel does not have this event */

long __wrap_syscall(long number, ...);
int __wrap_ioctl(int file, unsigned long request, ...);

/* The linker gives us the calls of counters.c. Each event counts to 1000 in half of the time. */
long __wrap_syscall(long number, ...)
{
    static const uint64_t reading[3] = {1000, 200, 100};
    va_list arguments;

    va_start(arguments, number);
    const struct perf_event_attr *attributes = va_arg(arguments, const struct perf_event_attr *);
    va_end(arguments);
    ck_assert_int_eq(number, SYS_perf_event_open);
    ck_assert_uint_eq(attributes->exclude_kernel, 1);
    if (attributes->config == refused) {
        errno = EINVAL;
        return -1;
    }
    asked[asked_count++] = attributes->config;
    int file = memfd_create("reading", MFD_CLOEXEC);
    ck_assert_int_eq(pwrite(file, reading, sizeof reading, 0), sizeof reading);
    return file;
}

int __wrap_ioctl(int file, unsigned long request, ...)
{
    (void)file;
    (void)request;
    return 0;
}

/* Opens on a processor of libpfm4's; what it said on standard error is in said. */
static char said[1024];
static bool open_on(const char *processor, const char *events, char *complaint, size_t size)
{
    FILE *stream = tmpfile();
    int error = dup(STDERR_FILENO);

    setenv("LIBPFM_FORCE_PMU", processor, 1);
    asked_count = 0;
    dup2(fileno(stream), STDERR_FILENO);
    bool good = counters_choose(&counters, events, complaint, size);
    counters_open(&counters);
    dup2(error, STDERR_FILENO);
    close(error);
    rewind(stream);
    said[fread(said, 1, sizeof said - 1, stream)] = '\0';
    fclose(stream);
    return good;
}

/* The config of what is counted for a role; 0 when nothing is. */
static uint64_t config_of(const char *role)
{
    for (size_t i = 0; i < counters.count; i++)
        if (strncmp(counters.event[i].name, role, strlen(role)) == 0 &&
            counters.event[i].name[strlen(role)] == '@')
            return asked[i];
    return 0;
}

/* Umask and event, as Intel's event tables have them; 0 where that generation has no such event. */
static const struct processor {
    const char *name;
    uint64_t stlb_hit, walk, uncommon, capacity_read;
} processors[] = {
    {"hsw", 0x6008, 0x0e08, 0x10c9, 0},    {"hsw_ep", 0x6008, 0x0e08, 0x10c9, 0},
    {"bdw_ep", 0x6008, 0x0e08, 0x10c9, 0}, {"skx", 0x2008, 0x0e08, 0x10c9, 0},
    {"clx", 0x2008, 0x0e08, 0x10c9, 0},    {"icx", 0x2008, 0x0e08, 0, 0x8054},
    {"spr", 0x2012, 0x0e12, 0, 0x8054},
};

START_TEST(all_roles_are_the_events_of_each_processor_with_transactions)
{
    const struct processor *processor = &processors[_i];
    char complaint[256] = "";

    ck_assert_msg(open_on(processor->name, "paper", complaint, sizeof complaint), "%s", complaint);
    ck_assert_uint_eq(config_of("l1d-misses"), 0x08d1);
    ck_assert_uint_eq(config_of("dtlb-l2-hits"), processor->stlb_hit);
    ck_assert_uint_eq(config_of("dtlb-walks"), processor->walk);
    ck_assert_uint_eq(config_of("rtm-started"), 0x01c9);
    ck_assert_uint_eq(config_of("rtm-committed"), 0x02c9);
    ck_assert_uint_eq(config_of("rtm-aborted"), 0x04c9);
    ck_assert_uint_eq(config_of("rtm-aborted-memory"), 0x08c9);
    ck_assert_uint_eq(config_of("rtm-aborted-uncommon"), processor->uncommon);
    ck_assert_uint_eq(config_of("rtm-aborted-unfriendly"), 0x20c9);
    ck_assert_uint_eq(config_of("rtm-aborted-memtype"), 0x40c9);
    ck_assert_uint_eq(config_of("rtm-aborted-events"), 0x80c9);
    ck_assert_uint_eq(config_of("tx-conflict"), 0x0154);
    ck_assert_uint_eq(config_of("tx-capacity-write"), 0x0254);
    ck_assert_uint_eq(config_of("tx-capacity-read"), processor->capacity_read);
    counters_close(&counters);
}
END_TEST

START_TEST(what_a_processor_has_no_event_for_is_one_line_and_no_count)
{
    char complaint[256] = "";

    ck_assert(open_on("spr", "paper", complaint, sizeof complaint));
    ck_assert_str_eq(said, "mplace: not counted, for libpfm4 knows no such event here: "
                           "rtm-aborted-uncommon\n");
    counters_close(&counters);
    ck_assert(open_on("spr", "rtm-aborted-uncommon,rtm-aborted", complaint, sizeof complaint));
    ck_assert_uint_eq(counters.count, 1);
    ck_assert_ptr_nonnull(strstr(said, "rtm-aborted-uncommon\n"));
    counters_close(&counters);
}
END_TEST

/* What a run would write into its row, and the end of it. */
static const char *counts(void)
{
    static char text[2048];

    counters_read(&counters, text, sizeof text);
    counters_close(&counters);
    return text;
}

START_TEST(what_the_kernel_refuses_is_one_line_and_the_others_are_counted)
{
    char complaint[256] = "";

    refused = 0x04c9;
    ck_assert(open_on("icx", "rtm-aborted,rtm-started", complaint, sizeof complaint));
    ck_assert_str_eq(said, "mplace: counter rtm-aborted@RTM_RETIRED:ABORTED is not counted: "
                           "Invalid argument\n");
    ck_assert_str_eq(counts(), "rtm-started@RTM_RETIRED:START=2000");
}
END_TEST

START_TEST(counts_come_back_with_role_and_event_scaled_to_all_of_the_time)
{
    char complaint[256] = "";

    ck_assert(open_on("skx", "l1d-misses,RTM_RETIRED:START", complaint, sizeof complaint));
    ck_assert_str_eq(counts(), "l1d-misses@MEM_LOAD_RETIRED:L1_MISS=2000;RTM_RETIRED:START=2000");
}
END_TEST

START_TEST(all_roles_fit_into_the_counters_and_their_text_into_a_row)
{
    char complaint[256] = "";
    size_t pairs = 1, opened;

    ck_assert(open_on("skx", "paper", complaint, sizeof complaint));
    opened = counters.count;
    for (const char *at = counts(); (at = strchr(at, ';')) != NULL; at++)
        pairs++;
    ck_assert_uint_eq(pairs, opened);
}
END_TEST

START_TEST(a_name_that_nobody_knows_and_too_many_are_refused)
{
    char complaint[256] = "";

    ck_assert(!open_on("skx", "l1d-misses,l1d-mises", complaint, sizeof complaint));
    ck_assert_ptr_nonnull(strstr(complaint, "--counters l1d-mises: "));
    ck_assert_uint_eq(counters.count, 0);
    ck_assert(!open_on("skx", "paper,paper", complaint, sizeof complaint));
    ck_assert_str_eq(complaint, "--counters: more than 20 events");
    ck_assert_uint_eq(counters.count, 0);
    ck_assert(!open_on("skx", "l1d-misses,,l1d-misses", complaint, sizeof complaint));
    ck_assert_ptr_nonnull(strstr(complaint, "event names of 1 to 159 characters"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench_counters");
    TCase *tests = tcase_create("counters");

    tcase_add_loop_test(tests, all_roles_are_the_events_of_each_processor_with_transactions, 0,
                        sizeof processors / sizeof *processors);
    tcase_add_test(tests, what_a_processor_has_no_event_for_is_one_line_and_no_count);
    tcase_add_test(tests, what_the_kernel_refuses_is_one_line_and_the_others_are_counted);
    tcase_add_test(tests, counts_come_back_with_role_and_event_scaled_to_all_of_the_time);
    tcase_add_test(tests, all_roles_fit_into_the_counters_and_their_text_into_a_row);
    tcase_add_test(tests, a_name_that_nobody_knows_and_too_many_are_refused);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
