/*
 * SPDX-License-Identifier: MIT
 *
 * See thread.h.
 */
#include "tm_runtime/thread.h"

#include "base/report.h"

#include <stdlib.h>

__thread struct tm_thread *tm_self;

static struct tm_thread *all;

struct tm_thread *thread_first(void)
{
    return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

void thread_add(struct tm_thread *thread)
{
    thread->next = all;
    /* Release: with it, its fields, for those that walk the list. */
    __atomic_store_n(&all, thread, __ATOMIC_RELEASE);
}

void tm_fatal(const char *what)
{
    report_line("mplace: libtm_runtime.so: %s", what);
    abort();
}
