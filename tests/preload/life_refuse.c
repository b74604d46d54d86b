/*
 * SPDX-License-Identifier: MIT
 *
 * Runs a program for which the kernel refuses some system calls, from its first instruction on, as
 * in a sandbox: a seccomp filter stays across exec.
 *
 *   life_refuse ERRNO CALL[:BYTES]... -- PROGRAM [ARG...]
 *
 * CALL is the name of a call that an allocator or a lock may want; with BYTES it is refused if its
 * second argument, a length, is at least that. Exit status 77: no filter can be installed here.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RULES = 200, CANNOT = 77 };

static const struct {
    const char *name;
    uint32_t number;
} calls[] = {
    {"rseq", SYS_rseq},
    {"madvise", SYS_madvise},
    {"getcpu", SYS_getcpu},
    {"membarrier", SYS_membarrier},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"mbind", SYS_mbind},
    {"get_mempolicy", SYS_get_mempolicy},
    {"mincore", SYS_mincore},
    {"mremap", SYS_mremap},
    {"munmap", SYS_munmap},
    {"openat", SYS_openat},
    {"gettid", SYS_gettid},
    {"getrandom", SYS_getrandom},
    {"clock_gettime", SYS_clock_gettime},
    {"sched_yield", SYS_sched_yield},
    {"mmap", SYS_mmap},
};

static struct sock_filter rules[RULES];
static unsigned short rule_count;

static void add(struct sock_filter rule)
{
    if (rule_count == RULES) {
        fputs("life_refuse: too many calls\n", stderr);
        exit(2);
    }
    rules[rule_count++] = rule;
}

static void load(size_t offset)
{
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void refuse(uint32_t error)
{
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

/* Lengths are compared by their low half, where the high one is 0. */
static void refuse_call(const char *text, uint32_t error)
{
    const char *bytes = strchr(text, ':');
    size_t length = bytes != NULL ? (size_t)(bytes - text) : strlen(text);
    const size_t low = offsetof(struct seccomp_data, args[1]), high = low + 4;

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strlen(calls[i].name) != length || strncmp(calls[i].name, text, length) != 0)
            continue;
        load(offsetof(struct seccomp_data, nr));
        if (bytes == NULL) {
            add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1));
            refuse(error);
            return;
        }
        uint32_t least = (uint32_t)strtoul(bytes + 1, NULL, 10);
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 5));
        load(high);
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
        load(low);
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 1));
        refuse(error);
        return;
    }
    fprintf(stderr, "life_refuse: unknown call '%s'\n", text);
    exit(2);
}

int main(int count, char **arguments)
{
    uint32_t error;
    int at = 2;

    if (count < 5) {
        fputs("usage: life_refuse ERRNO CALL[:BYTES]... -- PROGRAM [ARG...]\n", stderr);
        return 2;
    }
    error = strcmp(arguments[1], "ENOSYS") == 0   ? ENOSYS
            : strcmp(arguments[1], "ENOMEM") == 0 ? ENOMEM
                                                  : EPERM;
    for (; at < count && strcmp(arguments[at], "--") != 0; at++)
        refuse_call(arguments[at], error);
    if (at + 1 >= count) {
        fputs("life_refuse: no program\n", stderr);
        return 2;
    }
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog filter = {.len = rule_count, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        fputs("life_refuse: no seccomp filter can be installed here\n", stderr);
        return CANNOT;
    }
    execv(arguments[at + 1], arguments + at + 1);
    fprintf(stderr, "life_refuse: %s: errno %d\n", arguments[at + 1], errno);
    return 1;
}
