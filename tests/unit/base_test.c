/*
 * SPDX-License-Identifier: MIT
 *
 * What base promises: settings with their complaint, report text, short files, cache
 * geometry, random, SipHash, CPU.
 */
#include "base/cache_geometry.h"
#include "base/clock.h"
#include "base/current_cpu.h"
#include "base/exit_report.h"
#include "base/random.h"
#include "base/report.h"
#include "base/settings.h"
#include "base/short_file.h"
#include "base/siphash.h"

#include "run_suite.h"

#include <check.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs between two calls: what went to standard error in the meantime. */
static char captured[4096];
static int saved_stderr, capture_pipe[2];

static void capture_begin(void)
{
    ck_assert_int_eq(pipe(capture_pipe), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(capture_pipe[1], STDERR_FILENO);
}

static const char *capture_end(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(capture_pipe[1]);
    ssize_t n = read(capture_pipe[0], captured, sizeof captured - 1);
    close(capture_pipe[0]);
    captured[n < 0 ? 0 : n] = '\0';
    return captured;
}

START_TEST(a_report_formats_what_printf_would)
{
    char expected[512];

    capture_begin();
    report_line("%s|%-6s|%6s|%d|%u|%lu|%zu|%lx|%5u|%-5u|%05u|%c|%%|%ld", "text", "ab", "cd", -7, 7u,
                18446744073709551615ul, (size_t)42, 0xdeadbeeful, 12u, 12u, 12u, 'z',
                -9223372036854775807l - 1);
    const char *got = capture_end();
    snprintf(expected, sizeof expected, "%s|%-6s|%6s|%d|%u|%lu|%zu|%lx|%5u|%-5u|%05u|%c|%%|%ld\n",
             "text", "ab", "cd", -7, 7u, 18446744073709551615ul, (size_t)42, 0xdeadbeeful, 12u, 12u,
             12u, 'z', -9223372036854775807l - 1);
    ck_assert_str_eq(got, expected);
}
END_TEST

START_TEST(a_report_longer_than_its_buffer_loses_nothing)
{
    struct report report;
    char word[] = "0123456789";

    capture_begin();
    report_open(&report, STDERR_FILENO);
    for (int i = 0; i < 200; i++)
        report_format(&report, "%s", word);
    report_close(&report);
    ck_assert_uint_eq(strlen(capture_end()), 2000);
}
END_TEST

START_TEST(an_exit_report_goes_to_its_file_whatever_became_of_the_environment)
{
    char folder[] = "/tmp/mplace-base-test.XXXXXX";
    char name[128], setting[128], text[64] = "";
    struct exit_report plan = {0};
    struct report report;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/report-%d", folder, getpid());
    snprintf(setting, sizeof setting, "X_STATS=%s/report-%%p", folder);
    putenv(setting);
    exit_report_plan(&plan, "X_STATS");
    memset(setting, 'x', strlen(setting)); /* as a server does that changes its title */
    ck_assert(exit_report_open(&plan, &report));
    report_format(&report, "hello");
    report_close(&report);
    int fd = open(name, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, text, sizeof text - 1), 5);
    ck_assert_str_eq(text, "hello");
    close(fd);
    unlink(name);
    rmdir(folder);
}
END_TEST

START_TEST(an_exit_report_reaches_standard_error_that_the_program_has_closed)
{
    struct exit_report plan = {0};
    struct report report;

    setenv("X_STATS", "1", 1);
    capture_begin();
    exit_report_plan(&plan, "X_STATS");
    close(STDERR_FILENO);
    ck_assert(exit_report_open(&plan, &report));
    report_format(&report, "hello");
    report_close(&report);
    close(plan.stderr_copy);
    ck_assert_str_eq(capture_end(), "hello");
}
END_TEST

START_TEST(an_exit_report_does_not_write_into_a_file_that_took_the_number_of_its_copy)
{
    struct exit_report plan = {0};
    struct report report;
    int other = open("/dev/null", O_WRONLY);

    setenv("X_STATS", "1", 1);
    capture_begin();
    exit_report_plan(&plan, "X_STATS");
    dup2(other, plan.stderr_copy);
    ck_assert(exit_report_open(&plan, &report));
    ck_assert_int_eq(report.fd, STDERR_FILENO);
    report_close(&report);
    capture_end();
}
END_TEST

START_TEST(an_exit_report_that_nobody_asked_for_is_not_written)
{
    struct exit_report plan = {0};
    struct report report;

    unsetenv("X_STATS");
    exit_report_plan(&plan, "X_STATS");
    ck_assert(!exit_report_wanted(&plan));
    ck_assert(!exit_report_open(&plan, &report));
}
END_TEST

START_TEST(an_exit_report_file_that_cannot_be_opened_is_one_line)
{
    struct exit_report plan = {0};
    struct report report;

    setenv("X_STATS", "/nonexistent/x", 1);
    capture_begin();
    exit_report_plan(&plan, "X_STATS");
    ck_assert(!exit_report_open(&plan, &report));
    close(plan.stderr_copy);
    const char *line = capture_end();
    ck_assert_ptr_nonnull(strstr(line, "X_STATS=/nonexistent/x"));
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}
END_TEST

START_TEST(a_bad_number_gets_one_line_and_the_default)
{
    static const char *const bad[] = {"-1", "x",   "7x", "101", "99999999999999999999999",
                                      " 5", "0x10"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("MPLACE_TEST", bad[i], 1);
        capture_begin();
        uint64_t value = setting_number("MPLACE_TEST", 1, 100, 42);
        const char *line = capture_end();
        ck_assert_uint_eq(value, 42);
        ck_assert_ptr_nonnull(strstr(line, "MPLACE_TEST="));
        ck_assert_ptr_nonnull(strstr(line, bad[i]));
        ck_assert_ptr_nonnull(strstr(line, "1 to 100"));
        ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    }
}
END_TEST

START_TEST(a_good_value_is_taken_silently)
{
    static const char *const choices[] = {"spin", "yield", "park"};

    capture_begin();
    setenv("MPLACE_TEST", "100", 1);
    ck_assert_uint_eq(setting_number("MPLACE_TEST", 1, 100, 42), 100);
    ck_assert_int_eq(setting_signed("MPLACE_TEST", -1, 100, 42), 100);
    setenv("MPLACE_TEST", "-1", 1);
    ck_assert_int_eq(setting_signed("MPLACE_TEST", -1, 100, 42), -1);
    setenv("MPLACE_TEST", "yield", 1);
    ck_assert_uint_eq(setting_choice("MPLACE_TEST", choices, 3, 2), 1);
    setenv("MPLACE_TEST", "", 1);
    ck_assert_uint_eq(setting_choice("MPLACE_TEST", choices, 3, 2), 2);
    unsetenv("MPLACE_TEST");
    ck_assert_int_eq(setting_switch("MPLACE_TEST", 1), 1);
    ck_assert_str_eq(capture_end(), "");
}
END_TEST

START_TEST(a_bad_signed_number_is_one_line_that_names_setting_value_and_range)
{
    static const char *const bad[] = {"-2", "101", "--1", "-", "1-", "99999999999999999999"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char expected[200];

        setenv("MPLACE_TEST", bad[i], 1);
        capture_begin();
        ck_assert_int_eq(setting_signed("MPLACE_TEST", -1, 100, 42), 42);
        snprintf(
            expected, sizeof expected,
            "mplace: MPLACE_TEST=%s is not allowed (a whole number from -1 to 100); using 42\n",
            bad[i]);
        ck_assert_str_eq(capture_end(), expected);
    }
}
END_TEST

START_TEST(a_bad_choice_names_every_choice)
{
    static const char *const choices[] = {"spin", "yield", "park"};

    setenv("MPLACE_TEST", "sleep", 1);
    capture_begin();
    ck_assert_uint_eq(setting_choice("MPLACE_TEST", choices, 3, 2), 2);
    ck_assert_str_eq(capture_end(),
                     "mplace: MPLACE_TEST=sleep is not allowed (spin|yield|park); using park\n");
}
END_TEST

START_TEST(geometry_text_is_parsed_strictly)
{
    static const char *const bad[] = {"",      "64",   "x8",      "64x",       "64x8x",
                                      "63x8",  "64x0", "64x8x63", "64x8x64x",  "64 x8",
                                      "-64x8", "0x8",  "64x8x8",  "2097152x1", "99999999x8"};
    struct cache_level level = {1, 2, 16};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!cache_geometry_parse(bad[i], &level), "%s was taken", bad[i]);
    ck_assert_uint_eq(level.sets, 1);
    ck_assert(cache_geometry_parse("64x12", &level));
    ck_assert_uint_eq(level.sets, 64);
    ck_assert_uint_eq(level.ways, 12);
    ck_assert_uint_eq(level.line, 64);
    ck_assert(cache_geometry_parse("256x16x128", &level));
    ck_assert_uint_eq(level.sets, 256);
    ck_assert_uint_eq(level.line, 128);
}
END_TEST

START_TEST(geometry_is_overridden_by_the_settings)
{
    struct cache_geometry geometry;

    setenv("MPLACE_L1D", "64x12", 1);
    setenv("MPLACE_L2", "2048x16", 1);
    cache_geometry_read(&geometry);
    ck_assert_int_eq(geometry.l1d_source, CACHE_FROM_SETTING);
    ck_assert_uint_eq(geometry.l1d.ways, 12);
    ck_assert_uint_eq(geometry.l2.sets, 2048);
}
END_TEST

START_TEST(a_bad_geometry_setting_falls_back_to_the_processor)
{
    struct cache_geometry plain, overridden;

    unsetenv("MPLACE_L1D");
    unsetenv("MPLACE_L2");
    cache_geometry_read(&plain);
    setenv("MPLACE_L1D", "sixty-four", 1);
    capture_begin();
    cache_geometry_read(&overridden);
    ck_assert_ptr_nonnull(strstr(capture_end(), "MPLACE_L1D=sixty-four is not allowed"));
    ck_assert_uint_eq(overridden.l1d.sets, plain.l1d.sets);
    ck_assert_int_eq(overridden.l1d_source, plain.l1d_source);
}
END_TEST

START_TEST(a_short_file_is_read_as_far_as_there_is_room)
{
    char path[] = "/tmp/mplace-short-XXXXXX", text[8] = "........";
    int file = mkstemp(path);

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, "abcdef", 6), 6);
    close(file);
    ck_assert_int_eq(short_file_read(path, text, 4), 4);
    ck_assert_mem_eq(text, "abcd....", sizeof text);
    ck_assert_int_eq(short_file_read(path, text, sizeof text), 6);
    ck_assert_mem_eq(text, "abcdef..", sizeof text);
    unlink(path);
}
END_TEST

START_TEST(a_short_file_that_cannot_be_read_is_an_error_and_leaves_errno_alone)
{
    char text[8];

    errno = 0;
    ck_assert_int_eq(short_file_read("/no/such/file", text, sizeof text), -ENOENT);
    ck_assert_int_eq(short_file_read("/", text, sizeof text), -EISDIR);
    ck_assert_int_eq(errno, 0);
}
END_TEST

START_TEST(a_pipe_into_which_nobody_writes_is_an_empty_short_file)
{
    char folder[] = "/tmp/mplace-short-XXXXXX", path[64], text[8];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(short_file_read(path, text, sizeof text), 0);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(the_geometry_agrees_with_the_kernel)
{
    struct cache_geometry geometry;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index0/number_of_sets", "r");
    unsigned sets = 0;

    unsetenv("MPLACE_L1D");
    if (file == NULL || fscanf(file, "%u", &sets) != 1) {
        /* A container may hide it; the parser above is tested all the same. */
        if (file != NULL)
            fclose(file);
        return;
    }
    fclose(file);
    cache_geometry_read(&geometry);
    ck_assert_uint_eq(geometry.l1d.sets, sets);
}
END_TEST

START_TEST(the_current_cpu_is_the_pinned_one)
{
    cpu_set_t allowed, one;

    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
        ck_assert_uint_eq(current_cpu(), cpu);
        ck_assert_uint_eq(current_cpu_without_rseq(), cpu);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
}
END_TEST

/* A strict seccomp sandbox has the same effect. Before RDPID there is no other way. */
START_TEST(the_current_cpu_is_found_where_reading_the_clock_register_is_sigsegv)
{
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (ecx & 1 << 22) == 0 ||
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
        return;
    unsigned cpu = current_cpu_without_rseq();
    prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    ck_assert_uint_lt(cpu, CPU_SETSIZE);
}
END_TEST

/* The bytes 0 to 7: by the vectors of Rust's library under the key of bytes 0 to 15, and by
   CPython, whose hash() is this function, under a key of 0 (PYTHONHASHSEED=0). */
START_TEST(siphash_is_that_of_rust_and_of_cpython)
{
    const uint64_t word = UINT64_C(0x0706050403020100);
    const struct siphash_key key = {.low = word, .high = UINT64_C(0x0f0e0d0c0b0a0908)};

    ck_assert_uint_eq(siphash_of_word(key, word), UINT64_C(0x369095118d299a8e));
    ck_assert_uint_eq(siphash_of_word((struct siphash_key){0}, word), UINT64_C(0xead411e67ebe2eea));
}
END_TEST

START_TEST(random_numbers_repeat_with_their_seed_and_stay_below_the_bound)
{
    uint64_t a = 7, b = 7, seen = 0;

    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(random_next(&a), random_next(&b));
    for (int i = 0; i < 10000; i++) {
        uint32_t value = random_below(&a, 10);
        ck_assert_uint_lt(value, 10);
        seen |= 1u << value;
    }
    ck_assert_uint_eq(seen, 0x3ff);
}
END_TEST

START_TEST(the_clocks_are_libcs)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};

    for (int i = 0; i < 2; i++) {
        struct timespec times[3];

        clock_gettime(clocks[i], &times[0]);
        clock_read(clocks[i], &times[1]);
        clock_gettime(clocks[i], &times[2]);
        for (int j = 0; j < 2; j++)
            ck_assert(times[j].tv_sec < times[j + 1].tv_sec ||
                      (times[j].tv_sec == times[j + 1].tv_sec &&
                       times[j].tv_nsec <= times[j + 1].tv_nsec));
    }
}
END_TEST

/* A sanitizer's own code calls the kernel. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* In a process that may call the kernel for nothing but its end: how it ends. */
static int status_without_the_kernel(int (*read)(clockid_t, struct timespec *))
{
    struct timespec now;
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (read(CLOCK_MONOTONIC, &now) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            _exit(2);
        syscall(SYS_exit, read(CLOCK_MONOTONIC, &now));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static int read_ours(clockid_t clock, struct timespec *now)
{
    clock_read(clock, now);
    return 0;
}

START_TEST(where_libc_reads_the_clock_without_the_kernel_so_do_we)
{
    if (status_without_the_kernel(clock_gettime) == 0)
        ck_assert_int_eq(status_without_the_kernel(read_ours), 0);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tests = tcase_create("base");

    tcase_add_test(tests, a_report_formats_what_printf_would);
    tcase_add_test(tests, a_report_longer_than_its_buffer_loses_nothing);
    tcase_add_test(tests, an_exit_report_goes_to_its_file_whatever_became_of_the_environment);
    tcase_add_test(tests, an_exit_report_reaches_standard_error_that_the_program_has_closed);
    tcase_add_test(tests,
                   an_exit_report_does_not_write_into_a_file_that_took_the_number_of_its_copy);
    tcase_add_test(tests, an_exit_report_that_nobody_asked_for_is_not_written);
    tcase_add_test(tests, an_exit_report_file_that_cannot_be_opened_is_one_line);
    tcase_add_test(tests, a_bad_number_gets_one_line_and_the_default);
    tcase_add_test(tests, a_good_value_is_taken_silently);
    tcase_add_test(tests, a_bad_signed_number_is_one_line_that_names_setting_value_and_range);
    tcase_add_test(tests, a_bad_choice_names_every_choice);
    tcase_add_test(tests, geometry_text_is_parsed_strictly);
    tcase_add_test(tests, geometry_is_overridden_by_the_settings);
    tcase_add_test(tests, a_bad_geometry_setting_falls_back_to_the_processor);
    tcase_add_test(tests, a_short_file_is_read_as_far_as_there_is_room);
    tcase_add_test(tests, a_short_file_that_cannot_be_read_is_an_error_and_leaves_errno_alone);
    tcase_add_test(tests, a_pipe_into_which_nobody_writes_is_an_empty_short_file);
    tcase_add_test(tests, the_geometry_agrees_with_the_kernel);
    tcase_add_test(tests, the_current_cpu_is_the_pinned_one);
    tcase_add_test(tests, the_current_cpu_is_found_where_reading_the_clock_register_is_sigsegv);
    tcase_add_test(tests, siphash_is_that_of_rust_and_of_cpython);
    tcase_add_test(tests, random_numbers_repeat_with_their_seed_and_stay_below_the_bound);
    tcase_add_test(tests, the_clocks_are_libcs);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tests, where_libc_reads_the_clock_without_the_kernel_so_do_we);
#endif
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
