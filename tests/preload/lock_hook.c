/*
 * SPDX-License-Identifier: MIT
 *
 * Stands before libc's clock_gettime, mmap, munmap, getpid and tgkill with one mutex around all of
 * them, under which it allocates, as libfaketime does. Whoever calls one of them while it holds
 * that mutex waits for itself. lock_hooked.c is the program.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The program's as well as the library's. */
extern pthread_mutex_t lock_hook_mutex;
pthread_mutex_t lock_hook_mutex = PTHREAD_MUTEX_INITIALIZER;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    pthread_mutex_lock(&lock_hook_mutex);
    free(malloc(100));
    long result = syscall(number, a, b, c, d, e, f);
    int error = errno;
    pthread_mutex_unlock(&lock_hook_mutex);
    errno = error;
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    return (int)call(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)call(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length)
{
    return (int)call(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0);
}

pid_t getpid(void)
{
    return (pid_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

int tgkill(pid_t process, pid_t thread, int signal)
{
    return (int)call(SYS_tgkill, process, thread, signal, 0, 0, 0);
}
