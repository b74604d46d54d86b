/*
 * SPDX-License-Identifier: MIT
 *
 * A rwlock that is held while a process forks or executes another program and while a thread is
 * cancelled, and one that two processes share.
 */
#include "rwlock_check.h"

#include <sys/mman.h>
#include <sys/wait.h>

static void await_child(pid_t child)
{
    int status;

    CHECK(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* Whether the library in front of libc serves rwlocks: libc's own unlock takes the child for a
 * reader. */
static bool served_in_front(void)
{
    return dlsym(RTLD_DEFAULT, "mplace_lock_name") != NULL;
}

static void a_child_of_fork_unlocks_what_its_thread_held(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    for (int writes = 0; writes < 2; writes++) {
        if (writes && !served_in_front())
            break;
        CHECK_EQUAL(writes ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock), 0);
        pid_t child = fork();
        if (child == 0) {
            (writes ? check_written : check_read)(&rwlock);
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            check_free(&rwlock);
            CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
            CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), EDEADLK);
            CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
            _exit(0);
        }
        (writes ? check_written : check_read)(&rwlock);
        await_child(child);
        (writes ? check_written : check_read)(&rwlock);
        CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
        check_free(&rwlock);
    }
}

/* Another thread's lock stays held in the child for good. */
static pthread_rwlock_t others;

static void *fork_elsewhere(void *unused)
{
    pid_t child = fork();

    if (child == 0) {
        CHECK_EQUAL(pthread_rwlock_tryrdlock(&others), EBUSY);
        CHECK_EQUAL(pthread_rwlock_trywrlock(&others), EBUSY);
        _exit(0);
    }
    await_child(child);
    return unused;
}

static void what_another_thread_held_stays_held_in_the_child(int kind)
{
    make_rwlock(&others, kind, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQUAL(pthread_rwlock_wrlock(&others), 0);
    elsewhere(fork_elsewhere, NULL);
    CHECK_EQUAL(pthread_rwlock_unlock(&others), 0);
}

static void unlock_it(void *rwlock)
{
    CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
}

static int inside; /* raised by the thread that holds the lock and sleeps */

static void *hold_with_cleanup(void *rwlock)
{
    pthread_cleanup_push(unlock_it, rwlock);
    CHECK_EQUAL(pthread_rwlock_wrlock(rwlock), 0);
    __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    pthread_cleanup_pop(1);
    return NULL;
}

static void *hold_without_cleanup(void *rwlock)
{
    CHECK_EQUAL(pthread_rwlock_rdlock(rwlock), 0);
    __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return NULL;
}

static void *read_it(void *rwlock)
{
    CHECK_EQUAL(pthread_rwlock_rdlock(rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(rwlock), 0);
    return NULL;
}

static void cancel_inside(pthread_t thread)
{
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
        sched_yield();
    inside = 0;
    CHECK_EQUAL(pthread_cancel(thread), 0);
    CHECK(end_thread(thread) == PTHREAD_CANCELED);
}

static void a_cancelled_thread_unlocks_in_its_handlers_and_nowhere_else(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    cancel_inside(start_thread(hold_with_cleanup, &rwlock));
    check_free(&rwlock);
    cancel_inside(start_thread(hold_without_cleanup, &rwlock));
    check_read(&rwlock);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    check_free(&rwlock);
}

/* Waiting for a rwlock is no point of cancellation in glibc: the thread gets the lock first. */
static void a_thread_that_waits_gets_the_lock_though_it_was_cancelled(int kind)
{
    pthread_rwlock_t rwlock;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
    pthread_t thread = start_thread(read_it, &rwlock);
    CHECK_EQUAL(pthread_cancel(thread), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    (void)end_thread(thread);
    check_free(&rwlock);
}

struct shared {
    pthread_rwlock_t rwlock;
    volatile long left, right;
};

static void count(struct shared *shared)
{
    for (int round = 0; round < 5000; round++) {
        CHECK_EQUAL(pthread_rwlock_wrlock(&shared->rwlock), 0);
        shared->left++;
        shared->right++;
        CHECK_EQUAL(pthread_rwlock_unlock(&shared->rwlock), 0);
        CHECK_EQUAL(pthread_rwlock_rdlock(&shared->rwlock), 0);
        long seen = shared->left;
        CHECK_EQUAL(shared->right, seen);
        CHECK_EQUAL(pthread_rwlock_unlock(&shared->rwlock), 0);
    }
}

static struct shared *share(int kind)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(shared != MAP_FAILED);
    make_rwlock(&shared->rwlock, kind, PTHREAD_PROCESS_SHARED);
    return shared;
}

static void processes_share_a_lock(int kind)
{
    struct shared *shared = share(kind);
    pid_t child = fork();

    count(shared);
    if (child == 0)
        _exit(0);
    await_child(child);
    CHECK_EQUAL(shared->left, 10000);
    CHECK_EQUAL(munmap(shared, sizeof *shared), 0);
}

/* exec ends the holder's section nowhere: a lock that others share stays held. */
static void a_lock_held_by_a_program_that_executes_another_stays_held(int kind)
{
    struct shared *shared = share(kind);
    pid_t child = fork();

    if (child == 0) {
        CHECK_EQUAL(pthread_rwlock_wrlock(&shared->rwlock), 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    await_child(child);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&shared->rwlock), EBUSY);
    CHECK_EQUAL(munmap(shared, sizeof *shared), 0);
}

int main(void)
{
    for (int i = 0; i < RWLOCK_KINDS; i++) {
        a_child_of_fork_unlocks_what_its_thread_held(rwlock_kinds[i]);
        what_another_thread_held_stays_held_in_the_child(rwlock_kinds[i]);
        a_cancelled_thread_unlocks_in_its_handlers_and_nowhere_else(rwlock_kinds[i]);
        a_thread_that_waits_gets_the_lock_though_it_was_cancelled(rwlock_kinds[i]);
        processes_share_a_lock(rwlock_kinds[i]);
        a_lock_held_by_a_program_that_executes_another_stays_held(rwlock_kinds[i]);
    }
    return 0;
}
