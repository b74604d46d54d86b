/*
 * SPDX-License-Identifier: MIT
 *
 * Forks, threads that end, exit, signals and serial mode around transactions, one claim each:
 * tm_life CLAIM.
 */
#include "expect.h"
#include "without_membarrier.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PURE __attribute__((transaction_pure, noinline))

/* Of the library: 2 in an irrevocable transaction, which nothing undoes. */
int _ITM_inTransaction(void) PURE;
void _ITM_addUserCommitAction(void (*action)(void *), uint64_t id, void *argument) PURE;

/* Equal outside of transactions; on lines of their own. */
static long first __attribute__((aligned(128)));
static long second __attribute__((aligned(128)));
static int stop, others_begin, writer_is_in_place;

PURE static void give_way(void)
{
    sched_yield();
}

PURE static void tell(int *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

static void *keep_equal(void *nothing)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        __transaction_atomic
        {
            first++;
            give_way();
            second++;
        }
    }
    return nothing;
}

static void step_both(void)
{
    __transaction_atomic
    {
        first++;
        second++;
    }
}

static int status_of(pid_t child)
{
    int status = -1;

    EXPECT(waitpid(child, &status, 0) == child);
    return status;
}

/* Those of other threads have ended before it; and it can have its own. */
static void the_child_of_a_fork_sees_no_half_of_a_transaction(void)
{
    pthread_t threads[2];

    step_both(); /* from here on no thread is alone, and none irrevocable */
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, keep_equal, NULL);
    for (int i = 0; i < 150; i++) {
        pid_t child = fork();

        if (child == 0) {
            int equal = first == second;

            alarm(20);
            step_both();
            _exit(equal && first == second ? 0 : 1);
        }
        EXPECT(status_of(child) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    EXPECT(first == second);
}

static int slow_key;

/* The process's first transaction makes a key, with all others stopped. */
__attribute__((visibility("default"))) int pthread_key_create(pthread_key_t *key,
                                                              void (*destroy)(void *))
{
    int (*next)(pthread_key_t *, void (*)(void *));

    *(void **)&next = dlsym(RTLD_NEXT, "pthread_key_create");
    if (__atomic_exchange_n(&slow_key, 0, __ATOMIC_RELAXED)) {
        tell(&others_begin, 1);
        usleep(10000);
    }
    return next(key, destroy);
}

static void *step_once(void *nothing)
{
    step_both();
    return nothing;
}

static void the_child_of_a_fork_beside_the_first_transaction_may_have_transactions(void)
{
    pthread_t thread;
    pid_t child;

    alarm(60);
    slow_key = 1;
    pthread_create(&thread, NULL, step_once, NULL);
    while (!__atomic_load_n(&others_begin, __ATOMIC_ACQUIRE))
        sched_yield();
    child = fork();
    if (child == 0) {
        alarm(20);
        step_both();
        _exit(first == second ? 0 : 1);
    }
    EXPECT(status_of(child) == 0);
    pthread_join(thread, NULL);
    step_both();
    EXPECT(first == 2 && second == 2);
}

__attribute__((noinline)) static int do_fork(void)
{
    return fork();
}

static void a_fork_in_a_transaction_commits_in_both_processes(void)
{
    pid_t child;

    __transaction_relaxed
    {
        first = 3;
        child = do_fork();
        second = 3;
    }
    step_both();
    if (child == 0)
        _exit(first == 4 && second == 4 ? 0 : 1);
    EXPECT(status_of(child) == 0 && first == 4 && second == 4);
}

static int was_irrevocable;
static volatile int ends = 1;

PURE static void end_thread(void)
{
    was_irrevocable = _ITM_inTransaction() == 2;
    if (ends)
        pthread_exit(NULL);
}

static void *ends_inside(void *nothing)
{
    __transaction_atomic
    {
        first = 100;
        end_thread();
        second = 100;
    }
    return nothing;
}

static void what_a_thread_did_that_ends_in_its_transaction_is_undone(void)
{
    pthread_t thread;

    step_both();
    pthread_create(&thread, NULL, ends_inside, NULL);
    pthread_join(thread, NULL);
    EXPECT(first == (was_irrevocable ? 100 : 1) && second == 1);
    step_both();
    EXPECT(first == (was_irrevocable ? 101 : 2) && second == 2);
}

static int has_acted;
static void *freed_later;

static void act(void *acted)
{
    *(int *)acted = 1;
    step_both(); /* it may have transactions */
}

static void *ends_with_an_action(void *nothing)
{
    __transaction_relaxed
    {
        first = 100;
        _ITM_addUserCommitAction(act, 1, &has_acted);
        free(freed_later);
        end_thread();
    }
    return nothing;
}

static void what_a_thread_has_done_that_ends_in_its_transaction_has_its_actions(void)
{
    pthread_t thread;

    freed_later = malloc(100);
    step_both();
    pthread_create(&thread, NULL, ends_with_an_action, NULL);
    pthread_join(thread, NULL);
    EXPECT(has_acted == was_irrevocable);
    EXPECT(first == (was_irrevocable ? 101 : 1));
}

static int sleeps;

PURE static void sleep_here(void)
{
    __atomic_store_n(&sleeps, 1, __ATOMIC_RELEASE);
    was_irrevocable = _ITM_inTransaction() == 2;
    while (ends)
        pause();
}

static void *sleeps_inside(void *nothing)
{
    __transaction_atomic
    {
        first = 100;
        sleep_here();
        second = 100;
    }
    return nothing;
}

static void what_a_thread_did_that_is_cancelled_in_its_transaction_is_undone(void)
{
    pthread_t thread;

    step_both();
    pthread_create(&thread, NULL, sleeps_inside, NULL);
    while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE))
        sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    EXPECT(first == (was_irrevocable ? 100 : 1) && second == 1);
    step_both();
    EXPECT(first == (was_irrevocable ? 101 : 2) && second == 2);
}

static void at_exit(void)
{
    step_both();
    if (first != 8 || second != 8)
        _exit(1);
}

__attribute__((noinline)) static void do_exit(void)
{
    exit(0);
}

static void exit_in_a_transaction_runs_handlers_that_have_transactions(void)
{
    atexit(at_exit);
    __transaction_relaxed
    {
        first = 7;
        second = 7;
        do_exit();
    }
}

static void *a_few(void *nothing)
{
    for (int i = 0; i < 3; i++)
        step_both();
    return nothing;
}

static void threads_come_and_go(void)
{
    enum { ROUNDS = 300, AT_ONCE = 4 };
    pthread_t threads[AT_ONCE];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            pthread_create(&threads[i], NULL, a_few, NULL);
        step_both();
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    EXPECT(first == ROUNDS * (AT_ONCE * 3 + 1) && second == first);
}

/* An irrevocable transaction waits for a thread that ends. */
__attribute__((noinline)) static void join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

static void a_transaction_may_join_a_thread_that_had_transactions(void)
{
    pthread_t thread;

    alarm(20);
    for (int round = 0; round < 50; round++) {
        pthread_create(&thread, NULL, a_few, NULL);
        while (__atomic_load_n(&second, __ATOMIC_RELAXED) != 3 * (round + 1))
            sched_yield();
        __transaction_relaxed
        {
            join(thread);
        }
    }
    EXPECT(first == 150 && second == 150);
}

/* Joins without becoming irrevocable, so that the transaction runs and the gate is open. */
PURE static void join_inside(pthread_t thread)
{
    pthread_join(thread, NULL);
}

static int go_on;

static void *begin_and_wait(void *nothing)
{
    step_both();
    tell(&others_begin, 1);
    while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
        sched_yield();
    return nothing;
}

static void a_thread_that_ends_waits_for_no_transaction(void)
{
    pthread_t thread;

    alarm(20);
    step_both();
    pthread_create(&thread, NULL, begin_and_wait, NULL);
    while (!__atomic_load_n(&others_begin, __ATOMIC_ACQUIRE))
        sched_yield();
    __transaction_atomic
    {
        first++;
        tell(&go_on, 1);
        join_inside(thread);
        second++;
    }
    EXPECT(first == 3 && second == 3);
    first = second = 0;
    threads_come_and_go();
}

static void membarrier_may_be_refused_after_the_first_transaction(void)
{
    step_both();
    if (!take_membarrier_away(false))
        exit(77);
    first = second = 0;
    threads_come_and_go();
}

static long resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all, resident;

    EXPECT(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* Each algorithm's logs for it are 32 MiB and more. */
static void a_huge_transaction_gives_its_logs_back(void)
{
    enum { WORDS = 1 << 21 };
    static long words[WORDS];
    long before;

    for (long i = 0; i < WORDS; i++)
        words[i] = i;
    before = resident_bytes();
    __transaction_atomic
    {
        for (long i = 0; i < WORDS; i++)
            words[i]++;
    }
    EXPECT(resident_bytes() - before < 12 << 20);
    for (long i = 0; i < WORDS; i++)
        EXPECT(words[i] == i + 1);
}

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
    char frame[2048];

    memset(frame, signal, sizeof frame);
    __asm__ volatile("" : : "r"(frame) : "memory");
    signals++;
}

static void a_handler_without_transactions_disturbs_none(void)
{
    struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}};
    struct itimerval never = {.it_interval = {.tv_usec = 0}};
    long steps = 0;

    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 200) {
        step_both();
        steps++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    EXPECT(first == steps && second == steps);
}

/* ---- irrevocable with others at work ---- */

/* Has no clone, for getppid has none. */
static void switch_to_serial(void)
{
    (void)getppid();
    EXPECT(_ITM_inTransaction() == 2);
}

/* For a thread that cannot come if the algorithm lets one transaction run at a time. */
PURE static void wait_a_while(const int *flag)
{
    for (int look = 0; look < 20 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); look++)
        usleep(10);
}

PURE static void nap(void)
{
    usleep(100);
}

static void *begin_and_read(void *nothing)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        __transaction_atomic
        {
            tell(&others_begin, 1);
            wait_a_while(&writer_is_in_place);
            second++;
        }
    }
    return nothing;
}

/* norec's lock is held since the nested transaction, and others read or begin meanwhile. */
static void a_transaction_that_writes_in_place_becomes_irrevocable_while_others_read(void)
{
    pthread_t threads[2];

    step_both();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, begin_and_read, NULL);
    for (int i = 1; i <= 20; i++) {
        __transaction_relaxed
        {
            wait_a_while(&others_begin);
            __transaction_atomic
            {
                first++;
                if (first < 0)
                    __transaction_cancel;
            }
            tell(&writer_is_in_place, 1);
            nap();
            switch_to_serial();
            tell(&others_begin, 0);
            tell(&writer_is_in_place, 0);
        }
        EXPECT(first == i + 1);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static const struct claim claims[] = {
    CLAIM(the_child_of_a_fork_sees_no_half_of_a_transaction),
    CLAIM(the_child_of_a_fork_beside_the_first_transaction_may_have_transactions),
    CLAIM(a_fork_in_a_transaction_commits_in_both_processes),
    CLAIM(what_a_thread_did_that_ends_in_its_transaction_is_undone),
    CLAIM(what_a_thread_has_done_that_ends_in_its_transaction_has_its_actions),
    CLAIM(what_a_thread_did_that_is_cancelled_in_its_transaction_is_undone),
    CLAIM(exit_in_a_transaction_runs_handlers_that_have_transactions),
    CLAIM(threads_come_and_go),
    CLAIM(a_transaction_may_join_a_thread_that_had_transactions),
    CLAIM(a_thread_that_ends_waits_for_no_transaction),
    CLAIM(membarrier_may_be_refused_after_the_first_transaction),
    CLAIM(a_huge_transaction_gives_its_logs_back),
    CLAIM(a_handler_without_transactions_disturbs_none),
    CLAIM(a_transaction_that_writes_in_place_becomes_irrevocable_while_others_read),
};

int main(int argc, char **argv)
{
    return run_claim(argc, argv, claims, sizeof claims / sizeof *claims);
}
