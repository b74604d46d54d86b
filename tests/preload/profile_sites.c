/*
 * SPDX-License-Identifier: MIT
 *
 * Allocates from three functions that a profile must name, and ends as the argument says:
 *   kept       half of what first_site and all of what second_site and third_site got is live
 *   freed      nothing is
 *   unregistered  the same as kept, by a thread whose rseq area is taken from the kernel before
 *   every      as freed, by every function of the malloc family, and from deep stacks
 *   fork       the same as kept, and a child frees what first_site got before it ends
 *   raw-fork   as fork, with a child that no handler of a fork runs in
 *   fork-while-writing  as kept, and from deep stacks, and while its end writes the profile, a byte
 *              on standard input makes a child like that, which sends itself the signal of the
 *              second argument
 *   signal     as kept, after it sent itself the signal of the second argument
 *   cancelled  as signal, to a thread that is cancelled already, which ends the process
 *   while-busy as kept, and 40,000 other stacks; then, while other threads are busy, one that gets
 *              little of a CPU has the signal of the second argument
 *   quick      as kept, but by _exit
 *   same-set   blocks of which one in 64 is kept, all in one L1 set
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST = 4000, SECOND = 2000, THIRD = 100, MANY = 8192 };

static char *first[FIRST], *second[SECOND], *third[THIRD], *many[MANY];

__attribute__((noinline)) static void first_site(void)
{
    for (int i = 0; i < FIRST; i++)
        first[i] = malloc(1000);
}

__attribute__((noinline)) static void second_site(void)
{
    for (int i = 0; i < SECOND; i++)
        second[i] = calloc(3, 500);
}

__attribute__((noinline)) static void third_site(void)
{
    for (int i = 0; i < THIRD; i++)
        third[i] = realloc(malloc(10), 100000);
}

static void free_all(char **blocks, int count, int step)
{
    for (int i = 0; i < count; i += step) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void free_the_rest(void)
{
    free_all(first, FIRST, 1);
    free_all(second, SECOND, 1);
    free_all(third, THIRD, 1);
}

/* Blocks of each kind, aligned and long ones, grown and shrunk. */
__attribute__((noinline)) static void call_every_function(void)
{
    for (size_t bytes = 0; bytes < 4000000; bytes = bytes * 3 / 2 + 1) {
        void *aligned = NULL;
        char *block = malloc(bytes);

        if (posix_memalign(&aligned, 256, bytes) == 0)
            free(aligned);
        free(memalign(64, bytes));
        free(aligned_alloc(4096, bytes));
        free(valloc(bytes));
        free(pvalloc(bytes));
        free(calloc(bytes, 1));
        block = realloc(block, bytes + 1);
        block = realloc(block, 2 * bytes + 1000000);
        block = reallocarray(block, 3, bytes + 1000000);
        memset(block, 1, malloc_usable_size(block));
        block = realloc(block, bytes / 2 + 1);
        free(block);
    }
}

/* A stack for each depth, more of them than a file's first block has room for, some cut. */
__attribute__((noinline)) static void call_at_depth(int depth)
{
    if (depth > 0)
        call_at_depth(depth - 1);
    else
        free(malloc(100));
    __asm__ volatile(""); /* no tail call */
}

/* On one CPU: each CPU's blocks go around the sets by themselves. */
__attribute__((noinline)) static void same_set(void)
{
    uintptr_t set = 0;
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    if (sched_setaffinity(0, sizeof here, &here) != 0)
        abort();
    for (int i = 0; i < MANY; i++)
        many[i] = malloc(512);
    set = (uintptr_t)many[0] / 64 % 64;
    for (int i = 0; i < MANY; i++) {
        if ((uintptr_t)many[i] / 64 % 64 != set)
            free(many[i]);
    }
}

__attribute__((noinline)) static void mapping_site(void)
{
    volatile size_t beyond_all = (size_t)3 << 62;

    if (malloc(beyond_all) != NULL)
        abort();
    first[0] = malloc(2000000);
    if (realloc(first[0], PTRDIFF_MAX / 4) != NULL)
        abort();
}

static void allocate_and_free_some(void)
{
    first_site();
    second_site();
    third_site();
    free_all(first, FIRST, 2);
}

static void *allocate_unregistered(void *nothing)
{
    enum { AREA_BYTES = 32, UNREGISTER = 1, SIGNATURE = 0x53053053 };
    extern const ptrdiff_t __rseq_offset __attribute__((weak));

    if (&__rseq_offset != NULL)
        (void)syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, AREA_BYTES,
                      UNREGISTER, SIGNATURE);
    allocate_and_free_some();
    return nothing;
}

static void *fork_when_told(void *signal)
{
    char byte;

    if (read(STDIN_FILENO, &byte, 1) == 1 && syscall(SYS_fork) == 0) {
        kill(getpid(), *(const int *)signal); /* raise takes the thread for its parent's */
        _exit(0);
    }
    (void)wait(NULL);
    _exit(0);
}

static atomic_bool is_cancelled;

/* Has no point of cancellation of its own. */
static void *exit_when_cancelled(void *signal)
{
    while (!atomic_load(&is_cancelled))
        ;
    (void)pthread_kill(pthread_self(), *(const int *)signal);
    exit(0);
}

static void *be_busy(void *nothing)
{
    enum { SECONDS = 3 };
    time_t end = time(NULL) + SECONDS;

    while (time(NULL) <= end)
        ;
    return nothing;
}

/* Its own nice value: Linux has one for each thread. */
static void *be_slow_and_busy(void *nothing)
{
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 12);
    return be_busy(nothing);
}

/* A stack of its own for each number of so many bits: each bit chooses one of two calls. */
__attribute__((noinline)) static void call_by_number(unsigned number, unsigned bits)
{
    if (bits == 0) {
        free(malloc(100));
    } else if ((number >> (bits - 1)) % 2 != 0) {
        call_by_number(number, bits - 1);
        __asm__ volatile("nop"); /* two calls stay two */
    } else {
        call_by_number(number, bits - 1);
    }
    __asm__ volatile(""); /* no tail call */
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";

    if (strcmp(how, "same-set") == 0) {
        same_set();
        return 0;
    }
    if (strcmp(how, "refused") == 0) {
        mapping_site();
        return 0;
    }
    if (strcmp(how, "unregistered") == 0) {
        pthread_t thread;

        (void)pthread_create(&thread, NULL, allocate_unregistered, NULL);
        (void)pthread_join(thread, NULL);
        return 0;
    }
    allocate_and_free_some();
    if (strcmp(how, "freed") == 0 || strcmp(how, "every") == 0)
        free_the_rest();
    if (strcmp(how, "every") == 0)
        call_every_function();
    if (strcmp(how, "every") == 0 || strcmp(how, "fork-while-writing") == 0) {
        for (int depth = 0; depth < 200; depth++)
            call_at_depth(depth);
    }
    if (strcmp(how, "signal") == 0 && count > 2)
        raise(atoi(arguments[2]));
    if (strcmp(how, "cancelled") == 0 && count > 2) {
        static int number;
        pthread_t thread;

        number = atoi(arguments[2]);
        (void)pthread_create(&thread, NULL, exit_when_cancelled, &number);
        (void)pthread_cancel(thread);
        atomic_store(&is_cancelled, true);
        (void)pthread_join(thread, NULL);
        return 1;
    }
    if (strcmp(how, "while-busy") == 0 && count > 2) {
        enum { BITS = 16, STACKS = 40000, OTHERS = 8 };
        pthread_t thread, slow;
        char file[1024];

        (void)snprintf(file, sizeof file, "%s.1", getenv("CIA_PROFILE"));
        for (unsigned i = 0; i < STACKS; i++)
            call_by_number(i, BITS);
        (void)pthread_create(&slow, NULL, be_slow_and_busy, NULL);
        usleep(100000);
        for (int i = 0; i < OTHERS; i++)
            (void)pthread_create(&thread, NULL, be_busy, NULL);
        (void)pthread_kill(slow, atoi(arguments[2]));
        while (access(file, F_OK) != 0)
            usleep(1000);
    }
    if (strcmp(how, "quick") == 0)
        _exit(0);
    if (strcmp(how, "fork-while-writing") == 0 && count > 2) {
        static int number;
        pthread_t thread;

        number = atoi(arguments[2]);
        (void)pthread_create(&thread, NULL, fork_when_told, &number);
    }
    if (strcmp(how, "fork") == 0 || strcmp(how, "raw-fork") == 0) {
        pid_t child = strcmp(how, "fork") == 0 ? fork() : (pid_t)syscall(SYS_fork);

        if (child == 0) {
            free_all(first, FIRST, 1);
            exit(0);
        }
        (void)waitpid(child, NULL, 0);
    }
    return 0;
}
