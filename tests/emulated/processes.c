/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions and the life of processes and threads: fork, vfork, exec and exit abort the caller's
 * transaction; the transactions of other threads leave no trace in a child; transactions work on.
 */
#include "transaction.h"

#include <errno.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { FORKS = 20, OTHERS = 3 };

static volatile long word __attribute__((aligned(64)));
static volatile long spoiled[OTHERS][8] __attribute__((aligned(64)));
static int stop, started;
static char **environment;

static void wait_for(pid_t child)
{
    int status;

    EXPECT(child > 0);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
}

static void fork_inside(void *result)
{
    word = 1;
    *(long *)result = syscall(SYS_fork);
}

static void fork_in_a_transaction_aborts_and_there_is_no_child(void)
{
    long result = 0;
    int status = STARTED;

    word = 0;
    for (int i = 0; i < attempts() && status == STARTED; i++)
        status = attempt(fork_inside, &result);
    EXPECT_EQUAL(status & CAUSES, 0);
    EXPECT_EQUAL(word, 0);
    EXPECT_EQUAL(result, 0);
    EXPECT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    EXPECT_EQUAL(errno, ECHILD);
}

static void spoil_line(void *line)
{
    for (int i = 0; i < 8; i++) {
        ((volatile long *)line)[i] = 0x5eed;
        linger(50);
    }
    ABORT(1);
}

/* The thread's transactions never commit: whoever sees 0x5eed saw into one. */
static void *keep_spoiling(void *line)
{
    __atomic_fetch_add(&started, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        attempt(spoil_line, line);
    return NULL;
}

static void start_others(pthread_t *threads)
{
    stop = started = 0;
    for (int i = 0; i < OTHERS; i++)
        threads[i] = start_thread(keep_spoiling, (void *)spoiled[i]);
    while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) < OTHERS)
        sched_yield();
}

static void stop_others(pthread_t *threads)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < OTHERS; i++)
        end_thread(threads[i]);
}

static void add_one(void *counter)
{
    ++*(volatile long *)counter;
}

static void commit_one(long *counter)
{
    for (long tries = 0; attempt(add_one, counter) != STARTED; tries++) {
        EXPECT(tries < 100000);
        /* A page that fork made read-only is copied here; atomic, for others commit meanwhile. */
        (void)__atomic_fetch_add(counter, 0, __ATOMIC_RELAXED);
    }
}

static void a_child_of_fork_has_no_store_of_a_running_transaction_and_can_commit(void)
{
    pthread_t threads[OTHERS];

    start_others(threads);
    for (int n = 0; n < FORKS; n++) {
        pid_t child = fork();

        if (child == 0) {
            long counter = 0;

            EXPECT(!in_transaction());
            for (int i = 0; i < OTHERS * 8; i++)
                EXPECT_EQUAL(spoiled[i / 8][i % 8], 0);
            for (int i = 0; i < 50; i++)
                commit_one(&counter);
            EXPECT_EQUAL(counter, 50);
            _exit(0);
        }
        wait_for(child);
    }
    stop_others(threads);
}

static void threads_of_the_parent_go_on_and_none_of_them_loses_a_commit(void)
{
    pthread_t threads[OTHERS];
    long counter = 0;

    start_others(threads);
    for (int n = 0; n < FORKS; n++) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        commit_one(&counter);
        wait_for(child);
    }
    stop_others(threads);
    EXPECT_EQUAL(counter, FORKS);
}

static void vfork_and_exec_run_a_program_while_others_are_in_transactions(void)
{
    static char program[] = "/bin/true";
    char *arguments[] = {program, NULL};
    pthread_t threads[OTHERS];

    start_others(threads);
    for (int n = 0; n < 5; n++) {
        pid_t child = vfork();

        if (child == 0) {
            execv(program, arguments);
            _exit(1);
        }
        wait_for(child);
        EXPECT_EQUAL(posix_spawn(&child, program, NULL, NULL, arguments, environment), 0);
        wait_for(child);
    }
    stop_others(threads);
}

static void exec_in_a_child_with_threads_in_transactions_replaces_the_program(void)
{
    pid_t child = fork();

    if (child == 0) {
        pthread_t threads[OTHERS];

        start_others(threads);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
}

static void exit_inside(void *unused)
{
    (void)unused;
    word = 1;
    syscall(SYS_exit, 0);
}

static void *end_by_system_call(void *unused)
{
    int status = STARTED;

    for (int i = 0; i < attempts() && status == STARTED; i++)
        status = attempt(exit_inside, NULL);
    EXPECT_EQUAL(status & CAUSES, 0);
    EXPECT_EQUAL(word, 0);
    return unused;
}

static void a_thread_that_would_end_in_a_transaction_aborts_first(void)
{
    word = 0;
    end_thread(start_thread(end_by_system_call, NULL));
    EXPECT_EQUAL(word, 0);
}

/* Of transactions that the process leaves open when it ends nobody may see a trace. */
static void exit_while_others_are_in_transactions_commits_none_of_them(void)
{
    volatile long *shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(shared != MAP_FAILED);
    for (int n = 0; n < FORKS; n++) {
        pid_t child;

        shared[0] = 0;
        child = fork();
        if (child == 0) {
            stop = started = 0;
            shared[0] = 0; /* else the page would not be there, and the first store would abort */
            start_thread(keep_spoiling, (void *)shared);
            while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
                sched_yield();
            linger(1000 * (unsigned)n);
            _exit(0);
        }
        wait_for(child);
        for (int i = 0; i < 8; i++)
            EXPECT_EQUAL(shared[i], 0);
    }
}

static void *change_rights(void *unused)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT(page != MAP_FAILED);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        *(volatile char *)page = 1;
        EXPECT_EQUAL(mprotect(page, 4096, PROT_READ), 0);
        EXPECT_EQUAL(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
    }
    munmap(page, 4096);
    return unused;
}

static void work_for_long(void *unused)
{
    (void)unused;
    linger(3000);
}

/* All processors are interrupted to forget the old rights. */
static void a_change_of_the_address_space_by_another_thread_aborts(void)
{
    pthread_t thread;
    int status = STARTED;

    stop = 0;
    thread = start_thread(change_rights, NULL);
    /* A processor may abort for other reasons, too. */
    for (int i = 0; i < 20000 && (status == STARTED || (!is_emulated() && (status & CAUSES) != 0));
         i++)
        status = attempt(work_for_long, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    end_thread(thread);
    EXPECT(status != STARTED);
    EXPECT_EQUAL(status & CAUSES, 0);
}

static void *cancel_me(void *unused)
{
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        attempt(spoil_line, (void *)spoiled[0]);
    return unused;
}

static void a_thread_cancelled_in_a_transaction_ends_and_its_stores_are_undone(void)
{
    for (int n = 0; n < FORKS; n++) {
        pthread_t thread;

        started = 0;
        thread = start_thread(cancel_me, NULL);
        while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
            sched_yield();
        EXPECT_EQUAL(pthread_cancel(thread), 0);
        EXPECT(end_thread(thread) == PTHREAD_CANCELED);
        for (int i = 0; i < 8; i++)
            EXPECT_EQUAL(spoiled[0][i], 0);
    }
}

static void *commit_and_end(void *counter)
{
    commit_one(counter);
    return NULL;
}

static void threads_come_and_go_by_the_hundred(void)
{
    static long counter;

    for (int round = 0; round < 40; round++) {
        pthread_t threads[8];

        for (int i = 0; i < 8; i++)
            threads[i] = start_thread(commit_and_end, &counter);
        for (int i = 0; i < 8; i++)
            end_thread(threads[i]);
    }
    EXPECT_EQUAL(counter, 320);
}

static int gate[2]; /* a pipe; who reads from it sleeps until the other end is closed */

static void *wait_and_commit(void *counter)
{
    char nothing;

    __atomic_fetch_add(&started, 1, __ATOMIC_RELEASE);
    EXPECT_EQUAL(read(gate[0], &nothing, 1), 0);
    commit_one(counter);
    return NULL;
}

static void three_hundred_threads_at_once_commit(void)
{
    enum { MANY = 300 };
    static long counter;
    pthread_t threads[MANY];

    started = 0;
    EXPECT_EQUAL(pipe(gate), 0);
    for (int i = 0; i < MANY; i++)
        threads[i] = start_thread(wait_and_commit, &counter);
    while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) < MANY)
        usleep(1000);
    EXPECT_EQUAL(close(gate[1]), 0);
    for (int i = 0; i < MANY; i++)
        end_thread(threads[i]);
    EXPECT_EQUAL(close(gate[0]), 0);
    EXPECT_EQUAL(counter, MANY);
}

int main(int count, char **arguments, char **variables)
{
    (void)count;
    (void)arguments;
    environment = variables;
    need_transactions();
    fork_in_a_transaction_aborts_and_there_is_no_child();
    a_child_of_fork_has_no_store_of_a_running_transaction_and_can_commit();
    threads_of_the_parent_go_on_and_none_of_them_loses_a_commit();
    vfork_and_exec_run_a_program_while_others_are_in_transactions();
    exec_in_a_child_with_threads_in_transactions_replaces_the_program();
    a_thread_that_would_end_in_a_transaction_aborts_first();
    exit_while_others_are_in_transactions_commits_none_of_them();
    a_change_of_the_address_space_by_another_thread_aborts();
    a_thread_cancelled_in_a_transaction_ends_and_its_stores_are_undone();
    threads_come_and_go_by_the_hundred();
    three_hundred_threads_at_once_commit();
    return 0;
}
