/*
 * SPDX-License-Identifier: MIT
 *
 * The algorithms of libtm_runtime by their barriers, without a compiler that knows transactions, so
 * that sanitizers see all of it: logs, and threads whose transactions conflict.
 */
#include "../tm/without_membarrier.h"
#include "run_suite.h"

#include "base/pages.h"
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/logs/write_set.h"
#include "tm_runtime/registry.h"
#include "tm_runtime/transaction.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

uint32_t _ITM_beginTransaction(uint32_t properties, ...) __attribute__((returns_twice));
void _ITM_commitTransaction(void);
void _ITM_changeTransactionMode(int mode);
uint64_t _ITM_RU8(const uint64_t *from);
uint64_t _ITM_RfWU8(const uint64_t *from);
void _ITM_WU8(uint64_t *to, uint64_t value);
void *_ITM_malloc(size_t size);
void _ITM_free(void *block);

/* Of library.c, which is not here: each setting has its default. */
void library_start(void)
{
}

enum { THREADS = 3, TURNS = 400, ACCOUNTS = 24 };

static const struct algorithm *const algorithms[] = {&eager_algorithm, &lazy_algorithm,
                                                     &norec_algorithm, NULL};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* ---- logs ---- */

START_TEST(an_undo_log_restores_newest_first_down_to_a_mark)
{
    struct log log = {.bytes = NULL};
    char bytes[100];
    size_t mark;

    memset(bytes, 'a', sizeof bytes);
    ck_assert(undo_log_save(&log, bytes + 3, 11));
    memset(bytes + 3, 'b', 11);
    mark = log.used;
    ck_assert(undo_log_save(&log, bytes, 100));
    memset(bytes, 'c', sizeof bytes);
    undo_log_apply(&log, mark, 0, 0);
    ck_assert(bytes[2] == 'a' && bytes[3] == 'b' && bytes[13] == 'b' && bytes[14] == 'a');
    undo_log_apply(&log, 0, 0, 0);
    ck_assert(bytes[3] == 'a' && bytes[13] == 'a' && log.used == 0);
    log_destroy(&log);
}
END_TEST

START_TEST(an_undo_log_leaves_dead_frames_alone)
{
    struct log log = {.bytes = NULL};
    char bytes[32];

    memset(bytes, 'a', sizeof bytes);
    ck_assert(undo_log_save(&log, bytes, sizeof bytes));
    memset(bytes, 'b', sizeof bytes);
    undo_log_apply(&log, 0, (uintptr_t)bytes + 5, (uintptr_t)bytes + 9);
    ck_assert(bytes[4] == 'a' && bytes[5] == 'b' && bytes[8] == 'b' && bytes[9] == 'a');
    log_destroy(&log);
}
END_TEST

START_TEST(a_write_set_has_each_byte_that_was_written_and_no_other)
{
    struct tm_thread *thread = pages_map(sizeof *thread, 0);
    static uint64_t words[5000];

    for (size_t i = 0; i < 5000; i++) {
        words[i] = 0x1111111111111111u * (i % 15);
        ck_assert(write_set_put(thread, (char *)&words[i] + i % 7, 2, i));
    }
    for (size_t i = 0; i < 5000; i++) {
        unsigned shift = i % 7 * 8;
        uint64_t expected = (words[i] & ~(UINT64_C(0xffff) << shift)) | (uint64_t)(i & 0xffff)
                                                                            << shift;

        ck_assert_uint_eq(write_set_overlay(thread, &words[i], 8, words[i]), expected);
    }
    write_set_write_back(thread);
    ck_assert_uint_eq(words[4999] >> 4999 % 7 * 8 & 0xffff, 4999);
    write_set_clear(thread);
    ck_assert_ptr_null(write_set_find(thread, &words[7]));
    ck_assert_uint_eq(write_set_overlay(thread, &words[7], 8, 5), 5);
    transaction_forget(thread);
}
END_TEST

/* ---- threads ---- */

static struct {
    _Alignas(64) uint64_t amount;
} accounts[ACCOUNTS];

static uint64_t *shared_block;

static void transfer(uint64_t from, uint64_t to)
{
    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT);
    _ITM_WU8(&accounts[from].amount, _ITM_RU8(&accounts[from].amount) - 1);
    _ITM_WU8(&accounts[to].amount, _ITM_RfWU8(&accounts[to].amount) + 1);
    _ITM_commitTransaction();
}

/* Goes on alone after its first write. */
static void transfer_irrevocably(uint64_t from, uint64_t to)
{
    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT);
    _ITM_WU8(&accounts[from].amount, _ITM_RU8(&accounts[from].amount) - 1);
    _ITM_changeTransactionMode(0);
    _ITM_WU8(&accounts[to].amount, _ITM_RfWU8(&accounts[to].amount) + 1);
    _ITM_commitTransaction();
}

/* A transaction that sees another sum fails at once, whether it would commit or not. */
static void audit(uint32_t properties)
{
    uint64_t sum = 0;

    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT | properties);
    sum = 0;
    for (size_t i = 0; i < ACCOUNTS; i++)
        sum += _ITM_RU8(&accounts[i].amount);
    if (sum != ACCOUNTS * 1000)
        abort();
    _ITM_commitTransaction();
}

static void replace_block(uint64_t value)
{
    uint64_t *fresh, *old;

    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT);
    fresh = _ITM_malloc(2 * sizeof *fresh);
    _ITM_WU8(&fresh[0], value);
    _ITM_WU8(&fresh[1], value);
    old = (uint64_t *)_ITM_RU8((uint64_t *)(void *)&shared_block);
    if (old != NULL && _ITM_RU8(&old[0]) != _ITM_RU8(&old[1]))
        abort();
    _ITM_WU8((uint64_t *)(void *)&shared_block, (uint64_t)fresh);
    _ITM_free(old);
    _ITM_commitTransaction();
}

/* Takes the block out, and writes to it without a transaction. */
static void take_block(void)
{
    uint64_t *mine;

    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT);
    mine = (uint64_t *)_ITM_RU8((uint64_t *)(void *)&shared_block);
    _ITM_WU8((uint64_t *)(void *)&shared_block, 0);
    _ITM_commitTransaction();
    if (mine == NULL)
        return;
    mine[0] = 1;
    mine[1] = 2;
    free(mine);
}

static void take_turns(uint64_t state, int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        transfer(state >> 33 & 15, 8 + (state >> 40 & 15));
        if (turn % 4 == 0)
            audit(0);
        if (turn % 3 == 0)
            replace_block(state);
        if (turn % 16 == 5)
            take_block();
        if (turn % 8 == 7)
            sched_yield();
    }
}

static void *work(void *number)
{
    take_turns((uint64_t)(uintptr_t)number * 77 + 1, TURNS);
    return NULL;
}

static void *work_shortly(void *number)
{
    take_turns((uint64_t)(uintptr_t)number, 2);
    return NULL;
}

static void *work_alone_at_times(void *number)
{
    for (uint64_t turn = 0; turn < TURNS / 10; turn++) {
        take_turns((uint64_t)(uintptr_t)number * TURNS + turn, 6);
        transfer_irrevocably(turn % 16, 8 + turn % 16);
        audit(ITM_GOES_IRREVOCABLE);
    }
    return NULL;
}

/* Each thread it starts finds the descriptor of one that ended, or that ends just now. */
static void *start_short_threads(void *number)
{
    for (uintptr_t i = 0; i < TURNS / 10; i++) {
        pthread_t thread;

        pthread_create(&thread, NULL, work_shortly, (void *)((uintptr_t)number * TURNS + i));
        pthread_join(thread, NULL);
    }
    return NULL;
}

/* The threads do that at once, and the accounts have their sum in the end. */
static void run_threads(const struct algorithm *algorithm, void *(*run)(void *number))
{
    pthread_t threads[THREADS];
    uint64_t sum = 0;

    transaction_settings.algorithm = algorithm;
    transaction_settings.alone_in_place = false;
    for (size_t i = 0; i < ACCOUNTS; i++)
        accounts[i].amount = 1000;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].amount;
    ck_assert_uint_eq(sum, ACCOUNTS * 1000);
    free(shared_block);
}

START_TEST(threads_see_memory_of_one_moment_and_own_what_they_take_out)
{
    run_threads(algorithms[_i], work);
}
END_TEST

START_TEST(a_thread_that_runs_alone_is_seen_by_those_that_have_just_committed)
{
    run_threads(algorithms[_i], work_alone_at_times);
}
END_TEST

START_TEST(threads_come_while_others_end)
{
    run_threads(algorithms[_i], start_short_threads);
}
END_TEST

START_TEST(once_membarrier_is_refused_begins_have_a_fence)
{
    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT);
    _ITM_commitTransaction();
    if (gate.word & GATE_FENCE || !take_membarrier_away(false))
        return; /* the kernel has none, or no filters */
    (void)_ITM_beginTransaction(ITM_INSTRUMENTED | ITM_NO_ABORT | ITM_GOES_IRREVOCABLE);
    _ITM_commitTransaction();
    ck_assert_uint_ne(gate.word & GATE_FENCE, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tm_algorithms");
    TCase *logs = tcase_create("logs");
    TCase *together = tcase_create("threads");

    tcase_add_test(logs, an_undo_log_restores_newest_first_down_to_a_mark);
    tcase_add_test(logs, an_undo_log_leaves_dead_frames_alone);
    tcase_add_test(logs, a_write_set_has_each_byte_that_was_written_and_no_other);
    tcase_add_loop_test(together, threads_see_memory_of_one_moment_and_own_what_they_take_out, 0,
                        ALGORITHMS);
    tcase_add_loop_test(together,
                        a_thread_that_runs_alone_is_seen_by_those_that_have_just_committed, 0,
                        ALGORITHMS);
    tcase_add_test(together, once_membarrier_is_refused_begins_have_a_fence);
    tcase_add_loop_test(together, threads_come_while_others_end, 0, ALGORITHMS);
    suite_add_tcase(suite, logs);
    suite_add_tcase(suite, together);
    return run_suite(suite);
}
