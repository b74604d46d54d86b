/*
 * SPDX-License-Identifier: MIT
 *
 * libmplace_persist by its interface: what transactions promise, what they cost, where blocks lie.
 */
#include "persist_fixture.h"

#include "base/random.h"
#include "run_suite.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>

START_TEST(what_was_committed_is_there_after_the_next_open)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 1000, 7);

    for (int round = 0; round < 3; round++) {
        region = reopen(region);
        ck_assert_uint_eq(persist_root(region), block);
        for (int i = 0; i < 1000; i++)
            ck_assert_int_eq(((char *)at(region, block))[i], 7);
    }
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_transaction_sees_its_own_writes_and_abort_undoes_them)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 300, 1);
    struct persist_tx *tx = persist_begin(region);
    char *bytes = at(region, block), wanted[300];

    memset(wanted, 1, sizeof wanted);
    ck_assert_int_eq(persist_write(tx, bytes + 60, "abcdefgh", 8), 0);
    ck_assert_int_eq(persist_write(tx, bytes + 62, "XY", 2), 0);
    ck_assert_int_eq(persist_set_root(tx, 0), 0);
    ck_assert_mem_eq(bytes + 60, "abXYefgh", 8);
    persist_abort(tx);
    ck_assert_mem_eq(bytes, wanted, sizeof wanted);
    ck_assert_uint_eq(persist_root(region), block);
    ck_assert_uint_eq(counts_of(region).aborted, 1);
    region = reopen(region);
    ck_assert_mem_eq(at(region, block), wanted, sizeof wanted);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(an_aborted_allocation_or_free_changes_nothing)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 5000, 1), other;
    struct persist_tx *tx = persist_begin(region);

    ck_assert_uint_ne(persist_alloc(tx, 5000), 0);
    ck_assert_uint_ne(persist_alloc(tx, 40), 0);
    ck_assert_int_eq(persist_free(tx, block), 0);
    persist_abort(tx);
    tx = persist_begin(region);
    ck_assert_int_eq(persist_free(tx, block), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    /* All of the memory is there again. */
    tx = persist_begin(region);
    other = persist_alloc(tx, MEMORY);
    ck_assert_uint_ne(other, 0);
    persist_abort(tx);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* With the shortest log, so that it is copied to its places often. */
START_TEST(many_more_transactions_than_the_log_holds_are_all_there)
{
    struct persist_region *region;
    uint64_t block, seed = 1;
    static char wanted[64 * 64];

    ck_assert_int_eq(persist_create(path, MEMORY, (enum persist_log)_i, PERSIST_LEAST_LOG), 0);
    region = open_region();
    block = commit_block(region, sizeof wanted, 0);
    for (int i = 0; i < 3000; i++) {
        struct persist_tx *tx = persist_begin(region);
        uint32_t place = random_below(&seed, sizeof wanted - 8);
        uint64_t value = random_next(&seed);

        ck_assert_int_eq(persist_write(tx, (char *)at(region, block) + place, &value, 8), 0);
        if (i % 5 == 4) {
            persist_abort(tx);
            continue;
        }
        memcpy(wanted + place, &value, 8);
        ck_assert_int_eq(i % 3 ? persist_commit_deferred(tx) : persist_commit(tx), 0);
    }
    ck_assert_uint_gt(counts_of(region).checkpoints, 20);
    region = reopen(region);
    ck_assert_mem_eq(at(region, block), wanted, sizeof wanted);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* Lines flushed and fences of one transaction that writes one line. */
START_TEST(a_small_commit_costs_one_fence_with_eager_and_two_with_wal)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 64, 1);
    struct persist_statistics before = counts_of(region), after;

    for (int i = 0; i < 100; i++) {
        struct persist_tx *tx = persist_begin(region);

        ck_assert_int_eq(persist_write(tx, at(region, block), &i, sizeof i), 0);
        ck_assert_int_eq(persist_commit(tx), 0);
    }
    after = counts_of(region);
    ck_assert_uint_eq(after.fences - before.fences, _i == PERSIST_LOG_WAL ? 200 : 100);
    /* The data, the line of its tag, and with wal that of the record's tag. */
    ck_assert_uint_eq(after.flushes - before.flushes, _i == PERSIST_LOG_WAL ? 300 : 200);
    ck_assert_uint_eq(after.checkpoints, before.checkpoints);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_batch_of_deferred_commits_costs_one_fence_with_eager)
{
    struct persist_region *region = create_region(PERSIST_LOG_EAGER);
    uint64_t block = commit_block(region, 64, 1), fences = counts_of(region).fences;

    for (int i = 0; i < 16; i++) {
        struct persist_tx *tx = persist_begin(region);

        ck_assert_int_eq(persist_write(tx, at(region, block), &i, sizeof i), 0);
        ck_assert_int_eq(persist_commit_deferred(tx), 0);
    }
    ck_assert_uint_eq(counts_of(region).fences, fences);
    ck_assert_int_eq(persist_flush(region), 0);
    ck_assert_int_eq(persist_flush(region), 0); /* nothing left to do */
    ck_assert_uint_eq(counts_of(region).fences, fences + 1);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(a_transaction_that_wrote_nothing_costs_nothing)
{
    struct persist_region *region = create_region(_i);
    uint64_t fences = counts_of(region).fences;

    ck_assert_int_eq(persist_commit(persist_begin(region)), 0);
    persist_abort(persist_begin(region));
    ck_assert_uint_eq(counts_of(region).fences, fences);
    ck_assert_uint_eq(counts_of(region).committed, 0);
    ck_assert_uint_eq(counts_of(region).aborted, 0);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* First lines of blocks in each L1 set, of 64; the greatest number. */
static unsigned fullest_set(const uint64_t *blocks, unsigned count)
{
    unsigned sets[64] = {0}, greatest = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned in_set = ++sets[blocks[i] / 64 % 64];

        greatest = in_set > greatest ? in_set : greatest;
    }
    return greatest;
}

START_TEST(never_used_blocks_of_a_size_take_the_sets_of_an_l1_in_turn)
{
    enum { COUNT = 300 };
    static const uint64_t sizes[] = {1,    64,   65,   128,  129,  256, 512,
                                     1000, 1024, 2048, 4096, 4288, 5000};
    static uint64_t blocks[COUNT];

    ck_assert_int_eq(persist_create(path, 16 << 20, PERSIST_LOG_EAGER, 1 << 20), 0);
    for (unsigned size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        struct persist_region *region = open_region();
        struct persist_tx *tx = persist_begin(region);

        for (unsigned i = 0; i < COUNT; i++) {
            blocks[i] = persist_alloc(tx, sizes[size]);
            ck_assert_uint_ne(blocks[i], 0);
            ck_assert_uint_eq(blocks[i] % 64, 0);
        }
        for (unsigned from = 0; from < COUNT; from += 7) {
            for (unsigned count = 1; from + count <= COUNT; count += 9)
                ck_assert_msg(fullest_set(blocks + from, count) <= (count + 63) / 64 + 1,
                              "%u blocks of %llu B: %u in a set", count,
                              (unsigned long long)sizes[size], fullest_set(blocks + from, count));
        }
        persist_abort(tx);
        ck_assert_int_eq(persist_close(region), 0);
    }
}
END_TEST

/* Random sizes, allocated and freed in many transactions; each block's bytes are its own. */
START_TEST(blocks_do_not_overlap_and_survive)
{
    enum { BLOCKS = 200 };
    struct persist_region *region = create_region(_i);
    uint64_t seed = 5, block[BLOCKS] = {0}, size[BLOCKS];
    char value[BLOCKS];
    static char bytes[20000];

    for (int i = 0; i < 4000; i++) {
        unsigned which = random_below(&seed, BLOCKS);
        struct persist_tx *tx = persist_begin(region);

        if (block[which] != 0) {
            memset(bytes, value[which], size[which]);
            ck_assert_mem_eq(at(region, block[which]), bytes, size[which]);
            ck_assert_int_eq(persist_free(tx, block[which]), 0);
            block[which] = 0;
        } else {
            size[which] = 1 + random_below(&seed, random_below(&seed, 20) == 0 ? 20000 : 300);
            value[which] = (char)i;
            block[which] = persist_alloc(tx, size[which]);
            memset(bytes, value[which], size[which]);
            if (block[which] != 0)
                ck_assert_int_eq(persist_write(tx, at(region, block[which]), bytes, size[which]),
                                 0);
        }
        ck_assert_int_eq(persist_commit_deferred(tx), 0);
        if (i % 1000 == 999)
            region = reopen(region);
    }
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

START_TEST(the_child_of_a_fork_reads_and_begins_no_transaction)
{
    struct persist_region *region = create_region(_i);
    uint64_t block = commit_block(region, 8, 3);
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool refused = persist_begin(region) == NULL && errno == EPERM;
        bool read = *(char *)at(region, block) == 3;

        _exit(refused && read && persist_close(region) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    block = commit_block(region, 8, 4);
    region = reopen(region);
    ck_assert_int_eq(*(char *)at(region, block), 4);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist");
    TCase *both = tcase_create("both formats"), *one = tcase_create("one format");

    tcase_add_checked_fixture(both, setup, teardown);
    tcase_add_checked_fixture(one, setup, teardown);
    tcase_add_loop_test(both, what_was_committed_is_there_after_the_next_open, 0, 2);
    tcase_add_loop_test(both, a_transaction_sees_its_own_writes_and_abort_undoes_them, 0, 2);
    tcase_add_loop_test(both, an_aborted_allocation_or_free_changes_nothing, 0, 2);
    tcase_add_loop_test(both, many_more_transactions_than_the_log_holds_are_all_there, 0, 2);
    tcase_add_loop_test(both, a_small_commit_costs_one_fence_with_eager_and_two_with_wal, 0, 2);
    tcase_add_test(one, a_batch_of_deferred_commits_costs_one_fence_with_eager);
    tcase_add_loop_test(both, a_transaction_that_wrote_nothing_costs_nothing, 0, 2);
    tcase_add_test(one, never_used_blocks_of_a_size_take_the_sets_of_an_l1_in_turn);
    tcase_add_loop_test(both, blocks_do_not_overlap_and_survive, 0, 2);
    tcase_add_loop_test(both, the_child_of_a_fork_reads_and_begins_no_transaction, 0, 2);
    suite_add_tcase(suite, both);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
