/*
 * SPDX-License-Identifier: MIT
 *
 * Takes membarrier(2) away from the calling thread and those it makes.
 */
#ifndef TM_WITHOUT_MEMBARRIER_H
#define TM_WITHOUT_MEMBARRIER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Filters the calls of this thread and of those it makes. False: no seccomp here. */
static inline bool system_call_filter_set(struct sock_filter *filter, unsigned short length)
{
    struct sock_fprog program = {.len = length, .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The call fails, or ends the process. False: no seccomp here. */
static inline bool take_membarrier_away(bool kill)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    return system_call_filter_set(filter, sizeof filter / sizeof *filter);
}

/* The call fails with any flag. False: no seccomp here. */
static inline bool take_flags_of_membarrier_away(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    return system_call_filter_set(filter, sizeof filter / sizeof *filter);
}

#endif
