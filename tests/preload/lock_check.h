/*
 * SPDX-License-Identifier: MIT
 *
 * What the lock_* programs share. Each of them states POSIX's and glibc's promises about mutexes
 * and runs without any library, under libtts_lock.so and under libttstle_lock.so, with each
 * TTS_WAIT: the same source must pass everywhere. Exit 0: all promises held; 1: one line says which
 * did not; 77: nothing could be tried here, one line says why.
 */
#ifndef MPLACE_LOCK_CHECK_H
#define MPLACE_LOCK_CHECK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

/* Also safe in the child of fork and in threads: one write, then out. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define CHECK_EQUAL(expression, expected)                                                          \
    do {                                                                                           \
        long got_ = (long)(expression), want_ = (long)(expected);                                  \
        if (got_ != want_) {                                                                       \
            dprintf(STDERR_FILENO, "%s:%d: %s is %ld, not %s (%ld)\n", __FILE__, __LINE__,         \
                    #expression, got_, #expected, want_);                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline struct timespec time_from_now(clockid_t clock, long milliseconds)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += milliseconds % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static inline bool time_has_come(clockid_t clock, const struct timespec *time)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

static inline void make_mutex(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;

    CHECK_EQUAL(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQUAL(pthread_mutex_init(mutex, &attributes), 0);
    CHECK_EQUAL(pthread_mutexattr_destroy(&attributes), 0);
}

static inline pthread_t start_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;

    CHECK_EQUAL(pthread_create(&thread, NULL, function, argument), 0);
    return thread;
}

static inline void *end_thread(pthread_t thread)
{
    void *result;

    CHECK_EQUAL(pthread_join(thread, &result), 0);
    return result;
}

/* Runs the function in another thread and returns what it returned. */
static inline void *elsewhere(void *(*function)(void *), void *argument)
{
    return end_thread(start_thread(function, argument));
}

#endif
