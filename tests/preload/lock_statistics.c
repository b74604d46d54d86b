/*
 * SPDX-License-Identifier: MIT
 *
 * The counts of mplace.h, from a program that finds them by dlsym: exact over many threads, over
 * their exit, over fork, and for what is counted and what is not.
 * lock_statistics NAME: NAME is what mplace_lock_name must say.
 */
#include "lock_check.h"

#include "mplace.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static int (*statistics)(struct mplace_lock_statistics *, size_t);
static void (*reset)(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct mplace_lock_statistics counts_now(void)
{
    struct mplace_lock_statistics counts;

    CHECK_EQUAL(statistics(&counts, sizeof counts), 0);
    CHECK_EQUAL(counts.tx_started, counts.tx_committed + counts.abort_conflict +
                                       counts.abort_capacity + counts.abort_explicit +
                                       counts.abort_nested + counts.abort_debug +
                                       counts.abort_other);
    CHECK(counts.slow_path <= counts.acquisitions);
    CHECK(counts.slow_path + counts.tx_committed <= counts.acquisitions);
    return counts;
}

enum { BATCHES = 20, BATCH = 20, PAIRS = 50 };

static void *lock_pairs(void *argument)
{
    for (int i = 0; i < PAIRS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    }
    return argument;
}

static void check_many_threads(void)
{
    pthread_t threads[BATCH];

    reset();
    CHECK_EQUAL(counts_now().acquisitions, 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < BATCH; i++)
            threads[i] = start_thread(lock_pairs, NULL);
        for (int i = 0; i < BATCH; i++)
            end_thread(threads[i]);
    }
    CHECK_EQUAL(counts_now().acquisitions, (long)BATCHES * BATCH * PAIRS);
}

static void *try_it(void *argument)
{
    return (void *)(long)pthread_mutex_trylock(argument);
}

static void check_what_counts(void)
{
    pthread_mutex_t recursive, foreign;
    pthread_mutexattr_t attributes;
    struct timespec long_ago = {.tv_sec = 1};

    make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE);
    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    CHECK_EQUAL(pthread_mutex_init(&foreign, &attributes), 0);

    reset();
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_trylock(&recursive), 0);
    CHECK_EQUAL(counts_now().acquisitions, 3);
    CHECK_EQUAL(counts_now().slow_path, 3);
    CHECK_EQUAL(elsewhere(try_it, &recursive), EBUSY);
    CHECK_EQUAL(counts_now().acquisitions, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);

    CHECK_EQUAL(pthread_mutex_lock(&foreign), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&foreign), 0);
    CHECK_EQUAL(counts_now().acquisitions, 3);

    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &long_ago), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(counts_now().acquisitions, 5);
}

static void check_child(void)
{
    int status;

    reset();
    lock_pairs(NULL);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(counts_now().acquisitions, 0);
        lock_pairs(NULL);
        elsewhere(lock_pairs, NULL);
        CHECK_EQUAL(counts_now().acquisitions, 2 * PAIRS);
        _exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(counts_now().acquisitions, PAIRS);
}

static pthread_mutex_t handlers_own = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long handled;

static void lock_in_handler(int signal)
{
    (void)signal;
    CHECK_EQUAL(pthread_mutex_lock(&handlers_own), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&handlers_own), 0);
    handled++;
}

/* A handler that locks where the thread is counting, wherever that is: no count is lost. POSIX
 * promises nothing here; the statistics do. */
static void check_signal_handler(void)
{
    struct sigaction action = {.sa_handler = lock_in_handler, .sa_flags = SA_RESTART};
    struct itimerval often = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50};
    struct itimerval never = {.it_value.tv_usec = 0};
    static pthread_mutex_t
        others[3000]; /* more than a thread has rows: they are made and dropped */
    unsigned long pairs = 0;

    for (int i = 0; i < 3000; i++)
        CHECK_EQUAL(pthread_mutex_init(&others[i], NULL), 0);
    reset();
    lock_pairs(NULL);
    CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (handled < 2000) {
        CHECK_EQUAL(pthread_mutex_lock(&others[pairs % 3000]), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&others[pairs % 3000]), 0);
        pairs++;
    }
    CHECK_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK_EQUAL(counts_now().acquisitions, PAIRS + pairs + handled);
}

static void check_arguments(void)
{
    struct mplace_lock_statistics counts;
    unsigned char bytes[sizeof counts + 8];

    CHECK_EQUAL(statistics(NULL, sizeof counts), EINVAL);
    CHECK_EQUAL(statistics(&counts, 0), EINVAL);
    memset(bytes, 0x5a, sizeof bytes);
    CHECK_EQUAL(statistics((struct mplace_lock_statistics *)(void *)bytes, sizeof bytes), 0);
    CHECK_EQUAL(bytes[sizeof counts], 0x5a); /* a newer caller's fields are left alone */
    memset(bytes, 0x5a, sizeof bytes);
    CHECK_EQUAL(statistics((struct mplace_lock_statistics *)(void *)bytes, 8), 0);
    CHECK_EQUAL(bytes[8], 0x5a); /* an older caller's struct is not overrun */
}

int main(int argument_count, char **arguments)
{
    struct mplace_lock_statistics counts;
    const char *(*name)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_name");
    const char *(*htm)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_htm");

    statistics = (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                         "mplace_lock_statistics");
    reset = (void (*)(void))dlsym(RTLD_DEFAULT, "mplace_lock_statistics_reset");
    CHECK(name != NULL && htm != NULL && statistics != NULL && reset != NULL);
    CHECK_EQUAL(argument_count, 2);
    CHECK(strcmp(name(), arguments[1]) == 0);
    CHECK(strcmp(htm(), "none") == 0 ||
          (strcmp(htm(), "native") == 0 && strcmp(name(), "ttstle") == 0));

    lock_pairs(NULL);
    CHECK_EQUAL(statistics(&counts, sizeof counts), ENODATA);
    check_many_threads();
    check_what_counts();
    check_child();
    check_signal_handler();
    check_arguments();
    return 0;
}
