/*
 * SPDX-License-Identifier: MIT
 *
 * See stats.h.
 */
#include "stats.h"

struct stats stats;
struct thread_stats thread_stats[THREADS_MOST];
unsigned verbose;

void stats_init(void)
{
    for (int i = 0; i < THREADS_MOST; i++)
        pthread_mutex_init(&thread_stats[i].mutex, NULL);
}
