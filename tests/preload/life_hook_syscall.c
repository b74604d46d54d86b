/*
 * SPDX-License-Identifier: MIT
 *
 * Stands before libc's syscall with a lock of its own, which it has while it allocates for the
 * first time, as uid_wrapper does: that must not come by syscall.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take(void)
{
    while (atomic_flag_test_and_set(&lock))
        ;
}

/* Before anybody else allocates, as far as the order of constructors goes. */
__attribute__((constructor)) static void begin(void)
{
    take();
    for (size_t bytes = 16; bytes < 2000000; bytes *= 5)
        free(malloc(bytes));
    atomic_flag_clear(&lock);
}

long syscall(long number, ...);

long syscall(long number, ...)
{
    va_list arguments;
    long a[5], result;
    register long r10 __asm__("r10"), r8 __asm__("r8");

    va_start(arguments, number);
    for (int i = 0; i < 5; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    take();
    r10 = a[3];
    r8 = a[4];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    atomic_flag_clear(&lock);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
