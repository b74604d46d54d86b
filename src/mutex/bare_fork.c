/*
 * SPDX-License-Identifier: MIT
 *
 * _Fork: libc's fork without the handlers of pthread_atfork, and so without ours. Looked up by a
 * constructor, for _Fork may be called in a signal handler and the look-up may not.
 */
#include "base/real_symbol.h"
#include "mutex/statistics/statistics.h"

#include <errno.h>
#include <unistd.h>

typedef pid_t fork_function(void);

static fork_function *next_fork;

__attribute__((constructor)) static void resolve(void)
{
    next_fork = (fork_function *)real_symbol("_Fork", NULL);
}

__attribute__((visibility("default"))) pid_t _Fork(void)
{
    if (next_fork == NULL)
        resolve();
    if (next_fork == NULL) {
        errno = ENOSYS;
        return -1;
    }
    pid_t child = next_fork();
    if (child == 0)
        statistics_restart_in_child();
    return child;
}
