/*
 * SPDX-License-Identifier: MIT
 *
 * A program without rights locks all of its memory, present and future, under a limit of 8 MiB, as
 * one that keeps secrets or has deadlines does; and goes on to allocate a little. On one CPU: each
 * CPU's sub-heap takes some of that limit.
 */
#include "expect.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
    enum { BLOCKS = 100, NOBODY = 65534 };
    struct rlimit limit = {.rlim_cur = 8 << 20, .rlim_max = 8 << 20};
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
    free(malloc(100));
    EXPECT(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    /* The limit does not hold for root. */
    EXPECT(getuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
    EXPECT(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        char *block = malloc(100 + i);

        EXPECT(block != NULL);
        memset(block, 1, 100 + i);
    }
    return 0;
}
