/*
 * SPDX-License-Identifier: MIT
 *
 * A library that a program loads, calls once and may unload; see lock_report.c.
 */
#include <pthread.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void plugin_lock(pthread_mutex_t *mutex);

void plugin_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_lock(mutex) != 0)
        abort(); /* also keeps the call from being a jump */
}
