/*
 * SPDX-License-Identifier: MIT
 *
 * Spin locks exclude: threads by the functions in front of libc and by libc's own, processes that
 * share the memory, and the child of fork that inherits one held.
 */
#include "rwlock_check.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 20000 };

struct spin_functions {
    int (*lock)(pthread_spinlock_t *);
    int (*try)(pthread_spinlock_t *);
    int (*unlock)(pthread_spinlock_t *);
};

struct shared {
    pthread_spinlock_t lock;
    volatile long count;
};

static const struct spin_functions in_front = {pthread_spin_lock, pthread_spin_trylock,
                                               pthread_spin_unlock};
static struct spin_functions behind;
static struct shared counted;

static void *try_it(void *argument)
{
    struct shared *shared = argument;
    int error = pthread_spin_trylock(&shared->lock);

    if (error == 0)
        CHECK_EQUAL(pthread_spin_unlock(&shared->lock), 0);
    return (void *)(long)error;
}

static void count(struct shared *shared, const struct spin_functions *functions)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 3 == 0) {
            while (functions->try(&shared->lock) != 0)
                sched_yield();
        } else {
            CHECK_EQUAL(functions->lock(&shared->lock), 0);
        }
        shared->count++;
        CHECK_EQUAL(functions->unlock(&shared->lock), 0);
    }
}

static void *count_in_front(void *shared)
{
    count(shared, &in_front);
    return NULL;
}

static void *count_behind(void *shared)
{
    count(shared, &behind);
    return NULL;
}

static void a_held_lock_is_busy_to_everybody(void)
{
    struct shared one;

    CHECK_EQUAL(pthread_spin_init(&one.lock, PTHREAD_PROCESS_PRIVATE), 0);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(round == 1 ? pthread_spin_trylock(&one.lock) : pthread_spin_lock(&one.lock), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &one), EBUSY);
        CHECK_EQUAL(pthread_spin_trylock(&one.lock), EBUSY);
        CHECK_EQUAL(behind.try(&one.lock), EBUSY);
        CHECK_EQUAL(pthread_spin_unlock(&one.lock), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &one), 0);
        CHECK_EQUAL(behind.lock(&one.lock), 0);
        CHECK_EQUAL(pthread_spin_trylock(&one.lock), EBUSY);
        CHECK_EQUAL(behind.unlock(&one.lock), 0);
    }
    CHECK_EQUAL(pthread_spin_destroy(&one.lock), 0);
}

static void threads_count_right(bool mixed)
{
    pthread_t threads[THREADS];

    counted.count = 0;
    CHECK_EQUAL(pthread_spin_init(&counted.lock, PTHREAD_PROCESS_PRIVATE), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(mixed && i % 2 ? count_behind : count_in_front, &counted);
    for (int i = 0; i < THREADS; i++)
        end_thread(threads[i]);
    CHECK_EQUAL(counted.count, THREADS * ROUNDS);
}

static void processes_count_right(void)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;

    if (getenv("MPLACE_HTM") != NULL)
        return; /* the emulator sees one process, and so no conflict between two */
    CHECK(shared != MAP_FAILED);
    CHECK_EQUAL(pthread_spin_init(&shared->lock, PTHREAD_PROCESS_SHARED), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    count(shared, child == 0 ? &behind : &in_front);
    if (child == 0)
        _exit(0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(shared->count, 2 * ROUNDS);
}

static void a_child_of_fork_unlocks_what_its_thread_held(void)
{
    struct shared one;
    int status;

    CHECK_EQUAL(pthread_spin_init(&one.lock, PTHREAD_PROCESS_PRIVATE), 0);
    CHECK_EQUAL(pthread_spin_lock(&one.lock), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQUAL(pthread_spin_trylock(&one.lock), EBUSY);
        CHECK_EQUAL(pthread_spin_unlock(&one.lock), 0);
        CHECK_EQUAL((long)elsewhere(try_it, &one), 0);
        _exit(0);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL((long)elsewhere(try_it, &one), EBUSY);
    CHECK_EQUAL(pthread_spin_unlock(&one.lock), 0);
}

int main(void)
{
    behind = (struct spin_functions){of_libc("pthread_spin_lock"), of_libc("pthread_spin_trylock"),
                                     of_libc("pthread_spin_unlock")};
    a_held_lock_is_busy_to_everybody();
    threads_count_right(false);
    threads_count_right(true);
    processes_count_right();
    a_child_of_fork_unlocks_what_its_thread_held();
    return 0;
}
