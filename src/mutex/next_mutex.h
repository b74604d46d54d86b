/*
 * SPDX-License-Identifier: MIT
 *
 * The mutex functions behind this library, for the mutexes that are not ours: process-shared,
 * robust, priority-inheriting, priority-protected, destroyed.
 */
#ifndef MPLACE_NEXT_MUTEX_H
#define MPLACE_NEXT_MUTEX_H

#include <pthread.h>
#include <time.h>

int next_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int next_mutex_destroy(pthread_mutex_t *mutex);
int next_mutex_lock(pthread_mutex_t *mutex);
int next_mutex_trylock(pthread_mutex_t *mutex);
int next_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline);
int next_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline);
int next_mutex_unlock(pthread_mutex_t *mutex);
int next_mutex_consistent(pthread_mutex_t *mutex);
int next_mutex_getprioceiling(const pthread_mutex_t *mutex, int *ceiling);
int next_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *old);

/* Looks all of them up at once, so that no lock operation has to after the constructor ran. */
void next_mutex_resolve(void);

#endif
