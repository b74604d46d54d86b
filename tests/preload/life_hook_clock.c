/*
 * SPDX-License-Identifier: MIT
 *
 * Stands before libc's clock_gettime, and allocates in it, as libfaketime does where the name of a
 * function that it looks for is not found.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)dlsym(RTLD_NEXT, "no_such_function");
    for (size_t bytes = 16; bytes < 2000000; bytes *= 5)
        free(malloc(bytes));
    return (int)syscall(SYS_clock_gettime, clock, time);
}
