/*
 * SPDX-License-Identifier: MIT
 *
 * The thread's own id; see thread_id.h. Touches the calling thread's storage only.
 */
#include "mutex/thread_id.h"

#include <unistd.h>

__thread int thread_id_cached;

int thread_id_ask_kernel(void)
{
    thread_id_cached = gettid();
    return thread_id_cached;
}
