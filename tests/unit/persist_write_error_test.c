/*
 * SPDX-License-Identifier: MIT
 *
 * msync fails: the commit says so, the region is unusable from then on, and what was durable is
 * there after the next open. Over the recorder, whose fences fail when they are told to.
 */
#include "persist/region.h"
#include "persist_recorder.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <string.h>

enum { PAGES = 8, GROUPS = 4 };

static _Alignas(4096) uint8_t file[RECORDED_BYTES], view[RECORDED_BYTES];
static struct persist_region region;
static struct region_sizes sizes;

static void open_file(void)
{
    region = (struct persist_region){.file = -1};
    region.persistence = (struct persistence){.base = file, .bytes = sizes.file_bytes};
    ck_assert_int_eq(region_check(file, sizes.file_bytes), 0);
    ck_assert_int_eq(region_recover(&region), 0);
    memcpy(view, file + sizes.memory_offset, sizes.memory_bytes);
    ck_assert_int_eq(region_start(&region, view), 0);
}

static void create_file(int log)
{
    struct persistence persistence = {.base = file};

    sizes = region_sizes((uint64_t)PAGES * PERSIST_PAGE, GROUPS * sizeof(struct log_group));
    persistence.bytes = sizes.file_bytes;
    ck_assert_int_eq(region_format(&persistence, &sizes, (enum persist_log)log, 1), 0);
    open_file();
}

/* A transaction that stores the value in the first page. */
static int store(int value)
{
    struct persist_tx *tx = persist_begin(&region);

    ck_assert_ptr_nonnull(tx);
    ck_assert_int_eq(persist_write(tx, view + format_pages_offset(PAGES), &value, sizeof value), 0);
    return persist_commit(tx);
}

static int stored(void)
{
    int value;

    memcpy(&value, view + format_pages_offset(PAGES), sizeof value);
    return value;
}

START_TEST(a_commit_that_cannot_be_written_fails_and_so_do_all_later_ones)
{
    struct persist_tx *other;
    int value = 3;

    create_file(_i);
    ck_assert_int_eq(store(1), 0);
    other = persist_begin(&region);
    recorder_failing_fence = region.persistence.fences + 1;
    ck_assert_int_eq(store(2), EIO);
    recorder_failing_fence = 0;
    ck_assert_int_eq(
        persist_write(other, view + format_pages_offset(PAGES) + 64, &value, sizeof value), 0);
    ck_assert_int_eq(persist_commit(other), EIO);
    ck_assert_ptr_null(persist_begin(&region));
    ck_assert_int_eq(errno, EIO);
    ck_assert_ptr_nonnull(strstr(persist_error(), strerror(ENOSPC)));
    ck_assert_int_eq(persist_flush(&region), EIO);
    region_end(&region);
    open_file();
    ck_assert(stored() == 1 || stored() == 2);
    ck_assert_int_eq(store(4), 0);
    region_end(&region);
    open_file();
    ck_assert_int_eq(stored(), 4);
    region_end(&region);
}
END_TEST

/* Each fence of 60 transactions in turn, those of checkpoints among them. */
START_TEST(whichever_fence_fails_nothing_durable_is_lost)
{
    uint64_t failed = 0;

    for (uint64_t failing = 4;; failing++) { /* three are those of recovery */
        int durable = 0, error = 0;

        memset(file, 0, sizeof file);
        create_file(_i);
        recorder_failing_fence = failing;
        while (durable < 60 && error == 0) {
            error = store(durable + 1);
            durable += error == 0;
        }
        recorder_failing_fence = 0;
        region_end(&region);
        open_file();
        ck_assert(stored() == durable || stored() == durable + 1);
        region_end(&region);
        if (error == 0)
            break; /* there are not as many fences */
        ck_assert_int_eq(error, EIO);
        failed++;
    }
    ck_assert_uint_gt(failed, 60);
}
END_TEST

START_TEST(a_recovery_that_cannot_be_written_fails_and_is_done_by_the_next_one)
{
    create_file(_i);
    ck_assert_int_eq(store(1), 0);
    region_end(&region);
    recorder_failing_fence = 1;
    region = (struct persist_region){.file = -1};
    region.persistence = (struct persistence){.base = file, .bytes = sizes.file_bytes};
    ck_assert_int_eq(region_recover(&region), ENOSPC);
    region_end(&region);
    recorder_failing_fence = 0;
    open_file();
    ck_assert_int_eq(stored(), 1);
    region_end(&region);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist_write_error");
    TCase *tests = tcase_create("both formats");

    tcase_set_timeout(tests, 100);

    tcase_add_loop_test(tests, a_commit_that_cannot_be_written_fails_and_so_do_all_later_ones, 0,
                        2);
    tcase_add_loop_test(tests, whichever_fence_fails_nothing_durable_is_lost, 0, 2);
    tcase_add_loop_test(tests, a_recovery_that_cannot_be_written_fails_and_is_done_by_the_next_one,
                        0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
