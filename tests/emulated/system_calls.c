/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions beside system calls of other threads: what the kernel reads, writes or takes away
 * while a transaction runs, and what is left in shared memory when a process is killed.
 */
#include "transaction.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { LINE = 64, PAGE = 4096, DEATHS = 8, CUTS = 100, READS = 100, WAKES = 4000 };

/* One thread in transactions all the time. */
static int stop, started;
static void (*body)(void *);
static long (*outside)(void *, int status);

static bool stopped(void)
{
    return __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0;
}

static void do_nothing(void *unused)
{
    (void)unused;
}

/* The emulator leaves a processor alone that loses all the time, until it commits. */
static void *keep_trying(void *argument)
{
    long counted = 0;

    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    while (!stopped()) {
        int status = attempt(body, argument);

        counted += outside == NULL ? 0 : outside(argument, status);
        attempt(do_nothing, NULL);
    }
    return (void *)counted;
}

static pthread_t start(void (*inside)(void *), long (*afterwards)(void *, int), void *argument)
{
    pthread_t thread;

    body = inside;
    outside = afterwards;
    stop = started = 0;
    thread = start_thread(keep_trying, argument);
    while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        sched_yield();
    return thread;
}

static long stop_and_count(pthread_t thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    return (long)end_thread(thread);
}

static void *map(size_t size, int flags, int descriptor)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);

    EXPECT(memory != MAP_FAILED);
    return memory;
}

/* ---- death ---- */

static void spoil_line(void *line)
{
    for (int i = 0; i < 8; i++) {
        ((volatile long *)line)[i] = 0x5eed;
        linger(100);
    }
    ABORT(1);
}

static void die_by_default_action(void)
{
    kill(getpid(), SIGTERM);
}

static void die_by_fault(void)
{
    volatile int *volatile nowhere = NULL;

    *nowhere = 1;
}

static void expect_no_trace_of(void (*die)(void))
{
    volatile long *shared = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);

    for (unsigned n = 0; n < DEATHS; n++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            shared[0] = 0; /* else the page would not be there in the child, and its store abort */
            start(spoil_line, NULL, (void *)shared);
            linger(1000 * n);
            die();
            _exit(1);
        }
        EXPECT(child > 0);
        EXPECT_EQUAL(waitpid(child, &status, 0), child);
        EXPECT(WIFSIGNALED(status));
        for (int i = 0; i < 8; i++)
            EXPECT_EQUAL(shared[i], 0);
    }
    munmap((void *)shared, PAGE);
}

static void a_process_that_a_signal_ends_commits_none_of_its_transactions(void)
{
    expect_no_trace_of(die_by_default_action);
    expect_no_trace_of(die_by_fault);
    expect_no_trace_of(abort);
}

/* ---- memory that goes away ---- */

static void a_file_that_gets_shorter_aborts_who_wrote_to_it(void)
{
    int file = memfd_create("mapped", 0);
    pthread_t thread;
    volatile long *mapped;

    EXPECT(file >= 0);
    EXPECT_EQUAL(ftruncate(file, PAGE), 0);
    mapped = map(PAGE, MAP_SHARED, file);
    mapped[0] = 0;
    thread = start(spoil_line, NULL, (void *)mapped);
    for (int i = 0; i < CUTS; i++) {
        EXPECT_EQUAL(ftruncate(file, 0), 0);
        linger(500);
        EXPECT_EQUAL(ftruncate(file, PAGE), 0);
        EXPECT_EQUAL(mapped[0], 0);
        mapped[0] = 0;
        linger(2000);
    }
    stop_and_count(thread);
    munmap((void *)mapped, PAGE);
    close(file);
}

struct given_back {
    volatile long *page;
    volatile long lost;
};

static void store_and_look_again(void *argument)
{
    struct given_back *given_back = argument;

    given_back->page[0] = 7;
    linger(100);
    given_back->lost = given_back->page[0] != 7;
}

static long bring_page_in(void *argument, int status)
{
    struct given_back *given_back = argument;

    if (status == STARTED)
        return given_back->lost;
    given_back->page[0] = 1;
    return 0;
}

static void a_page_given_back_by_another_thread_takes_no_store_of_a_transaction_along(void)
{
    struct given_back given_back = {map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 0};
    pthread_t thread = start(store_and_look_again, bring_page_in, &given_back);

    for (int i = 0; i < 20 * CUTS; i++) {
        EXPECT_EQUAL(madvise((void *)given_back.page, PAGE, MADV_DONTNEED), 0);
        linger(300);
    }
    EXPECT_EQUAL(stop_and_count(thread), 0);
    munmap((void *)given_back.page, PAGE);
}

/* ---- calls that wait ---- */

static volatile uint8_t buffer[LINE] __attribute__((aligned(LINE)));

static void spoil_buffer(void *unused)
{
    (void)unused;
    buffer[0] = 0x77;
    linger(3000);
    ABORT(1);
}

/* The child answers a byte of `requests` by one of `answers`, after a while. */
static void answer(int requests, int answers)
{
    uint8_t byte;

    while (read(requests, &byte, 1) == 1) {
        usleep(300);
        EXPECT_EQUAL(write(answers, &byte, 1), 1);
    }
}

static void what_a_waiting_read_brings_is_not_undone(void)
{
    int requests[2], answers[2], status;
    pthread_t thread;
    pid_t child;

    EXPECT_EQUAL(pipe(requests), 0);
    EXPECT_EQUAL(pipe(answers), 0);
    child = fork();
    if (child == 0) {
        close(requests[1]);
        answer(requests[0], answers[1]);
        _exit(0);
    }
    EXPECT(child > 0);
    buffer[0] = 0;
    thread = start(spoil_buffer, NULL, NULL);
    for (int i = 0; i < READS; i++) {
        uint8_t byte = (uint8_t)(i % 100 + 1);

        EXPECT_EQUAL(write(requests[1], &byte, 1), 1);
        EXPECT_EQUAL(read(answers[0], (void *)buffer, 1), 1);
        EXPECT_EQUAL(buffer[0], byte);
    }
    stop_and_count(thread);
    close(requests[1]);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    close(requests[0]);
    close(answers[0]);
    close(answers[1]);
}

enum { MESSAGE = 1 << 17 }; /* twice of what fits in a pipe */

static void spoil_message(void *message)
{
    for (int i = 0; i < 20; i++)
        ((volatile uint8_t *)message)[MESSAGE - LINE * (i + 1)] = 0x77;
    linger(3000);
    ABORT(1);
}

static void read_slowly(int from)
{
    static uint8_t part[PAGE];
    ssize_t size;

    while ((size = read(from, part, sizeof(part))) > 0) {
        for (ssize_t i = 0; i < size; i++)
            EXPECT_EQUAL(part[i], 0);
        usleep(200);
    }
    EXPECT_EQUAL(size, 0);
}

static void a_waiting_write_sends_nothing_that_is_not_committed(void)
{
    volatile uint8_t *message = map(MESSAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    int ends[2], status;
    pthread_t thread;
    pid_t child;

    EXPECT_EQUAL(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        read_slowly(ends[0]);
        _exit(0);
    }
    EXPECT(child > 0);
    close(ends[0]);
    for (size_t i = 0; i < MESSAGE; i++)
        message[i] = 0;
    thread = start(spoil_message, NULL, (void *)message);
    for (int i = 0; i < 5; i++)
        EXPECT_EQUAL(write(ends[1], (void *)message, MESSAGE), MESSAGE);
    stop_and_count(thread);
    close(ends[1]);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
    munmap((void *)message, MESSAGE);
}

/* More lines than it is worth to look at one by one. */
static void a_long_read_is_a_conflict_with_all_its_lines(void)
{
    enum { LONG = 1 << 23 };
    volatile uint8_t *memory = map(LONG, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    int zeros = open("/dev/zero", O_RDONLY);
    pthread_t thread;

    EXPECT(zeros >= 0);
    memory[LONG / 2] = 0;
    thread = start(spoil_line, NULL, (void *)(memory + LONG / 2));
    for (int i = 0; i < 20; i++) {
        memory[LONG / 2] = 1;
        linger(500);
        EXPECT_EQUAL(read(zeros, (void *)memory, LONG), LONG);
        EXPECT_EQUAL(memory[LONG / 2], 0);
    }
    stop_and_count(thread);
    close(zeros);
    munmap((void *)memory, LONG);
}

static void a_call_that_reads_memory_of_its_own_process_sees_nothing_uncommitted(void)
{
    struct iovec from = {(void *)buffer, 1};
    uint8_t seen;
    struct iovec to = {&seen, 1};
    pthread_t thread;

    buffer[0] = 0;
    thread = start(spoil_buffer, NULL, NULL);
    for (int i = 0; i < CUTS; i++) {
        EXPECT_EQUAL(process_vm_readv(getpid(), &to, 1, &from, 1, 0), 1);
        EXPECT_EQUAL(seen, 0);
        linger(1000);
    }
    stop_and_count(thread);
}

/* A thread that waits for a long time must not be in the way of others: bytes beside its own are
 * free. */
static void *wait_for_end(void *argument)
{
    int *end = argument;

    EXPECT_EQUAL(read(*end, (void *)&buffer[8], 8), 0);
    return NULL;
}

static void store_beside(void *unused)
{
    (void)unused;
    buffer[0] = 1;
    buffer[16] = 1;
}

static void bytes_beside_those_of_a_waiting_call_are_no_obstacle(void)
{
    int ends[2];
    pthread_t thread;
    bool committed;

    EXPECT_EQUAL(pipe(ends), 0);
    thread = start_thread(wait_for_end, &ends[0]);
    usleep(20000);
    buffer[0] = 0;
    committed = commits(store_beside, NULL);
    close(ends[1]);
    end_thread(thread);
    close(ends[0]);
    EXPECT(committed);
}

/* ---- futex(2) changes a word ---- */

static uint32_t nobody_waits __attribute__((aligned(LINE)));
static volatile uint32_t changed __attribute__((aligned(LINE)));

static void read_changed_twice(void *argument)
{
    volatile long *differs = argument;
    uint32_t first = changed;

    linger(300);
    *differs = changed != first;
}

static long count_differing(void *argument, int status)
{
    return status == STARTED && *(volatile long *)argument;
}

static void a_word_that_futex_changes_is_a_conflict(void)
{
    const int add_one = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);
    volatile long differs = 0;
    pthread_t thread = start(read_changed_twice, count_differing, (void *)&differs);

    for (int i = 0; i < WAKES; i++) {
        EXPECT(syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP, 1, 1, &changed, add_one) >= 0);
        linger(50);
    }
    EXPECT_EQUAL(stop_and_count(thread), 0);
    EXPECT_EQUAL(changed, WAKES);
}

int main(void)
{
    need_transactions();
    a_process_that_a_signal_ends_commits_none_of_its_transactions();
    a_file_that_gets_shorter_aborts_who_wrote_to_it();
    a_page_given_back_by_another_thread_takes_no_store_of_a_transaction_along();
    what_a_waiting_read_brings_is_not_undone();
    a_waiting_write_sends_nothing_that_is_not_committed();
    a_long_read_is_a_conflict_with_all_its_lines();
    a_call_that_reads_memory_of_its_own_process_sees_nothing_uncommitted();
    bytes_beside_those_of_a_waiting_call_are_no_obstacle();
    a_word_that_futex_changes_is_a_conflict();
    return 0;
}
