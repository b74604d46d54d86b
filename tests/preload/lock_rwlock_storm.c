/*
 * SPDX-License-Identifier: MIT
 *
 * Readers never see a writer's change half done, writers never lose one, and nobody waits for ever:
 * threads that lock the same rwlock in every way there is, for every kind, some of them by libc's
 * own functions, which no library in front of libc sees. A wake-up that is lost shows as a hang,
 * which the test's time-out reports.
 */
#include "rwlock_check.h"

enum { THREADS = 6, ROUNDS = 3000 };

static pthread_rwlock_t rwlock;
static volatile long left, right; /* equal whenever nobody writes */

struct functions {
    int (*read)(pthread_rwlock_t *);
    int (*write)(pthread_rwlock_t *);
    int (*try_read)(pthread_rwlock_t *);
    int (*try_write)(pthread_rwlock_t *);
    int (*timed_read)(pthread_rwlock_t *, const struct timespec *);
    int (*timed_write)(pthread_rwlock_t *, const struct timespec *);
    int (*unlock)(pthread_rwlock_t *);
};

static const struct functions in_front = {pthread_rwlock_rdlock,      pthread_rwlock_wrlock,
                                          pthread_rwlock_tryrdlock,   pthread_rwlock_trywrlock,
                                          pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock,
                                          pthread_rwlock_unlock};
static struct functions behind;

struct worker {
    const struct functions *functions;
    unsigned long seed;
    long written;
    bool timed_writers;
};

static unsigned next_number(struct worker *worker)
{
    worker->seed = worker->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(worker->seed >> 33);
}

static void check_section(void)
{
    long seen = left;

    CHECK_EQUAL(right, seen);
}

static void change(struct worker *worker)
{
    long seen = left;

    left = seen + 1;
    CHECK_EQUAL(right, seen);
    right = seen + 1;
    worker->written++;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct functions *f = worker->functions;

    for (int round = 0; round < ROUNDS; round++) {
        struct timespec soon = time_from_now(CLOCK_REALTIME, next_number(worker) % 3);
        unsigned way = next_number(worker) % 8;
        int error;

        if (way < 4) {
            error = way < 2    ? f->read(&rwlock)
                    : way == 2 ? f->try_read(&rwlock)
                               : f->timed_read(&rwlock, &soon);
            if (error == 0)
                check_section();
        } else {
            error = way == 6                            ? f->try_write(&rwlock)
                    : way == 7 && worker->timed_writers ? f->timed_write(&rwlock, &soon)
                                                        : f->write(&rwlock);
            if (error == 0)
                change(worker);
        }
        CHECK(error == 0 || error == (way % 4 == 2 ? EBUSY : ETIMEDOUT));
        if (error != 0)
            continue;
        if (next_number(worker) % 64 == 0)
            sched_yield();
        CHECK_EQUAL(f->unlock(&rwlock), 0);
    }
    return NULL;
}

static void storm(int kind, bool mixed)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    long written = 0;

    make_rwlock(&rwlock, kind, PTHREAD_PROCESS_PRIVATE);
    left = right = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.functions = mixed && i % 2 ? &behind : &in_front,
                                     .seed = (unsigned long)(i + 1),
                                     /* libc's own lose a wake-up elsewhere: docs/trust.md */
                                     .timed_writers = kind == PTHREAD_RWLOCK_PREFER_READER_NP};
        threads[i] = start_thread(work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        end_thread(threads[i]);
        written += workers[i].written;
    }
    CHECK_EQUAL(left, written);
    CHECK_EQUAL(right, written);
    check_free(&rwlock);
    CHECK_EQUAL(rwlock.__data.__writers, 0);
    CHECK_EQUAL(rwlock.__data.__cur_writer, 0);
    CHECK_EQUAL(rwlock.__data.__writers_futex, 0);
    CHECK_EQUAL(rwlock.__data.__readers >> 1, 0);
    CHECK_EQUAL(pthread_rwlock_destroy(&rwlock), 0);
}

int main(void)
{
    behind = (struct functions){
        of_libc("pthread_rwlock_rdlock"),      of_libc("pthread_rwlock_wrlock"),
        of_libc("pthread_rwlock_tryrdlock"),   of_libc("pthread_rwlock_trywrlock"),
        of_libc("pthread_rwlock_timedrdlock"), of_libc("pthread_rwlock_timedwrlock"),
        of_libc("pthread_rwlock_unlock")};
    for (int i = 0; i < RWLOCK_KINDS; i++) {
        storm(rwlock_kinds[i], false);
        storm(rwlock_kinds[i], true);
    }
    return 0;
}
