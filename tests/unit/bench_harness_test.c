/*
 * SPDX-License-Identifier: MIT
 *
 * What the benchmark harness promises: the set histogram, the CSV row, the names of allocators and
 * machines, counters that count or say in one line that they do not.
 */
#include "harness/cores.h"
#include "harness/counters.h"
#include "harness/labels.h"
#include "harness/machine.h"
#include "harness/pages.h"
#include "harness/random.h"
#include "harness/result_row.h"
#include "harness/set_histogram.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct l1d_geometry l1d = {.sets = 64, .ways = 8, .line = 64};

/* What code prints to a stream, as text. */
static char printed[1 << 16];

static FILE *print_begin(void)
{
    FILE *stream = tmpfile();
    ck_assert_ptr_nonnull(stream);
    return stream;
}

static const char *print_end(FILE *stream)
{
    rewind(stream);
    printed[fread(printed, 1, sizeof printed - 1, stream)] = '\0';
    fclose(stream);
    return printed;
}

/* What code prints to standard error. */
static int saved_stderr;

static FILE *errors_begin(void)
{
    FILE *stream = tmpfile();
    ck_assert_ptr_nonnull(stream);
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(stream), STDERR_FILENO);
    return stream;
}

static const char *errors_end(FILE *stream)
{
    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    return print_end(stream);
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

START_TEST(addresses_a_line_apart_take_the_sets_in_turn)
{
    struct set_histogram histogram;

    ck_assert(set_histogram_open(&histogram, &l1d));
    for (uintptr_t i = 0; i < 128; i++)
        set_histogram_add(&histogram, (void *)(0x10000000 + i * 64));
    ck_assert_uint_eq(histogram.sets_used, 64);
    ck_assert_uint_eq(histogram.max_per_set, 2);
    set_histogram_close(&histogram);
}
END_TEST

START_TEST(addresses_a_page_apart_share_one_set)
{
    struct set_histogram histogram;

    ck_assert(set_histogram_open(&histogram, &l1d));
    for (uintptr_t i = 0; i < 128; i++)
        set_histogram_add(&histogram, (void *)(0x10000000 + 5 * 64 + 63 + i * 4096));
    ck_assert_uint_eq(histogram.sets_used, 1);
    ck_assert_uint_eq(histogram.max_per_set, 128);
    ck_assert_uint_eq(histogram.count[5], 128);
    set_histogram_close(&histogram);
}
END_TEST

START_TEST(the_geometry_decides_what_shares_a_set)
{
    const struct l1d_geometry other = {.sets = 128, .ways = 4, .line = 32};
    struct set_histogram histogram;

    ck_assert(set_histogram_open(&histogram, &other));
    set_histogram_add(&histogram, (void *)32);
    set_histogram_add(&histogram, (void *)64);
    set_histogram_add(&histogram, (void *)(64 + 32 * 128));
    ck_assert_uint_eq(histogram.sets_used, 2);
    ck_assert_uint_eq(histogram.count[1], 1);
    ck_assert_uint_eq(histogram.count[2], 2);
    set_histogram_close(&histogram);
}
END_TEST

START_TEST(the_drawing_has_a_line_a_set_and_marks_what_does_not_fit)
{
    struct set_histogram histogram;
    FILE *stream = print_begin();

    ck_assert(set_histogram_open(&histogram, &l1d));
    for (int i = 0; i < 9; i++)
        set_histogram_add(&histogram, (void *)(uintptr_t)(3 * 64));
    for (int i = 0; i < 8; i++)
        set_histogram_add(&histogram, (void *)(uintptr_t)(4 * 64));
    set_histogram_draw(&histogram, stream);
    set_histogram_close(&histogram);
    const char *drawing = print_end(stream);
    ck_assert_uint_eq(lines(drawing), 65);
    ck_assert_int_eq(drawing[0], '#');
    ck_assert_ptr_nonnull(strstr(drawing, "\n     2      0 \n"));
    ck_assert_ptr_nonnull(strstr(drawing, "\n     3      9 ######### !\n"));
    ck_assert_ptr_nonnull(strstr(drawing, "\n     4      8 ########\n"));
}
END_TEST

START_TEST(geometry_text_is_parsed_strictly)
{
    static const char *const bad[] = {"",      "64",   "x8",      "64x",       "64x8x",
                                      "63x8",  "64x0", "64x8x63", "64x8x64x",  "64 x8",
                                      "-64x8", "0x8",  "64x8x8",  "2097152x1", "99999999x8"};
    struct l1d_geometry geometry = {1, 2, 16};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!l1d_geometry_parse(bad[i], &geometry), "%s was taken", bad[i]);
    ck_assert_uint_eq(geometry.sets, 1);
    ck_assert(l1d_geometry_parse("64x12", &geometry));
    ck_assert_uint_eq(geometry.ways, 12);
    ck_assert_uint_eq(geometry.line, 64);
    ck_assert(l1d_geometry_parse("256x16x128", &geometry));
    ck_assert_uint_eq(geometry.sets, 256);
    ck_assert_uint_eq(geometry.line, 128);
}
END_TEST

START_TEST(an_allocator_is_named_after_its_shared_object)
{
    static const char *const expected[][2] = {
        {"/lib/x86_64-linux-gnu/libc.so.6", "glibc"},
        {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "jemalloc"},
        {"libmimalloc.so.2.0", "mimalloc"},
        {"/opt/libmimalloc-secure.so.2.0", "mimalloc-secure"},
        {"/usr/lib/libtcmalloc_minimal.so.4", "tcmalloc"},
        {"/usr/lib/libtcmalloc.so.4", "tcmalloc"},
        {"/usr/lib/libtbbmalloc_proxy.so.2", "tbbmalloc"},
        {"/usr/lib/libtcmalloc_minimal_debug.so.4", "tcmalloc_minimal_debug"},
        {"program", "program"},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char name[64];

        labels_object_name(name, sizeof name, expected[i][0]);
        ck_assert_str_eq(name, expected[i][1]);
    }
}
END_TEST

START_TEST(without_a_lock_library_the_settings_of_one_are_not_shown)
{
    struct labels labels;

    setenv("TTS_WAIT", "spin", 1);
    setenv("TTSTLE_POLICY", "paper", 1);
    labels_read(&labels);
    ck_assert_str_eq(labels.lock, "pthread");
    ck_assert_str_eq(labels.htm, "none");
    ck_assert_str_eq(labels.wait, "");
    ck_assert_str_eq(labels.policy, "");
    ck_assert(!labels.time_is_meaningless);
    ck_assert_str_ne(labels.malloc, "");
}
END_TEST

START_TEST(an_emulated_run_says_that_its_time_means_nothing)
{
    struct labels labels;

    setenv("MPLACE_HTM", "emulated", 1);
    labels_read(&labels);
    ck_assert_str_eq(labels.htm, "emulated");
    ck_assert(labels.time_is_meaningless);
}
END_TEST

START_TEST(a_name_for_a_csv_field_has_no_separators)
{
    char name[32];

    machine_clean_name(name, sizeof name, "  AMD \"EPYC\",\t 'x';  9654\n ");
    ck_assert_str_eq(name, "AMD EPYC x 9654");
    machine_clean_name(name, 8, "Intel(R) Xeon(R)");
    ck_assert_str_eq(name, "Intel(R");
    machine_clean_name(name, sizeof name, "");
    ck_assert_str_eq(name, "");
}
END_TEST

static struct labels labels = {
    .malloc = "glibc", .lock = "pthread", .htm = "none", .policy = "", .wait = ""};
static struct machine machine = {.host = "h", .cpu = "c", .date = "2026-01-02T03:04:05Z"};
static struct interval interval;
static struct set_histogram histogram = {
    .geometry = {64, 8, 64}, .sets_used = 8, .max_per_set = 17};
static struct result_row row = {
    .bench = "ring",
    .labels = &labels,
    .machine = &machine,
    .interval = &interval,
    .histogram = &histogram,
    .size = 512,
    .nodes = 128,
    .threads = 1,
    .seed = 1,
    .rate = 1234567.89,
    .unit = "traversals/s",
    .counters = "",
};

static const char *row_text(void (*print)(const struct result_row *, FILE *))
{
    FILE *stream = print_begin();
    print(&row, stream);
    return print_end(stream);
}

START_TEST(the_header_has_the_columns_of_the_design_in_order)
{
    FILE *stream = print_begin();

    result_row_header(stream);
    ck_assert_str_eq(print_end(stream),
                     "bench,malloc,lock,htm,size,nodes,threads,seed,rate,unit,sets_used,"
                     "max_per_set,acquisitions,slow_path,tx_started,tx_committed,abort_conflict,"
                     "abort_capacity,abort_explicit,abort_other,host,cpu,date,policy,wait,pinned,"
                     "counters\n");
}
END_TEST

START_TEST(a_row_without_a_lock_library_leaves_its_columns_empty)
{
    ck_assert_str_eq(row_text(result_row_csv),
                     "ring,glibc,pthread,none,512,128,1,1,1234567.9,traversals/s,8,17,,,,,,,,,h,c,"
                     "2026-01-02T03:04:05Z,,,,\n");
}
END_TEST

START_TEST(a_row_has_the_lock_counts_and_its_aborts_add_up)
{
    labels = (struct labels){
        .malloc = "cia", .lock = "ttstle", .htm = "native", .policy = "paper", .wait = "spin"};
    interval.has_lock_statistics = true;
    interval.lock_statistics = (struct mplace_lock_statistics){
        .acquisitions = 100,
        .slow_path = 1,
        .tx_started = 130,
        .tx_committed = 99,
        .abort_conflict = 10,
        .abort_capacity = 11,
        .abort_explicit = 4,
        .abort_nested = 1,
        .abort_debug = 2,
        .abort_other = 3,
    };
    snprintf(machine.pinned, sizeof machine.pinned, "3");
    row.counters = "cycles=1;page-faults=2";
    ck_assert_str_eq(row_text(result_row_csv),
                     "ring,cia,ttstle,native,512,128,1,1,1234567.9,traversals/s,8,17,100,1,130,99,"
                     "10,11,4,6,h,c,2026-01-02T03:04:05Z,paper,spin,3,cycles=1;page-faults=2\n");
}
END_TEST

START_TEST(a_row_of_an_emulated_run_has_no_rate)
{
    labels.time_is_meaningless = true;
    ck_assert_ptr_nonnull(strstr(row_text(result_row_csv), ",1,1,,traversals/s,8,"));
    ck_assert_ptr_null(strstr(row_text(result_row_text), "1234567"));
}
END_TEST

START_TEST(a_field_with_a_separator_is_quoted)
{
    snprintf(machine.host, sizeof machine.host, "a,b");
    snprintf(machine.cpu, sizeof machine.cpu, "say \"x\"");
    row.counters = "line\nend";
    const char *text = row_text(result_row_csv);
    ck_assert_ptr_nonnull(strstr(text, ",\"a,b\",\"say \"\"x\"\"\",2026"));
    ck_assert_ptr_nonnull(strstr(text, ",\"line\nend\"\n"));
}
END_TEST

START_TEST(a_person_reads_the_same_figures)
{
    const char *text = row_text(result_row_text);

    ck_assert_ptr_nonnull(strstr(text, "ring: 128 nodes of 512 B, 1 thread, seed 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "1234568 traversals/s"));
    ck_assert_ptr_nonnull(strstr(text, "8 of 64 used, at most 17 nodes in one (8 ways)"));
    ck_assert_ptr_null(strstr(text, "transactions"));
}
END_TEST

/* Not instrumented: a sanitizer's shadow of each page would fault as well. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void
touch_page(volatile char *page)
{
    *page = 1;
}

START_TEST(a_software_event_counts_the_interval_alone)
{
    enum { PAGES = 37 };
    struct counters counters;
    char complaint[256] = "", text[256];
    unsigned long count = 0;

    ck_assert_msg(counters_choose(&counters, "page-faults", complaint, sizeof complaint), "%s",
                  complaint);
    counters_open(&counters);
    if (counters.count == 0)
        return; /* not permitted here, and that has been said: the next test sees to it */
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, (size_t)(3 * PAGES * page), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    madvise(pages, (size_t)(3 * PAGES * page), MADV_NOHUGEPAGE);
    for (int i = 0; i < 2 * PAGES; i++) {
        if (i == PAGES)
            counters_start(&counters);
        touch_page(pages + i * page);
    }
    counters_stop(&counters);
    for (int i = 2 * PAGES; i < 3 * PAGES; i++)
        touch_page(pages + i * page);
    counters_read(&counters, text, sizeof text);
    counters_close(&counters);
    munmap(pages, (size_t)(3 * PAGES * page));
    ck_assert_int_eq(sscanf(text, "page-faults=%lu", &count), 1);
    /* The code around may fault in a page or two of its own, not another PAGES. */
    ck_assert_uint_ge(count, PAGES);
    ck_assert_uint_lt(count, 2 * PAGES);
}
END_TEST

START_TEST(an_event_is_counted_or_its_absence_is_one_line)
{
    static const char *const events[] = {"cycles", "instructions", "branch-misses", "page-faults"};

    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct counters counters;
        char complaint[256] = "";
        FILE *stream = errors_begin();
        bool good = counters_choose(&counters, events[i], complaint, sizeof complaint);
        counters_open(&counters);
        const char *errors = errors_end(stream);

        ck_assert_msg(good, "%s", complaint);
        if (counters.count == 0) {
            ck_assert_uint_eq(lines(errors), 1);
            ck_assert_ptr_nonnull(strstr(errors, events[i]));
        } else {
            ck_assert_str_eq(errors, "");
        }
        counters_close(&counters);
    }
}
END_TEST

START_TEST(an_unknown_event_is_refused_by_name)
{
    static const char *const bad[] = {"no-such-event", "page-faults,no-such-event", "page-faults,",
                                      ",page-faults", ","};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct counters counters;
        char complaint[256] = "";

        ck_assert_msg(!counters_choose(&counters, bad[i], complaint, sizeof complaint),
                      "%s was taken", bad[i]);
        ck_assert_ptr_nonnull(strstr(complaint, "--counters"));
        ck_assert_ptr_null(strchr(complaint, '\n'));
        ck_assert_uint_eq(counters.count, 0);
    }
}
END_TEST

START_TEST(a_thread_is_pinned_where_it_was_asked_to_be)
{
    struct machine here;
    char complaint[256] = "";
    cpu_set_t allowed, now;

    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        ck_assert_msg(machine_read(&here, cpu, false, complaint, sizeof complaint), "%s",
                      complaint);
        ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
        ck_assert_int_eq(CPU_COUNT(&now), 1);
        ck_assert(CPU_ISSET(cpu, &now));
        ck_assert_int_eq(atoi(here.pinned), cpu);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
}
END_TEST

START_TEST(a_cpu_that_does_not_exist_is_refused)
{
    struct machine here;
    char complaint[256] = "";

    ck_assert(!machine_read(&here, 1 << 20, false, complaint, sizeof complaint));
    ck_assert_ptr_nonnull(strstr(complaint, "--pin 1048576"));
}
END_TEST

START_TEST(each_core_is_there_once_and_only_what_this_thread_may_use)
{
    static struct cores cores, one;
    char complaint[256] = "";
    cpu_set_t allowed, now;

    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    ck_assert_msg(cores_read(&cores, false, complaint, sizeof complaint), "%s", complaint);
    ck_assert_uint_ge(cores.count, 1);
    ck_assert_uint_le(cores.count, (unsigned)CPU_COUNT(&allowed));
    for (size_t i = 0; i < cores.count; i++) {
        ck_assert(CPU_ISSET(cores.cpu[i], &allowed));
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(cores.cpu[i], cores.cpu[j]);
        ck_assert_int_eq(cores_bind_self(cores.cpu[i]), 0);
        ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
        ck_assert_int_eq(CPU_COUNT(&now), 1);
        ck_assert(CPU_ISSET(cores.cpu[i], &now));
        ck_assert(cores_read(&one, false, complaint, sizeof complaint));
        ck_assert_uint_eq(one.count, 1);
        ck_assert_uint_eq(one.cpu[0], cores.cpu[i]);
        sched_setaffinity(0, sizeof allowed, &allowed);
    }
    ck_assert_int_eq(cores_bind_self(1 << 20), EINVAL);
}
END_TEST

START_TEST(cores_are_a_field_without_commas_cut_where_there_is_no_room)
{
    static struct cores cores = {.count = 5, .cpu = {0, 2, 14, 100, 101}};
    char text[32], little[12];

    cores_text(text, sizeof text, &cores, 4);
    ck_assert_str_eq(text, "0;2;14;100");
    cores_text(text, sizeof text, &cores, 0);
    ck_assert_str_eq(text, "");
    cores_text(text, sizeof text, &cores, 9);
    ck_assert_str_eq(text, "0;2;14;100;101");
    cores_text(little, sizeof little, &cores, 5);
    ck_assert_str_eq(little, "0;2;14...");
}
END_TEST

START_TEST(the_l1d_is_the_kernels_or_the_settings)
{
    struct machine here;
    char complaint[256] = "";
    unsigned sets = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index0/number_of_sets", "r");

    unsetenv("MPLACE_L1D");
    ck_assert(machine_read(&here, MACHINE_NO_PIN, false, complaint, sizeof complaint));
    ck_assert_str_eq(here.pinned, "");
    if (file != NULL) { /* a container may hide it */
        if (fscanf(file, "%u", &sets) == 1)
            ck_assert_uint_eq(here.l1d.sets, sets);
        fclose(file);
    }
    setenv("MPLACE_L1D", "128x12x32", 1);
    ck_assert(machine_read(&here, MACHINE_NO_PIN, false, complaint, sizeof complaint));
    ck_assert_uint_eq(here.l1d.sets, 128);
    ck_assert_uint_eq(here.l1d.ways, 12);
    ck_assert_uint_eq(here.l1d.line, 32);
}
END_TEST

START_TEST(a_bad_l1d_setting_is_one_line_and_as_if_unset)
{
    struct machine plain, here;
    char complaint[256] = "";

    unsetenv("MPLACE_L1D");
    ck_assert(machine_read(&plain, MACHINE_NO_PIN, false, complaint, sizeof complaint));
    setenv("MPLACE_L1D", "sixty-four", 1);
    FILE *stream = errors_begin();
    bool good = machine_read(&here, MACHINE_NO_PIN, false, complaint, sizeof complaint);
    const char *errors = errors_end(stream);
    ck_assert(good);
    ck_assert_ptr_nonnull(strstr(errors, "MPLACE_L1D=sixty-four is not allowed"));
    ck_assert_uint_eq(lines(errors), 1);
    ck_assert_uint_eq(here.l1d.sets, plain.l1d.sets);
}
END_TEST

START_TEST(pages_are_zero_and_too_many_are_refused)
{
    unsigned char *pages = pages_map(1000, 8);

    ck_assert_ptr_nonnull(pages);
    for (size_t i = 0; i < 8000; i++)
        ck_assert_uint_eq(pages[i], 0);
    pages_unmap(pages, 1000, 8);
    ck_assert_ptr_null(pages_map(SIZE_MAX / 4, 8));
    ck_assert_ptr_null(pages_map(0, 8));
}
END_TEST

START_TEST(random_numbers_repeat_with_their_seed_and_stay_below_the_bound)
{
    uint64_t a = 7, b = 7, seen = 0;

    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(random_next(&a), random_next(&b));
    for (int i = 0; i < 10000; i++) {
        uint64_t value = random_below(&a, 10);
        ck_assert_uint_lt(value, 10);
        seen |= 1u << value;
    }
    ck_assert_uint_eq(seen, 0x3ff);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench_harness");
    TCase *tests = tcase_create("harness");

    tcase_add_test(tests, addresses_a_line_apart_take_the_sets_in_turn);
    tcase_add_test(tests, addresses_a_page_apart_share_one_set);
    tcase_add_test(tests, the_geometry_decides_what_shares_a_set);
    tcase_add_test(tests, the_drawing_has_a_line_a_set_and_marks_what_does_not_fit);
    tcase_add_test(tests, geometry_text_is_parsed_strictly);
    tcase_add_test(tests, an_allocator_is_named_after_its_shared_object);
    tcase_add_test(tests, without_a_lock_library_the_settings_of_one_are_not_shown);
    tcase_add_test(tests, an_emulated_run_says_that_its_time_means_nothing);
    tcase_add_test(tests, a_name_for_a_csv_field_has_no_separators);
    tcase_add_test(tests, the_header_has_the_columns_of_the_design_in_order);
    tcase_add_test(tests, a_row_without_a_lock_library_leaves_its_columns_empty);
    tcase_add_test(tests, a_row_has_the_lock_counts_and_its_aborts_add_up);
    tcase_add_test(tests, a_row_of_an_emulated_run_has_no_rate);
    tcase_add_test(tests, a_field_with_a_separator_is_quoted);
    tcase_add_test(tests, a_person_reads_the_same_figures);
    tcase_add_test(tests, a_software_event_counts_the_interval_alone);
    tcase_add_test(tests, an_event_is_counted_or_its_absence_is_one_line);
    tcase_add_test(tests, an_unknown_event_is_refused_by_name);
    tcase_add_test(tests, a_thread_is_pinned_where_it_was_asked_to_be);
    tcase_add_test(tests, a_cpu_that_does_not_exist_is_refused);
    tcase_add_test(tests, each_core_is_there_once_and_only_what_this_thread_may_use);
    tcase_add_test(tests, cores_are_a_field_without_commas_cut_where_there_is_no_room);
    tcase_add_test(tests, the_l1d_is_the_kernels_or_the_settings);
    tcase_add_test(tests, a_bad_l1d_setting_is_one_line_and_as_if_unset);
    tcase_add_test(tests, pages_are_zero_and_too_many_are_refused);
    tcase_add_test(tests, random_numbers_repeat_with_their_seed_and_stay_below_the_bound);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
