/*
 * SPDX-License-Identifier: MIT
 *
 * Children of fork in the programs that use EXPECT.
 */
#ifndef MPLACE_EXPECT_CHILD_H
#define MPLACE_EXPECT_CHILD_H

#include "expect.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* In the child: one that hangs dies by SIGALRM, and with its parent; either is seen as a failure.
 */
static inline void begin_child(unsigned seconds)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    alarm(seconds);
}

/* Waits for it. Interrupted waits go on: several programs have a timer that fires all the time. */
static inline void expect_clean_end(pid_t child)
{
    int status;

    EXPECT(child > 0);
    while (waitpid(child, &status, 0) < 0)
        EXPECT(errno == EINTR);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
