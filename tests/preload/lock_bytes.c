/*
 * SPDX-License-Identifier: MIT
 *
 * The bytes of a mutex that debuggers, core dump readers and libc itself look at: kind, lock word,
 * owner, users and depth are what libc would have written there, free and held, also after a
 * condition wait.
 */
#include "lock_check.h"

#include <threads.h>

enum { NOT_HELD, HELD, HELD_TWICE };

/*
 * gettid is a system call: inside an elided section it aborts, and what follows is taken for real.
 * An elided section has no owner to show, so each look at a held mutex asks this first.
 */
static int my_id(void)
{
    return gettid();
}

static void check_bytes(pthread_mutex_t *mutex, int kind, int state)
{
    int me = my_id();

    CHECK_EQUAL(mutex->__data.__kind, kind);
    CHECK_EQUAL(mutex->__data.__lock != 0, state != NOT_HELD);
    CHECK_EQUAL(mutex->__data.__owner, state != NOT_HELD ? me : 0);
    CHECK_EQUAL(mutex->__data.__nusers, state != NOT_HELD);
    if (kind == PTHREAD_MUTEX_RECURSIVE)
        CHECK_EQUAL(mutex->__data.__count, state);
}

static void check_type(pthread_mutex_t *mutex, int kind)
{
    const struct timespec long_ago = {.tv_sec = 1};
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    check_bytes(mutex, kind, NOT_HELD);
    CHECK_EQUAL(pthread_mutex_lock(mutex), 0);
    check_bytes(mutex, kind, HELD);
    if (kind == PTHREAD_MUTEX_RECURSIVE) {
        CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
        check_bytes(mutex, kind, HELD_TWICE);
        CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    }
    CHECK_EQUAL(pthread_cond_timedwait(&condition, mutex, &long_ago), ETIMEDOUT);
    check_bytes(mutex, kind, HELD);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    check_bytes(mutex, kind, NOT_HELD);

    CHECK_EQUAL(pthread_mutex_trylock(mutex), 0);
    check_bytes(mutex, kind, HELD);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(mutex, &long_ago), 0);
    check_bytes(mutex, kind, HELD);
    CHECK_EQUAL(pthread_mutex_unlock(mutex), 0);
    check_bytes(mutex, kind, NOT_HELD);

    CHECK_EQUAL(pthread_mutex_destroy(mutex), 0);
    CHECK_EQUAL(mutex->__data.__kind, -1);
}

static void check_c11(int type, int kind)
{
    mtx_t mutex;

    CHECK_EQUAL(mtx_init(&mutex, type), thrd_success);
    check_bytes((pthread_mutex_t *)&mutex, kind, NOT_HELD);
    CHECK_EQUAL(mtx_lock(&mutex), thrd_success);
    check_bytes((pthread_mutex_t *)&mutex, kind, HELD);
    CHECK_EQUAL(mtx_unlock(&mutex), thrd_success);
    check_bytes((pthread_mutex_t *)&mutex, kind, NOT_HELD);
    mtx_destroy(&mutex);
    CHECK_EQUAL(((pthread_mutex_t *)&mutex)->__data.__kind, -1);
}

int main(void)
{
    enum { NO_ELISION = 512 }; /* libc's mark of an explicitly normal mutex, and of C11's */
    static const struct {
        int type, kind;
    } rows[] = {
        {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_NORMAL | NO_ELISION},
        {PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_ADAPTIVE_NP},
        {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_RECURSIVE},
        {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ERRORCHECK},
    };
    pthread_mutex_t mutex, zeroes;

    memset(&mutex, 0x5a, sizeof mutex);
    memset(&zeroes, 0, sizeof zeroes);
    CHECK_EQUAL(pthread_mutex_init(&mutex, NULL), 0);
    CHECK(memcmp(&mutex, &zeroes, sizeof mutex) == 0);
    check_type(&mutex, 0);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_mutex(&mutex, rows[i].type);
        check_type(&mutex, rows[i].kind);
    }
    check_c11(mtx_plain, NO_ELISION);
    check_c11(mtx_timed, NO_ELISION);
    check_c11(mtx_recursive, PTHREAD_MUTEX_RECURSIVE);
    return 0;
}
