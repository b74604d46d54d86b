/*
 * SPDX-License-Identifier: MIT
 *
 * Several threads, and the end of a process at any moment. Threads transfer money between accounts
 * that lie side by side in lines, each under its own lock, and replace blocks of their own. The sum
 * of all accounts never changes, and what a thread was told to be durable is there.
 */
#include "persist_fixture.h"

#include "base/random.h"
#include "run_suite.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 3, ACCOUNTS = 40, TRANSFERS = 3000, LONGEST_BLOCK = 700 };

/* The root. */
struct bank {
    int64_t account[ACCOUNTS];
    struct {
        uint64_t transfers, block; /* that the thread committed; a block of its own */
        uint64_t block_bytes;      /* all of them have the number's low byte as value */
    } thread[THREADS];
};

struct worker {
    pthread_t thread;
    struct persist_region *region;
    unsigned number;
    uint64_t seed, transfers;
};

static pthread_mutex_t locks[ACCOUNTS];
/* Shared with the process that is killed: transfers that each thread was told are durable. */
static uint64_t *told;

static struct bank *bank_of(struct persist_region *region)
{
    return at(region, persist_root(region));
}

static struct persist_region *create_bank(int log)
{
    struct persist_region *region = create_region(log);
    struct persist_tx *tx = persist_begin(region);
    struct bank bank = {0};
    uint64_t root = persist_alloc(tx, sizeof bank);

    ck_assert_int_eq(persist_write(tx, at(region, root), &bank, sizeof bank), 0);
    ck_assert_int_eq(persist_set_root(tx, root), 0);
    ck_assert_int_eq(persist_commit(tx), 0);
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_init(&locks[i], NULL);
    return region;
}

static void add(struct persist_tx *tx, int64_t *account, int64_t amount)
{
    int64_t value = *account + amount;

    if (persist_write(tx, account, &value, sizeof value) != 0)
        abort();
}

/* A new block of another length in place of the thread's own. */
static void replace_block(struct worker *worker, struct persist_tx *tx, struct bank *bank)
{
    uint64_t transfers = bank->thread[worker->number].transfers + 1;
    uint64_t bytes = 1 + random_below(&worker->seed, LONGEST_BLOCK),
             block = persist_alloc(tx, bytes);
    char contents[LONGEST_BLOCK];

    memset(contents, (int)(transfers & 0xff), bytes);
    if (block == 0 ||
        (transfers > 1 && persist_free(tx, bank->thread[worker->number].block) != 0) ||
        persist_write(tx, at(worker->region, block), contents, bytes) != 0 ||
        persist_write(tx, &bank->thread[worker->number].transfers, &transfers, sizeof transfers) !=
            0 ||
        persist_write(tx, &bank->thread[worker->number].block, &block, sizeof block) != 0 ||
        persist_write(tx, &bank->thread[worker->number].block_bytes, &bytes, sizeof bytes) != 0)
        abort();
}

static void transfer(struct worker *worker)
{
    struct bank *bank = bank_of(worker->region);
    unsigned from = random_below(&worker->seed, ACCOUNTS),
             to = random_below(&worker->seed, ACCOUNTS);
    unsigned first = from < to ? from : to, second = from < to ? to : from;
    unsigned how = random_below(&worker->seed, 4);
    struct persist_tx *tx;

    if (from == to)
        return;
    pthread_mutex_lock(&locks[first]);
    pthread_mutex_lock(&locks[second]);
    tx = persist_begin(worker->region);
    add(tx, &bank->account[from], -5);
    add(tx, &bank->account[to], 5);
    replace_block(worker, tx, bank);
    if (how == 0) {
        persist_abort(tx);
    } else if (how == 1) {
        if (persist_commit_deferred(tx) != 0)
            abort();
    } else {
        if (persist_commit(tx) != 0)
            abort();
        __atomic_store_n(&told[worker->number], bank->thread[worker->number].transfers,
                         __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&locks[second]);
    pthread_mutex_unlock(&locks[first]);
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (uint64_t i = 0; i < worker->transfers; i++)
        transfer(worker);
    return NULL;
}

static void run_threads(struct persist_region *region, uint64_t seed, uint64_t transfers)
{
    struct worker workers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){0, region, i, seed + i, transfers};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void check_bank(struct persist_region *region)
{
    const struct bank *bank = bank_of(region);
    int64_t sum = 0;

    for (int i = 0; i < ACCOUNTS; i++)
        sum += bank->account[i];
    ck_assert_int_eq(sum, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        char contents[LONGEST_BLOCK];

        ck_assert_uint_ge(bank->thread[i].transfers, told[i]);
        memset(contents, (int)(bank->thread[i].transfers & 0xff), sizeof contents);
        if (bank->thread[i].transfers > 0)
            ck_assert_mem_eq(at(region, bank->thread[i].block), contents,
                             bank->thread[i].block_bytes);
    }
}

static uint64_t told_in_all(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < THREADS; i++)
        sum += __atomic_load_n(&told[i], __ATOMIC_ACQUIRE);
    return sum;
}

static void setup_told(void)
{
    setup();
    told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(told, MAP_FAILED);
}

START_TEST(transactions_of_several_threads_are_each_whole)
{
    struct persist_region *region = create_bank(_i);
    struct persist_statistics counts;

    run_threads(region, 1, TRANSFERS);
    counts = counts_of(region);
    ck_assert_uint_gt(counts.committed, THREADS * TRANSFERS / 2);
    ck_assert_uint_gt(counts.aborted, 0);
    check_bank(region);
    region = reopen(region);
    check_bank(region);
    ck_assert_int_eq(persist_close(region), 0);
}
END_TEST

/* The same region through many deaths. A file that is mapped shared keeps what a dead process
 * stored. */
START_TEST(a_process_that_is_killed_leaves_what_it_was_told_is_durable)
{
    const char *text = getenv("PERSIST_KILLS");
    unsigned kills = text == NULL ? 12 : (unsigned)atoi(text);
    uint64_t seed = 7, recovered = 0;

    ck_assert_int_eq(persist_close(create_bank(_i)), 0);
    for (unsigned i = 0; i < kills; i++) {
        struct timespec nap = {0, 1000000 + 1000 * (long)random_below(&seed, 20000)};
        uint64_t before = told_in_all();
        struct persist_region *region;
        pid_t child = fork();

        if (child == 0) {
            region = persist_open(path);
            if (region == NULL)
                _exit(1);
            run_threads(region, random_next(&seed) + i, UINT64_MAX);
            _exit(1);
        }
        while (told_in_all() == before) /* until it works; then for some milliseconds */
            sched_yield();
        nanosleep(&nap, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        region = open_region();
        recovered += counts_of(region).recovered;
        check_bank(region);
        ck_assert_int_eq(persist_close(region), 0);
    }
    ck_assert_uint_gt(recovered, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("persist_threads");
    TCase *tests = tcase_create("both formats");

    tcase_set_timeout(tests, 100);

    tcase_add_checked_fixture(tests, setup_told, teardown);
    tcase_add_loop_test(tests, transactions_of_several_threads_are_each_whole, 0, 2);
    tcase_add_loop_test(tests, a_process_that_is_killed_leaves_what_it_was_told_is_durable, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
