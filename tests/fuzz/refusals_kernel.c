/*
 * SPDX-License-Identifier: MIT
 *
 * See refusals_kernel.h. seccomp_unotify(2): the process that is asked is under the filter too, and
 * so makes none of these calls.
 */
#include "refusals_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CANNOT = 77 };

struct refusals *plan;

/* What is stopped, and the error of its refusal. */
static const struct call {
    unsigned number, kind;
    int error;
} calls[] = {
    {SYS_mmap, REFUSE_OTHERS, ENOMEM},      {SYS_munmap, REFUSE_MUNMAP, ENOMEM},
    {SYS_mremap, REFUSE_OTHERS, ENOMEM},    {SYS_mprotect, REFUSE_OTHERS, ENOMEM},
    {SYS_madvise, REFUSE_MADVISE, EAGAIN},  {SYS_mlock, REFUSE_OTHERS, EPERM},
    {SYS_mbind, REFUSE_OTHERS, EPERM},      {SYS_get_mempolicy, REFUSE_OTHERS, EPERM},
    {SYS_move_pages, REFUSE_OTHERS, EPERM}, {SYS_membarrier, REFUSE_OTHERS, EPERM},
    {SYS_openat, REFUSE_OTHERS, EPERM},     {SYS_getrandom, REFUSE_OTHERS, EPERM},
};
enum { CALLS = sizeof calls / sizeof *calls };

static atomic_ulong *refused_of(pid_t thread)
{
    return &plan->refused_of[(unsigned)thread % REFUSALS_THREADS];
}

unsigned long refusals_here(void)
{
    return *refused_of(gettid());
}

static bool is_refused(unsigned kind)
{
    unsigned long from = plan->from;

    if (from == 0 || (plan->kinds & kind) == 0)
        return false;
    unsigned long made = ++plan->made;
    return made >= from && made < plan->to;
}

/* The error of a stopped call, or 0 for one that the kernel shall make. */
static int judge(const struct seccomp_notif *asked)
{
    const struct call *call = calls;

    while (call->number != (unsigned)asked->data.nr)
        call++;
    if (call->number == SYS_mmap && (int)asked->data.args[4] == REFUSALS_UNCOUNTED)
        return 0;
    if (!is_refused(call->kind))
        return 0;
    plan->refused++;
    ++*refused_of((pid_t)asked->pid);
    return call->error;
}

static _Noreturn void answer(int listener)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        struct seccomp_notif asked = {0};
        struct seccomp_notif_resp told = {0};

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
            continue; /* who asked was killed */
        told.id = asked.id;
        told.error = -judge(&asked);
        if (told.error == 0)
            told.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &told);
    }
}

static int install_filter(void)
{
    struct sock_filter rules[2 * CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.len = 1, .filter = rules};

    for (int i = 0; i < CALLS; i++) {
        rules[program.len++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
        rules[program.len++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    rules[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

void refusals_open(void)
{
    void *shared =
        mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int listener = shared != MAP_FAILED ? install_filter() : -1;
    pid_t judge_process;

    if (listener < 0) {
        fputs("skipped: no filter of system calls can ask another process here\n", stderr);
        exit(CANNOT);
    }
    plan = shared;
    plan->kinds = REFUSE_ALL;
    judge_process = _Fork(); /* without handlers of fork, which make such calls */
    if (judge_process == 0)
        answer(listener);
    if (judge_process < 0)
        exit(2);
    close(listener);
}

bool refusals_are_promised(void)
{
    return dlsym(RTLD_DEFAULT, "mplace_malloc_name") != NULL;
}

void refusals_plan(unsigned long from, unsigned long width)
{
    plan->from = 0;
    plan->made = plan->refused = 0;
    plan->to = width == 0 ? (unsigned long)-1 : from + width;
    plan->from = refusals_are_promised() ? from : 0;
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
