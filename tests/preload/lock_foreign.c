/*
 * SPDX-License-Identifier: MIT
 *
 * The mutexes that are the C library's alone: process-shared, robust, priority-inheriting,
 * priority-protected. They keep their whole behaviour, also between processes of which only one has
 * a lock library loaded (the child below is started anew without LD_PRELOAD), and in condition
 * waits.
 */
#include "lock_check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const struct timespec long_ago = {.tv_sec = 1};

static void *try_it(void *mutex)
{
    return (void *)(long)pthread_mutex_trylock(mutex);
}

static void *die_with_it(void *mutex)
{
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    return NULL;
}

static void set_up(pthread_mutex_t *mutex, int robust, int protocol, int shared, int type)
{
    pthread_mutexattr_t attributes;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, robust), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
    CHECK_EQUAL(pthread_mutexattr_setpshared(&attributes, shared), 0);
    CHECK_EQUAL(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQUAL(pthread_mutex_init(mutex, &attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_destroy(&attributes), 0);
}

static void check_basics(pthread_mutex_t *mutex, bool robust)
{
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    if (!robust) /* glibc's destroy does not ask whether a robust one is held */
        CHECK_EQUAL(pthread_mutex_destroy(mutex), EBUSY);
    CHECK_EQUAL(pthread_cond_timedwait(&condition, mutex, &long_ago), ETIMEDOUT);
    CHECK_EQUAL(elsewhere(try_it, mutex), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &long_ago), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &long_ago), 0);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
}

static void check_robust(int protocol, int shared)
{
    pthread_mutex_t mutex;

    set_up(&mutex, PTHREAD_MUTEX_ROBUST, protocol, shared, PTHREAD_MUTEX_ERRORCHECK);
    check_basics(&mutex, true);
    elsewhere(die_with_it, &mutex);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_lock(&mutex), EDEADLK);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    elsewhere(die_with_it, &mutex);
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0); /* not made consistent: lost for ever */
    CHECK_EQUAL(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

static void check_protected(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    int ceiling = -1, old = -1;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT), 0);
    CHECK_EQUAL(pthread_mutexattr_setprioceiling(&attributes, 7), 0);
    CHECK_EQUAL(pthread_mutex_init(&mutex, &attributes), 0);
    CHECK_EQUAL(pthread_mutex_getprioceiling(&mutex, &ceiling), 0);
    CHECK_EQUAL(ceiling, 7);
    /* Locking raises the priority to the ceiling, which only a real-time thread can follow. */
    const struct sched_param real_time = {.sched_priority = 1}, usual = {.sched_priority = 0};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time) == 0) {
        CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
        CHECK_EQUAL(elsewhere(try_it, &mutex), EBUSY);
        CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQUAL(pthread_mutex_setprioceiling(&mutex, 9, &old), 0);
        CHECK_EQUAL(old, 7);
        CHECK_EQUAL(pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual), 0);
    } else {
        printf("no right to real-time scheduling: the ceiling is only read\n");
        CHECK(pthread_mutex_lock(&mutex) != 0);
    }
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
}

/* ---- two processes ---- */

struct shared_page {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_mutex_t robust;
    long counted;
    int turn; /* 0 the parent's, 1 the child's */
};
enum { COUNTS = 3000, TURNS = 200 };

static void take_turns(struct shared_page *page, int me)
{
    for (int i = 0; i < COUNTS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&page->mutex), 0);
        page->counted++;
        CHECK_EQUAL(pthread_mutex_unlock(&page->mutex), 0);
    }
    for (int i = 0; i < TURNS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&page->mutex), 0);
        while (page->turn != me)
            CHECK_EQUAL(pthread_cond_wait(&page->condition, &page->mutex), 0);
        page->turn = !me;
        CHECK_EQUAL(pthread_cond_signal(&page->condition), 0);
        CHECK_EQUAL(pthread_mutex_unlock(&page->mutex), 0);
    }
}

static void check_between_processes(const char *program)
{
    pthread_condattr_t attributes;
    char number[16];
    int status;
    int fd = memfd_create("page", 0);

    CHECK(fd >= 0 && ftruncate(fd, sizeof(struct shared_page)) == 0);
    struct shared_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    set_up(&page->mutex, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED,
           PTHREAD_MUTEX_DEFAULT);
    set_up(&page->robust, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED,
           PTHREAD_MUTEX_DEFAULT);
    CHECK_EQUAL(pthread_condattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQUAL(pthread_cond_init(&page->condition, &attributes), 0);

    snprintf(number, sizeof number, "%d", fd);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        execl(program, program, number, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    take_turns(page, 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(page->counted, 2L * COUNTS);
    /* The child died with this one in its hands. */
    CHECK_EQUAL(pthread_mutex_lock(&page->robust), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(&page->robust), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&page->robust), 0);
    CHECK_EQUAL(munmap(page, sizeof *page), 0);
    close(fd);
}

static int be_the_child(const char *number)
{
    struct shared_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(number), 0);

    CHECK(page != MAP_FAILED);
    take_turns(page, 1);
    CHECK_EQUAL(pthread_mutex_lock(&page->robust), 0);
    return 0;
}

int main(int argument_count, char **arguments)
{
    pthread_mutex_t mutex;

    if (argument_count > 1)
        return be_the_child(arguments[1]);

    for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ADAPTIVE_NP; type++) {
        set_up(&mutex, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED, type);
        check_basics(&mutex, false);
        CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);
    }
    set_up(&mutex, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE,
           PTHREAD_MUTEX_DEFAULT);
    check_basics(&mutex, false);
    CHECK_EQUAL(pthread_mutex_destroy(&mutex), 0);

    check_robust(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    check_robust(PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    check_robust(PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
    check_protected();
    check_between_processes(arguments[0]);
    return 0;
}
