/*
 * SPDX-License-Identifier: MIT
 *
 * vfork under libcia_malloc.so, which has one of its own: cia_vfork allocate | return | fail.
 */
#include "expect_child.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 16, BYTES = 200 };

static atomic_bool stop;
static atomic_uint corrupted;

static void run_on(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* where there is one CPU, both are there */
}

/* Takes blocks, marks them, and looks whether the marks are there still. */
static void take_and_check(uint64_t who, uint32_t rounds)
{
    volatile uint64_t *blocks[BLOCKS];

    for (uint32_t round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(BYTES);
            blocks[i][0] = blocks[i][3] = who << 48 | (uint64_t)round << 8 | i;
        }
        for (uint64_t i = 0; i < BLOCKS; i++) {
            if (blocks[i][0] != (who << 48 | (uint64_t)round << 8 | i) ||
                blocks[i][3] != blocks[i][0])
                atomic_fetch_add(&corrupted, 1);
            free((void *)blocks[i]);
        }
    }
}

static void *beside(void *argument)
{
    run_on(0);
    while (!atomic_load(&stop))
        take_and_check(1, 100);
    return argument;
}

/* The child goes to another CPU; the parent's thread stays where the parent was. */
static int allocate_in_the_child(void)
{
    pthread_t thread;
    int status;

    run_on(0);
    take_and_check(2, 1000);
    EXPECT(pthread_create(&thread, NULL, beside, NULL) == 0);
    pid_t child = vfork();
    if (child == 0) {
        run_on(1);
        for (time_t end = time(NULL) + 2; time(NULL) < end;)
            take_and_check(3, 100);
        _exit(7);
    }
    EXPECT(child > 0);
    take_and_check(2, 1000);
    atomic_store(&stop, true);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    EXPECT(atomic_load(&corrupted) == 0);
    return 0;
}

/* Deep enough that the child's calls overwrite what is below the caller's frame. */
static __attribute__((noinline)) int overwrite_the_stack(int depth)
{
    volatile char below[256];

    memset((void *)below, 0x5a, sizeof below);
    return depth == 0 ? below[7] : overwrite_the_stack(depth - 1) + below[9];
}

static int return_twice(void)
{
    volatile int seen = 0;

    for (volatile int round = 0; round < 100; round++) {
        pid_t child = vfork();

        if (child == 0) {
            pid_t grandchild = vfork();

            if (grandchild == 0)
                _exit(overwrite_the_stack(10) & 0);
            seen += grandchild > 0;
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        expect_clean_end(child);
    }
    EXPECT(seen == 100); /* the child runs on this memory */
    return 0;
}

static int fail_as_the_kernel_says(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};

    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    errno = 0;
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    EXPECT(child == -1);
    EXPECT(errno == EAGAIN);
    take_and_check(1, 1000);
    EXPECT(atomic_load(&corrupted) == 0);
    return 0;
}

int main(int count, char **arguments)
{
    EXPECT(count == 2);
    if (strcmp(arguments[1], "allocate") == 0)
        return allocate_in_the_child();
    if (strcmp(arguments[1], "return") == 0)
        return return_twice();
    EXPECT(strcmp(arguments[1], "fail") == 0);
    return fail_as_the_kernel_says();
}
