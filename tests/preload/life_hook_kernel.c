/*
 * SPDX-License-Identifier: MIT
 *
 * Stands before libc's functions for files, pages, signals and facts of the system, and allocates
 * in each, as fakechroot does in open when it is first called. (get_nprocs_conf allocates in libc
 * itself before glibc 2.36.)
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static void allocate(void)
{
    for (size_t bytes = 16; bytes < 2000000; bytes *= 5)
        free(malloc(bytes));
}

int open(const char *path, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    allocate();
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    allocate();
    return syscall(SYS_read, fd, buffer, bytes);
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t offset)
{
    allocate();
    return syscall(SYS_pread64, fd, buffer, bytes, offset);
}

ssize_t write(int fd, const void *buffer, size_t bytes)
{
    allocate();
    return syscall(SYS_write, fd, buffer, bytes);
}

int close(int fd)
{
    allocate();
    return (int)syscall(SYS_close, fd);
}

int fstat(int fd, struct stat *status)
{
    allocate();
    return (int)syscall(SYS_fstat, fd, status);
}

ssize_t readlink(const char *restrict path, char *restrict buffer, size_t bytes)
{
    allocate();
    return syscall(SYS_readlink, path, buffer, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    allocate();
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t bytes)
{
    allocate();
    return (int)syscall(SYS_munmap, address, bytes);
}

void *mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    void *place = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    allocate();
    return (void *)syscall(SYS_mremap, address, old_bytes, new_bytes, flags, place);
}

int madvise(void *address, size_t bytes, int advice)
{
    allocate();
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

int mprotect(void *address, size_t bytes, int protection)
{
    allocate();
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;

    va_start(arguments, command);
    long argument = va_arg(arguments, long); /* of every command, if it has one */
    va_end(arguments);
    allocate();
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int sigpending(sigset_t *set)
{
    allocate();
    return (int)syscall(SYS_rt_sigpending, set, 8);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    allocate();
    return syscall(SYS_rt_sigprocmask, how, set, before, 8) == 0 ? 0 : errno;
}

int sched_yield(void)
{
    allocate();
    return (int)syscall(SYS_sched_yield);
}

uid_t geteuid(void)
{
    allocate();
    return (uid_t)syscall(SYS_geteuid);
}

pid_t getpid(void)
{
    allocate();
    return (pid_t)syscall(SYS_getpid);
}

pid_t getppid(void)
{
    allocate();
    return (pid_t)syscall(SYS_getppid);
}

int sysinfo(struct sysinfo *info)
{
    allocate();
    return (int)syscall(SYS_sysinfo, info);
}

int get_nprocs_conf(void)
{
    allocate();
    return 1;
}
