/*
 * SPDX-License-Identifier: MIT
 *
 * See refusals_kernel.h.
 */
#include "refusals_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct refusals *plan;
_Thread_local unsigned long refused_here;

long refusals_raw(long number, long a, long b, long c, long d, long e, long f)
{
    register long d_ __asm__("r10") = d;
    register long e_ __asm__("r8") = e;
    register long f_ __asm__("r9") = f;
    long answer;

    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d_), "r"(e_), "r"(f_)
                     : "rcx", "r11", "memory");
    return answer;
}

static bool is_refused(unsigned kind)
{
    if (plan == NULL || plan->from == 0 || (plan->kinds & kind) == 0)
        return false;
    unsigned long made = ++plan->made, from = plan->from;
    if (from == 0 || made < from || made >= plan->to)
        return false;
    plan->refused++;
    refused_here++;
    return true;
}

/* The system call, or its refusal, as libc would return it. */
static long make(unsigned kind, int refusal, long number, long a, long b, long c, long d, long e,
                 long f)
{
    long answer = is_refused(kind) ? -refusal : refusals_raw(number, a, b, c, d, e, f);

    if (answer < 0 && answer > -4096) {
        errno = (int)-answer;
        return -1;
    }
    return answer;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)make(REFUSE_OTHERS, ENOMEM, SYS_mmap, (long)address, (long)bytes, protection,
                        flags, file, offset);
}

int munmap(void *address, size_t bytes)
{
    return (int)make(REFUSE_MUNMAP, ENOMEM, SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

int mprotect(void *address, size_t bytes, int protection)
{
    return (int)make(REFUSE_OTHERS, ENOMEM, SYS_mprotect, (long)address, (long)bytes, protection, 0,
                     0, 0);
}

int madvise(void *address, size_t bytes, int advice)
{
    return (int)make(REFUSE_MADVISE, EAGAIN, SYS_madvise, (long)address, (long)bytes, advice, 0, 0,
                     0);
}

void *mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list rest;
    void *to = NULL;

    va_start(rest, flags);
    if (flags & MREMAP_FIXED)
        to = va_arg(rest, void *);
    va_end(rest);
    return (void *)make(REFUSE_OTHERS, ENOMEM, SYS_mremap, (long)address, (long)old_bytes,
                        (long)new_bytes, flags, (long)to, 0);
}

long syscall(long number, ...)
{
    va_list rest;
    long value[6];

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(rest, long);
    va_end(rest);
    return make(REFUSE_OTHERS, EPERM, number, value[0], value[1], value[2], value[3], value[4],
                value[5]);
}

void refusals_open(void)
{
    void *shared =
        mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        fputs("refusals: no memory for the plan\n", stderr);
        exit(2);
    }
    plan = shared;
    plan->kinds = REFUSE_ALL;
}

void refusals_plan(unsigned long from, unsigned long width)
{
    plan->from = 0;
    plan->made = plan->refused = 0;
    plan->to = width == 0 ? (unsigned long)-1 : from + width;
    plan->from = from;
}

size_t refusals_resident(void)
{
    char text[128];
    size_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;

    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    if (sscanf(text, "%*u %zu", &pages) != 1) {
        dprintf(STDERR_FILENO, "refusals: cannot read /proc/self/statm\n");
        _exit(2);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
