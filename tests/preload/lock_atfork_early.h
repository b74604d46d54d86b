/*
 * SPDX-License-Identifier: MIT
 *
 * What lock_atfork_early.c leaves behind for lock_atfork.c: held, the second one twice, by the
 * thread that forked, in both processes.
 */
#ifndef MPLACE_LOCK_ATFORK_EARLY_H
#define MPLACE_LOCK_ATFORK_EARLY_H

#include <pthread.h>

extern pthread_mutex_t early_error_check __attribute__((visibility("default")));
extern pthread_mutex_t early_recursive __attribute__((visibility("default")));

#endif
