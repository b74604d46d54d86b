/*
 * SPDX-License-Identifier: MIT
 *
 * The thread's own id; see thread_id.h. Touches the calling thread's storage only.
 */
#include "mutex/thread_id.h"

#include <stdbool.h>
#include <unistd.h>

__thread int thread_id_cached;

static __thread bool forking;

int thread_id_ask_kernel(void)
{
    int id = gettid();

    if (!forking)
        thread_id_cached = id;
    return id;
}

void thread_id_before_fork(void)
{
    forking = true;
    thread_id_forget();
}

void thread_id_after_fork(void)
{
    forking = false;
    thread_id_forget();
}
