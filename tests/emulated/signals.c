/*
 * SPDX-License-Identifier: MIT
 *
 * A signal aborts the transaction of the thread that it is for; its handler runs afterwards,
 * outside of any transaction, on the registers and memory of the fallback.
 */
#include "transaction.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { SIGNALS = 300 };

static volatile long word __attribute__((aligned(64)));
static volatile int handled, stop, started;

/* Every look at memory by a handler happens outside and sees no stores of a transaction. */
static void look(int number)
{
    (void)number;
    EXPECT(!in_transaction());
    EXPECT_EQUAL(word, 0);
    handled++;
}

static void spoil_for_long(void *unused)
{
    (void)unused;
    word = 1;
    for (int i = 0; i < 100; i++) {
        linger(30);
        word = i + 2;
    }
    word = 0;
}

static void *run_transactions(void *argument)
{
    long *silent = argument;

    started = 1;
    while (!stop) {
        int status = attempt(spoil_for_long, NULL);

        *silent += status != STARTED && (status & CAUSES) == 0;
        EXPECT_EQUAL(word, 0);
    }
    return NULL;
}

static void a_signal_for_a_thread_in_a_transaction_is_handled_after_its_abort(void)
{
    long silent = 0;
    pthread_t thread;

    signal(SIGUSR1, look);
    stop = started = handled = 0;
    thread = start_thread(run_transactions, &silent);
    while (!started)
        sched_yield();
    for (int i = 0; i < SIGNALS; i++) {
        int before = handled;

        EXPECT_EQUAL(pthread_kill(thread, SIGUSR1), 0);
        while (handled == before)
            sched_yield();
    }
    stop = 1;
    end_thread(thread);
    EXPECT_EQUAL(handled, SIGNALS);
    EXPECT(silent > 0); /* some of them hit inside */
}

/* A handler may use transactions itself, and what it commits stays. */
static volatile long from_handler __attribute__((aligned(64)));

static void count_in_handler(void *unused)
{
    (void)unused;
    from_handler++;
}

static void commit_in_handler(int number)
{
    (void)number;
    EXPECT(!in_transaction());
    for (long tries = 0; attempt(count_in_handler, NULL) != STARTED; tries++)
        EXPECT(tries < 100000);
    handled++;
}

static void what_a_handler_commits_stays_although_the_code_under_it_retries(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    long committed = 0;

    handled = 0;
    from_handler = 0;
    signal(SIGALRM, commit_in_handler);
    EXPECT_EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (handled < 50 || committed < 1000)
        committed += attempt(spoil_for_long, NULL) == STARTED;
    EXPECT_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    signal(SIGALRM, SIG_IGN);
    EXPECT_EQUAL(from_handler, handled);
    EXPECT_EQUAL(word, 0);
}

/* On a stack of its own, too; and longjmp out of it leaves no transaction behind. */
static sigjmp_buf out;

static void jump_out(int number)
{
    (void)number;
    EXPECT(!in_transaction());
    EXPECT_EQUAL(word, 0);
    handled++;
    siglongjmp(out, 1);
}

static void a_handler_on_its_own_stack_may_jump_out_and_no_transaction_is_left(void)
{
    static uint8_t memory[64 * 1024];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_ONSTACK};
    struct itimerval once = {{0, 0}, {0, 2000}};

    EXPECT_EQUAL(sigaltstack(&stack, NULL), 0);
    EXPECT_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    handled = 0;
    while (handled < 10) {
        if (sigsetjmp(out, 1) == 0) {
            EXPECT_EQUAL(setitimer(ITIMER_REAL, &once, NULL), 0);
            for (;;)
                attempt(spoil_for_long, NULL);
        }
        EXPECT(!in_transaction());
        EXPECT_EQUAL(word, 0);
    }
    signal(SIGALRM, SIG_IGN);
}

/* The registers of the interrupted code are those of the fallback, not of the transaction. */
static volatile int wrong_registers;

static void *check_registers(void *unused)
{
    started = 1;
    while (!stop) {
        long kept = 0x1357, inside = 0;
        int status = STARTED;

        __asm__ volatile("xbegin 1f\n\t"
                         "mov $0x2468, %1\n\t"
                         "mov $3000, %2\n"
                         "2:\n\t"
                         "dec %2\n\t"
                         "jnz 2b\n\t"
                         "mov $0x1357, %1\n\t"
                         "mov $0, %2\n\t"
                         "xend\n"
                         "1:"
                         : "+a"(status), "+r"(kept), "+r"(inside)
                         :
                         : "cc", "memory");
        if (kept != 0x1357 || inside != 0)
            wrong_registers = 1;
    }
    return unused;
}

static void count_signal(int number)
{
    (void)number;
    handled++;
}

static void registers_are_restored_before_the_handler_saves_them(void)
{
    pthread_t thread;

    signal(SIGUSR1, count_signal);
    stop = started = handled = 0;
    thread = start_thread(check_registers, NULL);
    while (!started)
        sched_yield();
    for (int i = 0; i < SIGNALS; i++) {
        int before = handled;

        EXPECT_EQUAL(pthread_kill(thread, SIGUSR1), 0);
        while (handled == before)
            sched_yield();
    }
    stop = 1;
    end_thread(thread);
    EXPECT_EQUAL(wrong_registers, 0);
}

int main(void)
{
    need_transactions();
    a_signal_for_a_thread_in_a_transaction_is_handled_after_its_abort();
    what_a_handler_commits_stays_although_the_code_under_it_retries();
    a_handler_on_its_own_stack_may_jump_out_and_no_transaction_is_left();
    registers_are_restored_before_the_handler_saves_them();
    return 0;
}
