/*
 * SPDX-License-Identifier: MIT
 *
 * A storm over the malloc family: more threads than CPUs hand blocks to each other through one
 * table, move from CPU to CPU, end and are replaced, fork children that go on with what they
 * inherited, and are interrupted by a handler that allocates; one thread trims. Every block is
 * checked when it is freed, resized or inherited (storm_block.h).
 *
 *   storm [--seed N] [--operations N] [--seconds N] [--threads N] [--handler anywhere|between]
 *
 * --handler anywhere: the handler may interrupt malloc itself, which glibc does not survive;
 * between: it comes between two calls. Exit status 0; 2 for bad arguments; a broken promise is one
 * line and SIGABRT. Threads run as they are scheduled: a seed repeats what they do, not when.
 */
#include "storm_block.h"

#include "base/random.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TABLE = 2048,
    BURST = 1500, /* blocks of one size: more than an allocator keeps of it for quick reuse */
    THREADS_MOST = 64,
    LIFE = 2000,         /* operations, on the average, until a thread ends */
    CHILD_SECONDS = 120, /* a child that has not ended by then hangs */
    HANG_SECONDS = 240,
};

static _Atomic(struct storm_block *) table[TABLE];
static atomic_ulong operations, forks, handled, lives;
static atomic_bool stop;
static bool handler_anywhere;
static cpu_set_t allowed;
static sigset_t alarm_only;
static pthread_key_t at_thread_end;

static size_t random_size(uint64_t *random)
{
    uint32_t kind = random_below(random, 1024), most = 1024;

    if (kind == 0) /* now and then so long that chunks are made of what it leaves */
        most = random_below(random, 8) == 0 ? 12 << 20 : 2 << 20;
    else if (kind < 16)
        most = 256 << 10;
    else if (kind < 128)
        most = 16 << 10;
    else if (kind < 512)
        most = 128;
    return STORM_BLOCK_LEAST + random_below(random, most);
}

static struct storm_block *allocate(uint64_t *random, size_t size)
{
    uint32_t kind = random_below(random, 16);
    size_t alignment = 16;
    void *memory = NULL;

    if (kind == 0) {
        alignment = (size_t)64 << random_below(random, random_below(random, 16) == 0 ? 12 : 7);
        memory = aligned_alloc(alignment, size);
    } else if (kind < 4) {
        memory = calloc(1, size);
        const unsigned char *bytes = memory;
        if (memory != NULL && (bytes[0] != 0 || memcmp(bytes, bytes + 1, size - 1) != 0))
            storm_fail(memory, "calloc's block is not zero");
    } else {
        memory = malloc(size);
    }
    return storm_block_make(memory, size, alignment);
}

static void release(struct storm_block *block)
{
    if (block == NULL)
        return;
    storm_block_leave(block);
    free(block);
}

static struct storm_block *resize(uint64_t *random, struct storm_block *block)
{
    struct storm_block old = *block;
    size_t size = random_below(random, 2)
                      ? random_size(random)
                      : STORM_BLOCK_LEAST + random_below(random, 64) + storm_block_size(&old);

    storm_block_leave(block);
    void *memory = realloc(block, size);
    if (memory == NULL)
        storm_fail(block, "realloc is out of memory");
    storm_block_check_moved(memory, old, size);
    return storm_block_make(memory, size, 16);
}

/* acq_rel: what is in a block goes with its address from the one thread to the other. */
static struct storm_block *exchange(uint64_t *random, struct storm_block *block)
{
    return atomic_exchange_explicit(&table[random_below(random, TABLE)], block,
                                    memory_order_acq_rel);
}

static void churn(uint64_t *random)
{
    release(exchange(random, allocate(random, random_size(random))));
}

static void resize_one_of_the_table(uint64_t *random)
{
    struct storm_block *block = exchange(random, NULL);

    if (block != NULL)
        release(exchange(random, resize(random, block)));
}

static void allocate_less_than_a_head(uint64_t *random)
{
    void *crumbs[8];

    for (int i = 0; i < 8; i++) {
        crumbs[i] = malloc(random_below(random, STORM_BLOCK_LEAST));
        storm_crumb_arrives(crumbs[i]);
    }
    for (int i = 0; i < 8; i++) {
        storm_crumb_leaves(crumbs[i]);
        free(crumbs[i]);
    }
}

/* Many of one size at once; then all go back in one of three orders, some to other threads. */
static void burst(uint64_t *random)
{
    struct storm_block *blocks[BURST];
    uint32_t count = 1 + random_below(random, BURST), order = random_below(random, 3);
    size_t size = STORM_BLOCK_LEAST + random_below(random, random_below(random, 2) ? 200 : 1100);

    for (uint32_t i = 0; i < count; i++)
        blocks[i] = allocate(random, size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = order == 0   ? i
                        : order == 1 ? count - 1 - i
                                     : i + random_below(random, count - i);
        struct storm_block *block = blocks[from];

        blocks[from] = order == 2 ? blocks[i] : NULL;
        release(random_below(random, 4) == 0 ? exchange(random, block) : block);
    }
    atomic_fetch_add_explicit(&operations, count, memory_order_relaxed);
}

static void move_to_another_cpu(uint64_t *random)
{
    cpu_set_t one;
    int cpu = 0;

    if (random_below(random, 3) == 0) {
        sched_setaffinity(0, sizeof allowed, &allowed);
        return;
    }
    for (uint32_t nth = random_below(random, (uint32_t)CPU_COUNT(&allowed)) + 1; nth > 0; cpu++)
        nth -= CPU_ISSET(cpu, &allowed) != 0;
    CPU_ZERO(&one);
    CPU_SET(cpu - 1, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void live_a_little(uint64_t *random, int rounds);

static void *thread_of_a_child(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    live_a_little(&random, 200);
    return NULL;
}

/* The child has the table as it was, and every block in it is whole. */
static _Noreturn void be_a_child(uint64_t random)
{
    pthread_t threads[2];
    bool more_threads = random_below(&random, 4) == 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarm(CHILD_SECONDS);
    for (int i = 0; i < TABLE; i += 1 + (int)random_below(&random, 4))
        release(atomic_exchange(&table[i], NULL));
    for (uintptr_t i = 0; more_threads && i < 2; i++)
        if (pthread_create(&threads[i], NULL, thread_of_a_child, (void *)(i + 1)) != 0)
            storm_fail(NULL, "a child cannot start a thread");
    /* What other CPUs were in the middle of: each is visited. */
    for (int i = 0; i < 4; i++) {
        move_to_another_cpu(&random);
        live_a_little(&random, 60);
    }
    for (int i = 0; more_threads && i < 2; i++)
        pthread_join(threads[i], NULL);
    if (random_below(&random, 2))
        malloc_trim(0);
    _exit(0);
}

static void fork_a_child(uint64_t *random)
{
    uint64_t childs = random_next(random);
    pid_t child = fork();
    int status;

    if (child == 0)
        be_a_child(childs);
    if (child < 0)
        storm_fail(NULL, "cannot fork");
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            storm_fail(NULL, "a child is lost");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        storm_fail(NULL, "a child failed or hung");
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void handle(int signal_number)
{
    int saved = errno;
    uint64_t random = storm_seed + 1000003 * atomic_fetch_add(&handled, 1);

    (void)signal_number;
    for (int i = 0; i < 4; i++)
        churn(&random);
    resize_one_of_the_table(&random);
    errno = saved;
}

/* Where the handler must not interrupt malloc, this is where it may come. */
static void let_the_handler_in(void)
{
    if (!handler_anywhere) {
        pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
        pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    }
}

static void live_a_little(uint64_t *random, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        uint32_t kind = random_below(random, 1024);

        if (kind < 16)
            burst(random);
        else if (kind < 128)
            resize_one_of_the_table(random);
        else if (kind < 192)
            allocate_less_than_a_head(random);
        else if (kind < 196)
            move_to_another_cpu(random);
        else
            churn(random);
    }
    atomic_fetch_add_explicit(&operations, (unsigned long)rounds, memory_order_relaxed);
}

/* Runs when the thread's other ends are gone already. */
static void allocate_at_the_end(void *block)
{
    uint64_t random = (uintptr_t)block;

    release(block);
    churn(&random);
}

static void *live(void *argument)
{
    uint64_t random = storm_seed * 1000 + (uintptr_t)argument;

    if (handler_anywhere)
        pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    pthread_setspecific(at_thread_end, allocate(&random, random_size(&random)));
    for (uint32_t left = 1 + random_below(&random, 2 * LIFE / 20); left > 0 && !stop; left--) {
        live_a_little(&random, 20);
        let_the_handler_in();
        if (random_below(&random, 300) == 0)
            fork_a_child(&random);
    }
    atomic_fetch_add_explicit(&lives, 1, memory_order_relaxed);
    return NULL;
}

static void *trim_now_and_then(void *argument)
{
    struct timespec pause = {.tv_nsec = 3000000};

    (void)argument;
    while (!stop) {
        malloc_trim(0);
        mallinfo2(); /* looks at all that the others change */
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Or the process ends: nobody has done anything for so long. */
static void join(pthread_t thread)
{
    unsigned long seen = atomic_load(&operations), done;
    struct timespec deadline;
    int answer;

    do {
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += HANG_SECONDS;
        answer = pthread_timedjoin_np(thread, NULL, &deadline);
        done = atomic_load(&operations);
        if (answer == ETIMEDOUT && done == seen)
            storm_fail(NULL, "no thread gets on");
        seen = done;
    } while (answer != 0);
}

/* Threads end after different times; each is replaced in its turn. */
static void keep_threads_living(unsigned count, unsigned long most, time_t end)
{
    static pthread_t threads[THREADS_MOST];

    for (uintptr_t i = 0; !stop || i % count != 0; i++) {
        pthread_t *oldest = &threads[i % count];

        if (i >= count)
            join(*oldest);
        if (i % count == 0)
            /* However short the run: some children, and some hundred signals. */
            stop = operations >= most && time(NULL) >= end && handled >= 200 && forks >= 20;
        if (pthread_create(oldest, NULL, live, (void *)i) != 0)
            storm_fail(NULL, "cannot start a thread");
    }
    for (unsigned i = 0; i < count; i++)
        join(threads[i]);
}

static unsigned long number_of(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0') {
        fprintf(stderr, "storm: '%s' is no number\n", text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval period = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
    unsigned long most = 0, seconds = 0, threads = 0;
    pthread_t trimmer;

    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--handler") == 0 && strcmp(value, "anywhere") == 0)
            handler_anywhere = true;
        else if (strcmp(argv[i], "--handler") == 0 && strcmp(value, "between") == 0)
            handler_anywhere = false;
        else if (strcmp(argv[i], "--seed") == 0)
            storm_seed = number_of(value);
        else if (strcmp(argv[i], "--operations") == 0)
            most = number_of(value);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = number_of(value);
        else if (strcmp(argv[i], "--threads") == 0)
            threads = number_of(value);
        else {
            fprintf(stderr, "storm: unknown option or value: %s %s\n", argv[i], value);
            return 2;
        }
    }
    printf("seed %llu\n", (unsigned long long)storm_seed);
    fflush(stdout);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        fputs("storm: more CPUs than a set holds\n", stderr);
        return 2;
    }
    if (threads == 0)
        threads = 2 * (unsigned)CPU_COUNT(&allowed) + 3;
    if (threads > THREADS_MOST)
        threads = THREADS_MOST;
    storm_shadow_open();
    pthread_key_create(&at_thread_end, allocate_at_the_end);

    /* Blocked here and in every thread that does not open it. */
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &period, NULL);
    if (pthread_create(&trimmer, NULL, trim_now_and_then, NULL) != 0)
        storm_fail(NULL, "cannot start a thread");
    keep_threads_living((unsigned)threads, most, time(NULL) + (time_t)seconds);
    pthread_join(trimmer, NULL);
    setitimer(ITIMER_REAL, &none, NULL);
    for (int i = 0; i < TABLE; i++)
        release(table[i]);
    printf("operations %lu forks %lu signals %lu lives %lu\n", operations, forks, handled, lives);
    return 0;
}
