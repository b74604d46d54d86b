/*
 * SPDX-License-Identifier: MIT
 *
 * The parts of the lock statistics: a thread's table, the pool of tables, the ranking, the JSON
 * writer. Check runs each test in a process of its own, so each begins without a table.
 */
#include "mutex/statistics/lock_ranking.h"
#include "mutex/statistics/lock_table.h"
#include "mutex/statistics/lock_table_pool.h"
#include "mutex/statistics/output.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EPOCH = 7 };

/* Locks are only addresses here: nothing is ever read from them. */
static const void *lock_number(unsigned long n)
{
    return (const void *)(0x500000000000ul + 40 * n);
}

static const void *const caller_1 = (const void *)0x1000;
static const void *const caller_2 = (const void *)0x2000;

static struct lock_table *table;

static void claim(void)
{
    table = lock_table_claim(gettid(), EPOCH);
    ck_assert_ptr_nonnull(table);
}

static void count(struct lock_table *in, const void *lock, uint64_t times)
{
    lock_row_add(lock_table_row(in, lock, caller_1), COUNT_PHYSICAL, times);
}

static uint64_t total_acquisitions(void)
{
    struct lock_row total;

    lock_ranking_total(&total, EPOCH);
    return lock_row_acquisitions(&total);
}

/* ---- a table ---- */

START_TEST(each_lock_is_counted_apart_and_remembers_who_locked_it_first)
{
    for (unsigned long n = 0; n < 1000; n++)
        count(table, lock_number(n), n + 1);
    for (unsigned long n = 0; n < 1000; n++) {
        struct lock_row *row = lock_table_row(table, lock_number(n), caller_2);
        ck_assert_ptr_eq(row->lock, lock_number(n));
        ck_assert_ptr_eq(row->first_caller, caller_1);
        ck_assert_uint_eq(row->counts[COUNT_PHYSICAL], n + 1);
    }
    ck_assert_uint_eq(total_acquisitions(), 1000ul * 1001 / 2);
    ck_assert_uint_eq(table->rows[0].counts[COUNT_PHYSICAL], 0);
    ck_assert_uint_eq(table->dropped_rows, 0);
}
END_TEST

START_TEST(the_short_way_to_a_row_finds_that_row_or_none)
{
    unsigned found = 0;

    for (unsigned long n = 0; n < 1000; n++)
        count(table, lock_number(n), 1);
    for (unsigned long n = 0; n < 2000; n++) {
        struct lock_row *row = lock_table_row_fast(table, lock_number(n));
        if (row == NULL)
            continue;
        found++;
        ck_assert_ptr_eq(row->lock, lock_number(n));
    }
    ck_assert_uint_gt(found, 500);
    ck_assert_uint_le(found, 1000);
}
END_TEST

START_TEST(a_full_table_loses_no_count_and_keeps_the_locks_that_matter)
{
    enum { HOT = 20, PASSING = 200000 };

    for (unsigned long n = 0; n < PASSING; n++) {
        count(table, lock_number(1000 + n), 1);
        if (n % 50 == 0)
            count(table, lock_number(n / 50 % HOT), 1);
    }
    ck_assert_uint_eq(total_acquisitions(), PASSING + PASSING / 50);
    ck_assert_uint_gt(table->dropped_rows, 1000);
    ck_assert_uint_eq(table->used, LOCK_TABLE_ROWS);
    /* The hot ones had their rows before the table was full; none was dropped. */
    for (unsigned long n = 0; n < HOT; n++)
        ck_assert_uint_eq(lock_table_row(table, lock_number(n), caller_2)->counts[COUNT_PHYSICAL],
                          PASSING / 50 / HOT);
}
END_TEST

START_TEST(a_lock_that_comes_late_and_stays_gets_a_row_in_a_full_table)
{
    const void *late = lock_number(1);

    for (unsigned long n = 0; n < 5000; n++)
        count(table, lock_number(1000 + n), 3);
    for (unsigned long n = 0; n < 1000; n++)
        count(table, late, 1);
    ck_assert_ptr_eq(lock_table_row(table, late, caller_2)->lock, late);
    ck_assert_uint_ge(lock_table_row(table, late, caller_2)->counts[COUNT_PHYSICAL],
                      1000 - LOCK_ADMISSIONS);
    ck_assert_uint_eq(total_acquisitions(), 5000 * 3 + 1000);
}
END_TEST

/* Against the simplest model there is, with locks that come and go by a seeded generator. */
START_TEST(a_table_in_any_state_finds_each_row_that_it_holds)
{
    uint64_t seed = 20240611 + (uint64_t)_i, state = seed;
    uint64_t counted = 0;

    printf("seed %lu\n", seed);
    for (int step = 0; step < 100000; step++) {
        count(table, lock_number(random_next(&state) % 3000), 1);
        counted++;
    }
    ck_assert_uint_eq(total_acquisitions(), counted);
    for (unsigned at = 1; at < table->used; at++) {
        const void *lock = table->rows[at].lock;
        ck_assert_ptr_nonnull(lock);
        ck_assert_ptr_eq(lock_table_row(table, lock, caller_2), &table->rows[at]);
    }
}
END_TEST

START_TEST(a_signal_handler_that_counts_while_a_row_is_made_changes_no_row_and_loses_no_count)
{
    count(table, lock_number(1), 1);
    table->busy = 1;
    count(table, lock_number(2), 5); /* the handler */
    count(table, lock_number(1), 1);
    table->busy = 0;
    ck_assert_uint_eq(table->used, 2);
    ck_assert_uint_eq(table->rows[0].counts[COUNT_PHYSICAL], 5);
    ck_assert_uint_eq(total_acquisitions(), 7);
}
END_TEST

START_TEST(an_emptied_table_counts_from_zero_and_an_old_one_not_at_all)
{
    for (unsigned long n = 0; n < 5000; n++)
        count(table, lock_number(n), 1);
    for (unsigned at = 0; at < LOCK_TABLE_ROWS; at++)
        lock_row_add_wait(&table->rows[at], 99);
    lock_table_clear(table, EPOCH + 1);
    ck_assert_uint_eq(total_acquisitions(), 0);
    lock_table_clear(table, EPOCH);
    ck_assert_uint_eq(total_acquisitions(), 0);
    ck_assert_uint_eq(table->dropped_rows, 0);
    for (unsigned long n = 0; n < LOCK_TABLE_ROWS - 1; n++)
        count(table, lock_number(n), 2);
    ck_assert_uint_eq(total_acquisitions(), 2 * (LOCK_TABLE_ROWS - 1));
    for (unsigned at = 0; at < LOCK_TABLE_ROWS; at++) {
        ck_assert_uint_eq(table->rows[at].counts[COUNT_WAITS], 0);
        ck_assert_uint_eq(table->rows[at].longest_wait_ns, 0);
    }
}
END_TEST

/* ---- the pool ---- */

static unsigned tables_now(void)
{
    unsigned tables = 0;

    for (struct lock_table *each = lock_table_first(); each != NULL; each = lock_table_after(each))
        tables++;
    return tables;
}

static void *count_in_own_table(void *argument)
{
    struct lock_table *own = lock_table_claim(gettid(), EPOCH);

    errno = 0;
    count(own, lock_number(1), 3);
    return argument;
}

START_TEST(what_an_ended_thread_counted_stays_and_its_table_serves_later_threads)
{
    enum { THREADS = 2000 };
    pthread_t thread;

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, count_in_own_table, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    ck_assert_uint_eq(total_acquisitions(), 3 * THREADS);
    /* One would do; join returns a little before the kernel forgets the thread. */
    ck_assert_uint_le(tables_now(), 8);
}
END_TEST

enum { TOGETHER = 40 };
static pthread_barrier_t all_have_counted;

static void *count_and_wait(void *argument)
{
    struct lock_table *own = lock_table_claim(gettid(), EPOCH);

    count(own, lock_number(1), 3);
    (void)pthread_barrier_wait(&all_have_counted);
    count(own, lock_number(1), 3);
    return argument;
}

START_TEST(threads_that_live_at_the_same_time_never_share_a_table)
{
    pthread_t threads[TOGETHER];

    ck_assert_int_eq(pthread_barrier_init(&all_have_counted, NULL, TOGETHER), 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < TOGETHER; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, count_and_wait, NULL), 0);
        for (int i = 0; i < TOGETHER; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    /* A table with two owners would have lost counts: adding is no atomic instruction. */
    ck_assert_uint_eq(total_acquisitions(), 20 * TOGETHER * 6);
    ck_assert_uint_ge(tables_now(), TOGETHER);
    ck_assert_uint_le(tables_now(), 3 * TOGETHER);
}
END_TEST

START_TEST(a_table_left_behind_with_the_threads_own_id_is_taken_over)
{
    struct lock_table *first = lock_table_claim(gettid(), EPOCH);
    uint64_t owner = first->owner;

    first->busy = 1; /* its thread was ended in the middle of an update */
    first->wait_lock = lock_number(3);
    first->nested.count = 4;
    ck_assert_ptr_eq(lock_table_claim(gettid(), EPOCH), first);
    ck_assert_uint_ne(first->owner,
                      owner); /* a third thread that saw the old word cannot have it */
    ck_assert_uint_eq(first->busy, 0);
    ck_assert_ptr_null(first->wait_lock);
    ck_assert_uint_eq(first->nested.count, 0);
}
END_TEST

START_TEST(claiming_keeps_errno)
{
    errno = 4711;
    ck_assert_ptr_nonnull(lock_table_claim(gettid(), EPOCH));
    ck_assert_int_eq(errno, 4711);
}
END_TEST

static void *claim_any(void *argument)
{
    (void)argument;
    return lock_table_claim(gettid(), EPOCH + 1);
}

START_TEST(in_a_child_the_forking_threads_table_is_kept_from_the_others)
{
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    int status;

    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        void *other;

        lock_tables_belong_here();
        lock_table_keep_in_child(mine, gettid());
        if (pthread_create(&thread, NULL, claim_any, NULL) != 0 ||
            pthread_join(thread, &other) != 0)
            _exit(2);
        _exit(other == mine ? 3 : 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* whose runtime knows no child of a raw clone */
static pid_t clone_child(unsigned long flags)
{
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/* In the child of a raw clone: a new thread's table is not the caller's, and serves a later one. */
static int claim_in_two_threads_in_turn(const struct lock_table *mine)
{
    void *tables[2];

    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, claim_any, NULL) != 0 ||
            pthread_join(thread, &tables[i]) != 0)
            return 2;
        if (tables[i] == mine)
            return 3;
    }
    return tables[0] == tables[1] ? 0 : 4;
}

START_TEST(a_raw_clones_child_takes_over_no_living_threads_table_once_its_parent_is_gone)
{
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    int report[2];
    char outcome = 1;

    ck_assert_int_eq(pipe(report), 0);
    pid_t parent = fork();
    if (parent == 0) {
        lock_tables_belong_here();
        lock_table_keep_in_child(mine, gettid());
        pid_t middle = (pid_t)syscall(SYS_getpid);
        if (clone_child(0) != 0)
            _exit(0);
        while (syscall(SYS_getppid) == middle)
            usleep(1000);
        outcome = (char)claim_in_two_threads_in_turn(mine);
        (void)!write(report[1], &outcome, 1);
        _exit(0);
    }
    close(report[1]);
    ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
    ck_assert_int_eq(read(report[0], &outcome, 1), 1);
    ck_assert_int_eq(outcome, 0);
}
END_TEST

START_TEST(a_raw_clones_child_that_libc_knows_by_its_parents_id_keeps_its_table)
{
    int id_of_libc = gettid(), status;

    lock_tables_belong_here();
    pid_t child = clone_child(0);
    if (child == 0)
        _exit(claim_in_two_threads_in_turn(lock_table_claim(id_of_libc, EPOCH)));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* Both processes are number 1, and the threads with the table have different numbers. */
static void *clone_another_first_process(void *argument)
{
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    int status = 1;

    pid_t child = clone_child(CLONE_NEWPID);
    if (child == 0)
        _exit(claim_in_two_threads_in_turn(mine));
    if (child > 0)
        (void)waitpid(child, &status, 0);
    *(int *)argument = status;
    return NULL;
}

START_TEST(a_raw_clones_child_that_sees_no_other_process_takes_over_no_living_threads_table)
{
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    int status;

    pid_t child = clone_child(CLONE_NEWUSER | CLONE_NEWPID);
    if (child < 0)
        return; /* the kernel allows nobody a name space of its own */
    if (child == 0) {
        pthread_t thread;
        int outcome = claim_in_two_threads_in_turn(mine);

        if (outcome == 0 &&
            (pthread_create(&thread, NULL, clone_another_first_process, &outcome) != 0 ||
             pthread_join(thread, NULL) != 0))
            outcome = 5;
        _exit(outcome != 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST
#endif

#ifndef __SANITIZE_THREAD__ /* which makes vfork a fork, and then nothing is shared */
static struct lock_table *claimed_in_child;

/* The child runs in this memory under another process id, where no thread of ours exists. */
static void claim_in_a_vfork_child(void)
{
    int status;

    pid_t child = vfork();
    if (child == 0) {
        claimed_in_child = lock_table_claim(gettid(), EPOCH);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(a_vfork_child_takes_over_no_living_threads_table)
{
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    claim_in_a_vfork_child();
    ck_assert_ptr_nonnull(claimed_in_child);
    ck_assert_ptr_ne(claimed_in_child, mine);
}
END_TEST

START_TEST(a_vfork_child_that_claims_first_leaves_living_threads_their_tables)
{
    void *other;
    pthread_t thread;

    claim_in_a_vfork_child();
    struct lock_table *mine = lock_table_claim(gettid(), EPOCH);
    ck_assert_int_eq(pthread_create(&thread, NULL, claim_any, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, &other), 0);
    ck_assert_ptr_ne(other, mine);
}
END_TEST
#endif

/* ---- the ranking ---- */

static struct lock_ranking ranking;

static struct lock_row *row_of(unsigned long n)
{
    return lock_table_row(table, lock_number(n), caller_1);
}

static void spend(unsigned long n, uint64_t wait_ns, uint64_t aborts, uint64_t acquisitions)
{
    lock_row_add(row_of(n), COUNT_PHYSICAL, acquisitions);
    if (wait_ns != 0)
        lock_row_add_wait(row_of(n), wait_ns);
    lock_row_add(row_of(n), COUNT_FIRST_ABORT + ABORT_CAPACITY, aborts);
}

START_TEST(locks_rank_by_the_larger_of_their_shares_of_waiting_and_of_aborts)
{
    static const unsigned long expected[] = {5, 2, 4, 1, 3, 0};

    spend(0, 0, 0, 10);
    spend(1, 10, 0, 1000);   /* 1 % of all waiting */
    spend(2, 0, 600, 1);     /* 60 % of all aborts */
    spend(3, 0, 0, 1000000); /* neither */
    spend(4, 90, 390, 1);    /* 9 %, 39 % */
    spend(5, 900, 10, 1);    /* 90 %, 1 % */
    lock_ranking_make(&ranking, 10, EPOCH);
    ck_assert(ranking.merged);
    ck_assert_uint_eq(ranking.locks, 6);
    ck_assert_uint_eq(ranking.count, 6);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_ptr_eq(ranking.top[i].lock, lock_number(expected[i]));
    ck_assert_uint_eq(lock_row_acquisitions(&ranking.others), 0);
    ck_assert_uint_eq(ranking.total.longest_wait_ns, 900);
}
END_TEST

START_TEST(the_top_is_the_same_for_every_length_of_it_and_the_rest_is_the_rest)
{
    uint64_t seed = 99, state = seed;
    static struct lock_ranking longer;

    printf("seed %lu\n", seed);
    for (unsigned long n = 0; n < 900; n++)
        spend(n, random_next(&state) % 50, random_next(&state) % 5, random_next(&state) % 3);
    lock_ranking_make(&longer, LOCK_RANKING_MOST, EPOCH);
    ck_assert_uint_eq(longer.count, LOCK_RANKING_MOST);
    for (unsigned wanted = 0; wanted <= LOCK_RANKING_MOST; wanted += 10) {
        uint64_t waited = 0;

        lock_ranking_make(&ranking, wanted, EPOCH);
        ck_assert_uint_eq(ranking.count, wanted);
        for (unsigned i = 0; i < wanted; i++) {
            ck_assert_ptr_eq(ranking.top[i].lock, longer.top[i].lock);
            waited += ranking.top[i].counts[COUNT_WAIT_NS];
        }
        ck_assert_uint_eq(ranking.others.counts[COUNT_WAIT_NS] + waited,
                          ranking.total.counts[COUNT_WAIT_NS]);
    }
}
END_TEST

static void *lock_1_by_caller_2(void *argument)
{
    struct lock_table *own = lock_table_claim(gettid(), EPOCH);

    lock_row_add(lock_table_row(own, lock_number(1), caller_2), COUNT_PHYSICAL, 10);
    lock_row_add(lock_table_row(own, lock_number(2), caller_2), COUNT_PHYSICAL, 1);
    (void)pthread_barrier_wait(&all_have_counted);
    (void)pthread_barrier_wait(&all_have_counted); /* lives on: its table is not taken over */
    return argument;
}

START_TEST(one_lock_of_two_threads_is_one_row_with_the_earlier_caller)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_barrier_init(&all_have_counted, NULL, 2), 0);
    count(table, lock_number(1), 5); /* caller_1 is first here, caller_2 at lock 2 */
    ck_assert_int_eq(pthread_create(&thread, NULL, lock_1_by_caller_2, NULL), 0);
    (void)pthread_barrier_wait(&all_have_counted);
    count(table, lock_number(2), 1);

    lock_ranking_make(&ranking, 10, EPOCH);
    ck_assert_uint_eq(ranking.tables, 2);
    ck_assert_uint_eq(ranking.locks, 2);
    ck_assert_uint_eq(lock_row_acquisitions(&ranking.top[0]), 15);
    ck_assert_ptr_eq(ranking.top[0].first_caller, caller_1);
    ck_assert_uint_eq(lock_row_acquisitions(&ranking.top[1]), 2);
    ck_assert_ptr_eq(ranking.top[1].first_caller, caller_2);
    (void)pthread_barrier_wait(&all_have_counted);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(shares_are_exact_and_never_overflow)
{
    ck_assert_uint_eq(lock_ranking_share(0, 0), 0);
    ck_assert_uint_eq(lock_ranking_share(1, 3), 3333);
    ck_assert_uint_eq(lock_ranking_share(7, 7), 10000);
    ck_assert_uint_eq(lock_ranking_share(UINT64_MAX, UINT64_MAX), 10000);
    ck_assert_uint_eq(lock_ranking_share(UINT64_MAX / 2, UINT64_MAX), 5000);
}
END_TEST

/* ---- JSON ---- */

/* The report with this text where the library's name belongs, from there on. */
static const char *json_of_name(const char *name)
{
    static char text[8192];
    struct statistics_facts facts = {
        .library = name, .htm = "none", .wait = "park", .ranking = &ranking};
    struct report report;
    int file = memfd_create("report", 0);

    ck_assert_int_ge(file, 0);
    report_open(&report, file);
    statistics_write_json(&report, &facts);
    report_close(&report);
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    ck_assert_int_gt(length, 0);
    text[length] = '\0';
    close(file);
    const char *at = strstr(text, "\"library\": ");
    ck_assert_ptr_nonnull(at);
    return at + strlen("\"library\": ");
}

START_TEST(any_name_makes_a_valid_json_string)
{
    static const struct {
        const char *name, *json;
    } names[] = {
        {"", "\"\""},
        {"plain_name", "\"plain_name\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"tab\tline\nescape\033delete\177", "\"tab\\u0009line\\u000aescape\\u001bdelete\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92\""},
        {"\xff", "\"\\ufffd\""},
        {"\xc3", "\"\\ufffd\""},            /* cut short */
        {"\xe2\x82", "\"\\ufffd\\ufffd\""}, /* cut short */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""}, /* not the shortest form */
        {"\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xc3(", "\"\\ufffd(\""},
    };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *json = json_of_name(names[i].name);
        ck_assert_msg(strncmp(json, names[i].json, strlen(names[i].json)) == 0,
                      "name %u became %.40s", i, json);
        ck_assert_int_eq(json[strlen(names[i].json)], ',');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mutex statistics");
    TCase *tables = tcase_create("table");
    TCase *pool = tcase_create("pool");
    TCase *rankings = tcase_create("ranking");

    setvbuf(stdout, NULL, _IOLBF, 0);
    tcase_add_checked_fixture(tables, claim, NULL);
    tcase_add_test(tables, each_lock_is_counted_apart_and_remembers_who_locked_it_first);
    tcase_add_test(tables, the_short_way_to_a_row_finds_that_row_or_none);
    tcase_add_test(tables, a_full_table_loses_no_count_and_keeps_the_locks_that_matter);
    tcase_add_test(tables, a_lock_that_comes_late_and_stays_gets_a_row_in_a_full_table);
    tcase_add_loop_test(tables, a_table_in_any_state_finds_each_row_that_it_holds, 0, 5);
    tcase_add_test(
        tables, a_signal_handler_that_counts_while_a_row_is_made_changes_no_row_and_loses_no_count);
    tcase_add_test(tables, an_emptied_table_counts_from_zero_and_an_old_one_not_at_all);
    suite_add_tcase(suite, tables);

    tcase_set_timeout(pool, 60);
    tcase_add_test(pool, what_an_ended_thread_counted_stays_and_its_table_serves_later_threads);
    tcase_add_test(pool, threads_that_live_at_the_same_time_never_share_a_table);
    tcase_add_test(pool, a_table_left_behind_with_the_threads_own_id_is_taken_over);
    tcase_add_test(pool, claiming_keeps_errno);
    tcase_add_checked_fixture(pool, lock_tables_belong_here, NULL);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(pool,
                   a_raw_clones_child_takes_over_no_living_threads_table_once_its_parent_is_gone);
    tcase_add_test(pool, a_raw_clones_child_that_libc_knows_by_its_parents_id_keeps_its_table);
    tcase_add_test(
        pool, a_raw_clones_child_that_sees_no_other_process_takes_over_no_living_threads_table);
    tcase_add_test(pool, a_vfork_child_takes_over_no_living_threads_table);
    tcase_add_test(pool, a_vfork_child_that_claims_first_leaves_living_threads_their_tables);
#endif
    tcase_add_test(pool, in_a_child_the_forking_threads_table_is_kept_from_the_others);
    suite_add_tcase(suite, pool);

    tcase_add_checked_fixture(rankings, claim, NULL);
    tcase_add_test(rankings, locks_rank_by_the_larger_of_their_shares_of_waiting_and_of_aborts);
    tcase_add_test(rankings, the_top_is_the_same_for_every_length_of_it_and_the_rest_is_the_rest);
    tcase_add_test(rankings, one_lock_of_two_threads_is_one_row_with_the_earlier_caller);
    tcase_add_test(rankings, shares_are_exact_and_never_overflow);
    tcase_add_test(rankings, any_name_makes_a_valid_json_string);
    suite_add_tcase(suite, rankings);
    return run_suite(suite);
}
