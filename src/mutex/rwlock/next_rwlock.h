/*
 * SPDX-License-Identifier: MIT
 *
 * The rwlock functions behind this library: all of the protocol, for process-shared rwlocks and for
 * whatever waits, wakes or hands over.
 */
#ifndef MPLACE_NEXT_RWLOCK_H
#define MPLACE_NEXT_RWLOCK_H

#include "mutex/rwlock/rwlock_layout.h"

#include <time.h>

int next_rwlock_lock(pthread_rwlock_t *rwlock, enum rwlock_side side);
int next_rwlock_trylock(pthread_rwlock_t *rwlock, enum rwlock_side side);
int next_rwlock_timedlock(pthread_rwlock_t *rwlock, enum rwlock_side side,
                          const struct timespec *deadline);
int next_rwlock_clocklock(pthread_rwlock_t *rwlock, enum rwlock_side side, clockid_t clock,
                          const struct timespec *deadline);
int next_rwlock_unlock(pthread_rwlock_t *rwlock);

/* Looks all of them up at once, so that no lock operation has to after the constructor ran. */
void next_rwlock_resolve(void);

#endif
