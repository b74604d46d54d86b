/*
 * SPDX-License-Identifier: MIT
 *
 * fork at any moment leaves an allocator that works in the child and in the parent: with threads in
 * the middle of allocating, with threads inside stdio that allocates, and from a signal handler
 * that interrupted malloc itself in a program of one thread, which is as far as glibc's promise
 * goes.
 */
#include "expect_child.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, CHILD_SECONDS = 60 };

static atomic_bool stop;

static void use_the_allocator(uint64_t seed)
{
    char *blocks[64];
    size_t sizes[64];

    for (int i = 0; i < 64; i++) {
        sizes[i] = 1 + next_random(&seed) % ((size_t)1 << (1 + next_random(&seed) % 17));
        blocks[i] = malloc(sizes[i]);
        EXPECT(blocks[i] != NULL);
        fill_pattern(blocks[i], 0, sizes[i], (uint64_t)i);
    }
    for (int i = 0; i < 64; i++) {
        blocks[i] = realloc(blocks[i], sizes[i] * 2);
        EXPECT(blocks[i] != NULL && holds_pattern(blocks[i], 0, sizes[i], (uint64_t)i));
        free(blocks[i]);
    }
}

/* Threads that never sleep would leave the forking thread one time slice in five. */
static void let_others_run(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void *allocate_until_stopped(void *argument)
{
    uint64_t seed = (uintptr_t)argument;

    for (int round = 1; !atomic_load_explicit(&stop, memory_order_relaxed); round++) {
        if (round % 50 == 0)
            let_others_run();
        void *blocks[16];
        for (int i = 0; i < 16; i++)
            blocks[i] = malloc(next_random(&seed) % (i == 0 ? 200000 : 2000));
        for (int i = 0; i < 16; i++)
            free(blocks[i]);
    }
    return NULL;
}

static void start_threads(pthread_t *threads, int count, void *(*body)(void *))
{
    atomic_store(&stop, false);
    for (int i = 0; i < count; i++)
        EXPECT(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)(i + 1)) == 0);
}

static void join_threads(pthread_t *threads, int count)
{
    atomic_store(&stop, true);
    for (int i = 0; i < count; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void a_hundred_children_of_a_busy_process_allocate_and_free_what_they_inherited(void)
{
    pthread_t threads[THREADS];

    start_threads(threads, THREADS, allocate_until_stopped);
    for (int i = 0; i < 100; i++) {
        char *inherited = malloc(100 + (size_t)i * 100);
        fill_pattern(inherited, 0, 100, (uint64_t)i);
        pid_t child = fork();
        if (child == 0) {
            begin_child(CHILD_SECONDS);
            EXPECT(holds_pattern(inherited, 0, 100, (uint64_t)i));
            free(inherited);
            use_the_allocator((uint64_t)i);
            if (i % 2)
                exit(0); /* exit handlers and stdio clean-up allocate and free, too */
            _exit(0);
        }
        use_the_allocator((uint64_t)i);
        expect_clean_end(child);
        free(inherited);
    }
    join_threads(threads, THREADS);
}

static void *child_thread(void *argument)
{
    use_the_allocator((uintptr_t)argument);
    return NULL;
}

static void a_child_may_start_threads_and_fork_again(void)
{
    pthread_t threads[THREADS];

    start_threads(threads, THREADS, allocate_until_stopped);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t mine[2];
            begin_child(CHILD_SECONDS);
            start_threads(mine, 2, child_thread);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                begin_child(CHILD_SECONDS);
                use_the_allocator(5);
                _exit(0);
            }
            join_threads(mine, 2);
            expect_clean_end(grandchild);
            _exit(0);
        }
        expect_clean_end(child);
    }
    join_threads(threads, THREADS);
}

/*
 * Flushing all streams holds stdio's list lock and calls a stream that allocates; fork takes
 * stdio's list lock as well. An allocator that takes its locks in a handler of pthread_atfork,
 * before fork takes stdio's, and then waits for them, has the two locks in two orders: sooner or
 * later a dead lock.
 */
static ssize_t write_that_allocates(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    char *copy = malloc(size + 1000);
    EXPECT(copy != NULL);
    memcpy(copy, text, size);
    free(copy);
    return (ssize_t)size;
}

static void *flush_until_stopped(void *argument)
{
    cookie_io_functions_t functions = {.write = write_that_allocates};

    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        FILE *stream = fopencookie(argument, "w", functions);
        EXPECT(stream != NULL);
        for (int i = 0; i < 20; i++) {
            fprintf(stream, "line %d of a stream that allocates\n", i);
            fflush(NULL);
        }
        fclose(stream);
        let_others_run();
    }
    return NULL;
}

static void fork_and_streams_that_allocate_do_not_wait_for_each_other(void)
{
    pthread_t threads[THREADS];

    start_threads(threads, 2, flush_until_stopped);
    start_threads(threads + 2, THREADS - 2, allocate_until_stopped);
    for (int i = 0; i < 75; i++) {
        pid_t child = fork();
        if (child == 0) {
            begin_child(CHILD_SECONDS);
            use_the_allocator((uint64_t)i);
            FILE *stream = fopen("/dev/null", "w");
            EXPECT(stream != NULL && fprintf(stream, "%d", i) > 0 && fclose(stream) == 0);
            _exit(0);
        }
        expect_clean_end(child);
    }
    join_threads(threads, THREADS);
}

/*
 * The same, by order and not by chance: a stream that is being flushed allocates when fork, behind
 * its handlers, waits for stdio's list lock.
 */
static atomic_bool is_flushing, is_forking;

/* Whether the process's first thread sleeps: the letter behind its name in brackets. */
static bool main_thread_sleeps(void)
{
    char path[64], text[256] = "";
    int file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    file = open(path, O_RDONLY | O_CLOEXEC);
    EXPECT(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
    char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[2] == 'S';
}

static ssize_t write_while_fork_waits(void *cookie, const char *text, size_t size)
{
    (void)text;
    (void)cookie;
    atomic_store(&is_flushing, true);
    while (!atomic_load(&is_forking) || !main_thread_sleeps())
        sched_yield();
    for (size_t bytes = 16; bytes <= 4 << 20; bytes *= 2) { /* some need the allocator's locks */
        void *blocks[16];

        for (int i = 0; i < 16; i++)
            EXPECT((blocks[i] = malloc(bytes)) != NULL);
        for (int i = 0; i < 16; i++)
            free(blocks[i]);
    }
    return (ssize_t)size;
}

static void *flush_all(void *argument)
{
    FILE *stream =
        fopencookie(argument, "w", (cookie_io_functions_t){.write = write_while_fork_waits});

    EXPECT(stream != NULL && fputs("to be flushed", stream) >= 0);
    EXPECT(fflush(NULL) == 0);
    fclose(stream);
    return NULL;
}

static void a_stream_may_allocate_while_fork_waits_for_its_end(void)
{
    pthread_t thread;
    pid_t child;

    EXPECT(pthread_create(&thread, NULL, flush_all, NULL) == 0);
    while (!atomic_load(&is_flushing))
        sched_yield();
    atomic_store(&is_forking, true);
    child = fork();
    if (child == 0) {
        begin_child(CHILD_SECONDS);
        use_the_allocator(3);
        _exit(0);
    }
    expect_clean_end(child);
    EXPECT(pthread_join(thread, NULL) == 0);
}

enum { FORKS_IN_HANDLER = 100 };
static volatile sig_atomic_t forks_done, child_returned;

static void fork_in_handler(int signal_number)
{
    int saved = errno;
    (void)signal_number;

    if (child_returned || forks_done == FORKS_IN_HANDLER)
        return;
    pid_t child = fork();
    if (child == 0) {
        /* Back into the malloc that was interrupted: it must be able to finish in the child. */
        begin_child(CHILD_SECONDS);
        child_returned = 1;
    } else {
        expect_clean_end(child);
        forks_done++;
    }
    errno = saved;
}

static void a_handler_may_fork_out_of_malloc_and_the_child_go_on(void)
{
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    struct itimerval period = {{0, 1500}, {0, 1500}}, none = {{0, 0}, {0, 0}};
    uint64_t seed = 1;

    forks_done = 0;
    EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
    EXPECT(setitimer(ITIMER_REAL, &period, NULL) == 0);
    while (forks_done < FORKS_IN_HANDLER && !child_returned) {
        for (int i = 0; i < 50; i++)
            free(malloc(next_random(&seed) % 5000));
    }
    if (child_returned) {
        for (int i = 0; i < 10; i++)
            use_the_allocator((uint64_t)i);
        _exit(0);
    }
    EXPECT(setitimer(ITIMER_REAL, &none, NULL) == 0);
    signal(SIGALRM, SIG_DFL);
}

static void fork_and_allocate_in_handler(int signal_number)
{
    (void)signal_number;
    pid_t child = fork();
    if (child == 0) {
        begin_child(CHILD_SECONDS);
        use_the_allocator(9);
        exit(0);
    }
    expect_clean_end(child);
}

/* The handler runs between two calls here, so its child may allocate at once. */
static void the_child_of_a_fork_in_a_handler_may_allocate(void)
{
    pthread_t threads[THREADS];

    signal(SIGUSR1, fork_and_allocate_in_handler);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    start_threads(threads, THREADS, allocate_until_stopped);
    for (int i = 0; i < 20; i++)
        EXPECT(pthread_kill(pthread_self(), SIGUSR1) == 0);
    join_threads(threads, THREADS);
    signal(SIGUSR1, SIG_DFL);
}

int main(void)
{
    alarm(100);                                             /* one that hangs ends */
    a_handler_may_fork_out_of_malloc_and_the_child_go_on(); /* first: it needs a single thread */
    a_stream_may_allocate_while_fork_waits_for_its_end();
    a_hundred_children_of_a_busy_process_allocate_and_free_what_they_inherited();
    a_child_may_start_threads_and_fork_again();
    fork_and_streams_that_allocate_do_not_wait_for_each_other();
    the_child_of_a_fork_in_a_handler_may_allocate();
    return 0;
}
