/*
 * SPDX-License-Identifier: MIT
 *
 * libmplace_persist where something is wrong: a clear error, and nothing is lost.
 */
#include "persist/checksum.h"
#include "persist/format.h"
#include "persist/region.h"
#include "persist_fixture.h"

#include "run_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* That open refuses the file with this error and these words, and leaves it as it was. */
static void expect_refusal(int error, const char *words)
{
    static char before[4 << 20], after[4 << 20];
    int file = open(path, O_RDONLY);
    ssize_t length = read(file, before, sizeof before);

    ck_assert_ptr_null(persist_open(path));
    ck_assert_int_eq(errno, error);
    ck_assert_msg(strstr(persist_error(), words) != NULL, "it says: %s", persist_error());
    ck_assert_int_eq(pread(file, after, sizeof after, 0), length);
    ck_assert_mem_eq(before, after, (size_t)length);
    close(file);
}

static void poke(off_t place, const void *bytes, size_t size)
{
    int file = open(path, O_RDWR);

    ck_assert_int_eq(pwrite(file, bytes, size, place), (ssize_t)size);
    close(file);
}

/* Closes the region, and makes its file what it was before that: what kill -9 would leave. Zeros
   become holes. */
static void leave_as_killed(struct persist_region *region)
{
    char copy[128], command[300];

    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(command, sizeof command, "cp --sparse=always %s %s", path, copy);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(persist_close(region), 0);
    ck_assert_int_eq(rename(copy, path), 0);
}

START_TEST(a_foreign_or_empty_file_is_refused)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);

    expect_refusal(EMEDIUMTYPE, "not a region");
    ck_assert_int_eq(ftruncate(file, 1 << 20), 0); /* what a creation that was cut leaves */
    expect_refusal(EMEDIUMTYPE, "not finished");
    poke(0, "\177ELF, or whatever it may be", 26);
    expect_refusal(EMEDIUMTYPE, "not a region");
    close(file);
    unlink(path);
    ck_assert_ptr_null(persist_open(path));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_null(persist_open(folder));
    ck_assert_int_eq(errno, EISDIR);
}
END_TEST

START_TEST(another_version_is_refused_and_named)
{
    uint32_t version = 2;

    ck_assert_int_eq(persist_close(create_region(_i)), 0);
    poke(8, &version, sizeof version);
    expect_refusal(ENOTSUP, "version 2");
}
END_TEST

START_TEST(a_truncated_region_is_refused_whatever_is_left)
{
    struct stat status;

    ck_assert_int_eq(persist_close(create_region(_i)), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    for (off_t length = status.st_size - 1; length >= 64; length /= 2) {
        ck_assert_int_eq(truncate(path, length), 0);
        expect_refusal(EBADMSG, "truncated");
    }
    for (off_t length = 63; length >= 8; length--) {
        ck_assert_int_eq(truncate(path, length), 0);
        expect_refusal(EBADMSG, "truncated");
    }
    ck_assert_int_eq(truncate(path, 7), 0);
    expect_refusal(EMEDIUMTYPE, "not a region");
}
END_TEST

START_TEST(each_damaged_byte_of_the_header_is_noticed)
{
    ck_assert_int_eq(persist_close(create_region(_i)), 0);
    for (off_t place = 0; place < 64; place++) {
        char byte;
        int file = open(path, O_RDWR);

        ck_assert_int_eq(pread(file, &byte, 1, place), 1);
        byte ^= 4;
        poke(place, &byte, 1);
        ck_assert_ptr_null(persist_open(path));
        byte ^= 4;
        poke(place, &byte, 1);
        close(file);
    }
    ck_assert_int_eq(persist_close(open_region()), 0);
}
END_TEST

/* Counts whose product with the size of what they count is what it was, but for the overflow. */
START_TEST(a_header_with_too_many_groups_or_pages_is_refused_though_its_checksum_is_right)
{
    struct region_header header;
    int file;

    ck_assert_int_eq(persist_close(create_region(_i % 2)), 0);
    file = open(path, O_RDWR);
    ck_assert_int_eq(read(file, &header, sizeof header), sizeof header);
    close(file);
    if (_i < 2)
        header.groups += UINT64_C(1) << 58;
    else
        header.pages += UINT64_C(1) << 52;
    header.checksum = 0;
    header.checksum = checksum_words(&header, sizeof header / 8, 0);
    poke(0, &header, sizeof header);
    expect_refusal(EBADMSG, "contradicts itself");
}
END_TEST

/* It would write to the log where its parent does. */
START_TEST(the_child_of_a_fork_does_not_commit_its_parents_transaction)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 64, 1);
    struct persist_tx *tx = persist_begin(region);
    int status;
    pid_t child;

    ck_assert_int_eq(persist_write(tx, at(region, block), "parent", 7), 0);
    child = fork();
    if (child == 0) {
        persist_write(tx, at(region, block), "child", 6);
        _exit(persist_commit(tx));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), EPERM);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
    region = open_region();
    ck_assert_int_eq(*(char *)at(region, block), 1);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* Whichever locks the parent's other threads had. */
START_TEST(the_child_of_a_fork_waits_for_no_thread_of_its_parent)
{
    struct persist_region *region = create_region(_i);
    struct persist_tx *tx = persist_begin(region);
    struct persist_statistics counts;
    int status;

    pthread_mutex_lock(&region->commit_lock);
    pthread_mutex_lock(&region->tx_lock);
    pthread_mutex_lock(&region->heap.lock);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        persist_statistics(region, &counts, sizeof counts);
        bool refused = persist_flush(region) == EPERM && persist_alloc(tx, 64) == 0 &&
                       errno == EPERM && persist_free(tx, 64) == EPERM &&
                       persist_begin(region) == NULL && errno == EPERM;
        persist_abort(tx);
        _exit(refused && persist_close(region) == 0 ? 0 : 1);
    }
    pthread_mutex_unlock(&region->heap.lock);
    pthread_mutex_unlock(&region->tx_lock);
    pthread_mutex_unlock(&region->commit_lock);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(the_least_region_has_room_for_a_block_whose_span_is_longer_than_the_region)
{
    struct persist_region *region;
    struct persist_tx *tx;
    uint64_t blocks[24];
    int count = 0;

    ck_assert_int_eq(persist_create(path, PERSIST_LEAST_MEMORY, (enum persist_log)_i, LOG), 0);
    region = open_region();
    tx = persist_begin(region);
    while (count < 24 && (blocks[count] = persist_alloc(tx, 4000)) != 0)
        count++;
    ck_assert_int_eq(count, PERSIST_LEAST_MEMORY / PERSIST_PAGE);
    ck_assert_int_eq(persist_commit(tx), 0);
    region = reopen(region);
    tx = persist_begin(region);
    while (count-- > 0)
        ck_assert_int_eq(persist_free(tx, blocks[count]), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    tx = persist_begin(region);
    ck_assert_uint_ne(persist_alloc(tx, PERSIST_LEAST_MEMORY), 0);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* The log begins at 4096, its first group's tags at 448 of it, each of 32 B behind 32 B.
   Transaction 1 is in the log but not in place. */
START_TEST(a_damaged_log_of_wal_is_refused_and_of_eager_ends_there)
{
    struct persist_region *region = create_region(_i);
    char zero[8] = {0};

    commit_block(region, 64, 1);
    leave_as_killed(region);
    poke(4096 + 8, zero, sizeof zero); /* data of the first block */
    if (_i == PERSIST_LOG_WAL) {
        expect_refusal(EBADMSG, "damaged");
        return;
    }
    region = open_region();
    ck_assert_uint_eq(persist_root(region), 0);
    ck_assert_uint_eq(counts_of(region).recovered, 0);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(both_heads_damaged_is_refused)
{
    char zero[128] = {0};

    ck_assert_int_eq(persist_close(create_region(_i)), 0);
    poke(64, zero, sizeof zero);
    expect_refusal(EBADMSG, "damaged");
}
END_TEST

/* By the head before it the log would be empty, and its transactions were durable. */
START_TEST(a_damaged_newest_head_of_a_log_with_transactions_is_refused)
{
    struct persist_region *region = create_region(_i);
    const struct log_head *heads = region->log.heads;
    int newest = heads[1].first_sid > heads[0].first_sid;
    char zero[8] = {0};

    commit_block(region, 64, 1);
    leave_as_killed(region);
    poke(HEADS_OFFSET + newest * (off_t)sizeof *heads, zero, sizeof zero);
    expect_refusal(EBADMSG, "its head");
}
END_TEST

START_TEST(a_region_that_is_open_is_not_opened_again)
{
    struct persist_region *region = create_region(_i);

    ck_assert_ptr_null(persist_open(path));
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_int_eq(persist_close(region), 0);
    ck_assert_int_eq(persist_close(open_region()), 0);
}
END_TEST

START_TEST(a_region_with_an_open_transaction_is_not_closed)
{
    struct persist_region *region = create_region(_i);
    struct persist_tx *tx = persist_begin(region);

    ck_assert_int_eq(persist_close(region), EBUSY);
    ck_assert_int_eq(persist_set_root(tx, 0), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_creation_that_fails_says_why_and_leaves_no_file)
{
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    static const struct {
        uint64_t memory, log;
        int format;
    } bad[] = {{65535, LOG, 0},
               {PERSIST_GREATEST_MEMORY + 1, LOG, 0},
               {MEMORY, 8191, 1},
               {MEMORY, PERSIST_GREATEST_LOG + 1, 1},
               {MEMORY, LOG, 2}};

    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(
            persist_create(path, bad[i].memory, (enum persist_log)bad[i].format, bad[i].log),
            EINVAL);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    /* Elsewhere it would take its time to fill the disk. */
    if (strncmp(path, "/dev/shm", 8) == 0) {
        ck_assert_int_eq(persist_create(path, PERSIST_GREATEST_MEMORY, PERSIST_LOG_WAL, LOG),
                         ENOSPC);
        ck_assert_ptr_nonnull(strstr(persist_error(), "no room"));
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(persist_create(path, 4 << 20, PERSIST_LOG_WAL, LOG), EFBIG);
    ck_assert_ptr_nonnull(strstr(persist_error(), "no room"));
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(persist_create(path, 65536, PERSIST_LOG_WAL, LOG), 0);
    ck_assert_int_eq(persist_create(path, 65536, PERSIST_LOG_WAL, LOG), EEXIST);
}
END_TEST

/* A store to a hole would end the process by SIGBUS when the disk is full. */
START_TEST(the_holes_of_a_sparse_copy_are_filled_when_it_is_opened)
{
    struct persist_region *region = create_region(_i);
    struct stat status;

    leave_as_killed(region);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_lt(status.st_blocks * 512, status.st_size);
    region = open_region();
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_ge(status.st_blocks * 512, status.st_size);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_transaction_longer_than_the_log_is_refused_and_goes_on)
{
    struct persist_region *region = create_region(_i);
    uint64_t block;
    struct persist_tx *tx = persist_begin(region);
    static char bytes[4 * LOG];
    uint64_t written = 0;

    block = persist_alloc(tx, sizeof bytes);
    ck_assert_uint_ne(block, 0);
    ck_assert_int_eq(persist_write(tx, at(region, block), bytes, sizeof bytes), ENOSPC);
    memset(bytes, 9, sizeof bytes);
    while (persist_write(tx, (char *)at(region, block) + written, bytes, 64) == 0)
        written += 64;
    ck_assert_uint_gt(written, LOG / 2);
    ck_assert_uint_eq(persist_alloc(tx, 8), 0);
    ck_assert_int_eq(errno, ENOSPC);
    ck_assert_int_eq(persist_free(tx, block), ENOSPC);
    ck_assert_int_eq(persist_write(tx, at(region, block), bytes, 64), 0); /* no new line */
    ck_assert_int_eq(persist_commit(tx), 0);
    region = reopen(region);
    ck_assert_mem_eq(at(region, block), bytes, written);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

static void *commit_cancelled(void *region)
{
    struct persist_tx *tx = persist_begin(region);

    persist_set_root(tx, 0);
    pthread_cancel(pthread_self()); /* at the next call that waits */
    persist_commit(tx);
    pthread_testcancel();
    return NULL;
}

/* msync waits, and the commit lock is held there. */
START_TEST(a_thread_that_is_cancelled_commits_first)
{
    struct persist_region *region = create_region(_i);
    pthread_t thread;
    void *result;

    region->persistence.method = PERSISTENCE_MSYNC; /* wherever the file is */
    ck_assert_int_eq(pthread_create(&thread, NULL, commit_cancelled, region), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    ck_assert_uint_eq(counts_of(region).committed, 1);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

static void *close_cancelled(void *region)
{
    pthread_cancel(pthread_self());
    persist_close(region);
    pthread_testcancel();
    return NULL;
}

static void *open_cancelled(void *opened)
{
    pthread_cancel(pthread_self());
    *(struct persist_region **)opened = persist_open(path);
    pthread_testcancel();
    return NULL;
}

START_TEST(a_thread_that_is_cancelled_opens_or_closes_all_of_a_region)
{
    struct persist_region *region = create_region(_i);
    pthread_t thread;
    void *result;

    ck_assert_int_eq(pthread_create(&thread, NULL, close_cancelled, region), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    region = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, open_cancelled, &region), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    ck_assert_ptr_nonnull(region);
    ck_assert_int_eq(persist_close(reopen(region)), 0);
}
END_TEST

START_TEST(a_block_that_only_another_open_transaction_has_is_not_freed)
{
    static const uint64_t sizes[] = {64, 9000};
    struct persist_region *region = create_region(_i);

    for (unsigned i = 0; i < 2; i++) {
        struct persist_tx *owner = persist_begin(region), *other = persist_begin(region);
        uint64_t block = persist_alloc(owner, sizes[i]), next;

        ck_assert_int_eq(persist_free(other, block), EINVAL);
        ck_assert_int_eq(persist_commit(other), 0);
        ck_assert_int_eq(persist_commit(owner), 0);
        /* From now on anybody may. */
        other = persist_begin(region);
        next = persist_alloc(other, sizes[i]);
        ck_assert_uint_ne(next, block);
        ck_assert_int_eq(persist_free(other, block), 0);
        /* And who has it may free it before the commit, once. */
        ck_assert_int_eq(persist_free(other, next), 0);
        ck_assert_int_eq(persist_free(other, next), EINVAL);
        ck_assert_int_eq(persist_commit(other), 0);
    }
    /* All of the memory is there again. */
    struct persist_tx *tx = persist_begin(region);
    ck_assert_uint_ne(persist_alloc(tx, MEMORY), 0);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_full_region_refuses_and_serves_again_after_a_free)
{
    struct persist_region *region = create_region(_i);
    struct persist_tx *tx = persist_begin(region);
    uint64_t first = persist_alloc(tx, MEMORY / 2 - 8192),
             second = persist_alloc(tx, MEMORY / 2 - 8192);

    ck_assert_uint_ne(first, 0);
    ck_assert_uint_ne(second, 0);
    ck_assert_uint_eq(persist_alloc(tx, MEMORY / 2), 0);
    ck_assert_int_eq(errno, ENOSPC);
    ck_assert_ptr_nonnull(strstr(persist_error(), "no room"));
    ck_assert_uint_eq(persist_alloc(tx, UINT64_MAX), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    tx = persist_begin(region);
    ck_assert_int_eq(persist_free(tx, first), 0);
    ck_assert_uint_eq(persist_alloc(tx, MEMORY / 2 - 8192), 0); /* not before the commit */
    ck_assert_int_eq(persist_commit(tx), 0);
    tx = persist_begin(region);
    ck_assert_uint_ne(persist_alloc(tx, MEMORY / 2 - 8192), 0);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(what_is_no_block_of_the_region_is_refused)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 100, 1), large = commit_block(region, 9000, 1);
    struct persist_tx *tx = persist_begin(region);
    char *base = persist_base(region);
    uint64_t end = persist_root(region) + (MEMORY << 1);
    const uint64_t bad[] = {0,          64,           block + 8, block + 64,
                            large + 64, large + 4096, end,       UINT64_MAX};

    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(persist_free(tx, bad[i]), EINVAL);
    ck_assert_int_eq(persist_free(tx, block), 0);
    ck_assert_int_eq(persist_free(tx, block), EINVAL);
    ck_assert_int_eq(persist_write(tx, base, "x", 1), EINVAL);
    ck_assert_int_eq(persist_write(tx, base - 1, "x", 1), EINVAL);
    ck_assert_int_eq(persist_write(tx, base + end, "x", 1), EINVAL);
    ck_assert_int_eq(persist_set_root(tx, 64), EINVAL);
    ck_assert_int_eq(persist_set_root(tx, end), EINVAL);
    ck_assert_uint_eq(persist_alloc(tx, 0), 0);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(persist_commit(tx), 0);
    tx = persist_begin(region);
    ck_assert_int_eq(persist_free(tx, block), EINVAL); /* it is free */
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist_errors");
    TCase *both = tcase_create("both formats"), *one = tcase_create("one format");

    tcase_set_timeout(both, 100);
    tcase_set_timeout(one, 100);

    tcase_add_checked_fixture(both, setup, teardown);
    tcase_add_checked_fixture(one, setup, teardown);
    tcase_add_test(one, a_foreign_or_empty_file_is_refused);
    tcase_add_loop_test(both, another_version_is_refused_and_named, 0, 2);
    tcase_add_loop_test(both, a_truncated_region_is_refused_whatever_is_left, 0, 2);
    tcase_add_loop_test(both, each_damaged_byte_of_the_header_is_noticed, 0, 2);
    tcase_add_loop_test(
        one, a_header_with_too_many_groups_or_pages_is_refused_though_its_checksum_is_right, 0, 4);
    tcase_add_loop_test(both, the_child_of_a_fork_does_not_commit_its_parents_transaction, 0, 2);
    tcase_add_loop_test(both, the_child_of_a_fork_waits_for_no_thread_of_its_parent, 0, 2);
    tcase_add_loop_test(
        both, the_least_region_has_room_for_a_block_whose_span_is_longer_than_the_region, 0, 2);
    tcase_add_loop_test(both, a_damaged_log_of_wal_is_refused_and_of_eager_ends_there, 0, 2);
    tcase_add_loop_test(both, both_heads_damaged_is_refused, 0, 2);
    tcase_add_loop_test(both, a_damaged_newest_head_of_a_log_with_transactions_is_refused, 0, 2);
    tcase_add_loop_test(both, a_region_that_is_open_is_not_opened_again, 0, 2);
    tcase_add_loop_test(both, a_region_with_an_open_transaction_is_not_closed, 0, 2);
    tcase_add_test(one, a_creation_that_fails_says_why_and_leaves_no_file);
    tcase_add_loop_test(both, the_holes_of_a_sparse_copy_are_filled_when_it_is_opened, 0, 2);
    tcase_add_loop_test(both, a_transaction_longer_than_the_log_is_refused_and_goes_on, 0, 2);
    tcase_add_loop_test(both, a_thread_that_is_cancelled_commits_first, 0, 2);
    tcase_add_loop_test(both, a_thread_that_is_cancelled_opens_or_closes_all_of_a_region, 0, 2);
    tcase_add_loop_test(both, a_block_that_only_another_open_transaction_has_is_not_freed, 0, 2);
    tcase_add_loop_test(both, a_full_region_refuses_and_serves_again_after_a_free, 0, 2);
    tcase_add_loop_test(both, what_is_no_block_of_the_region_is_refused, 0, 2);
    suite_add_tcase(suite, both);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
