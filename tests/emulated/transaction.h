/*
 * SPDX-License-Identifier: MIT
 *
 * What the programs of this folder share. Each states promises of Intel's RTM (SDM volume 1,
 * chapter 16, and volume 2, XBEGIN to XTEST) with the instructions themselves, and runs twice:
 * natively where transactions commit, and under the emulator. A claim is a function named as a
 * sentence; main calls each in turn. Exit 0: all claims held; 1: one line names the claim and what
 * does not hold; 77: nothing can be tried here, one line says why.
 *
 * Hardware may abort any transaction for reasons of its own, so there a claim about a status has
 * many attempts. The emulator (MPLACE_HTM=emulated) promises more: the first attempt must do.
 */
#ifndef MPLACE_TRANSACTION_H
#define MPLACE_TRANSACTION_H

#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

enum {
    STARTED = -1,
    EXPLICIT = 1 << 0,
    RETRY = 1 << 1,
    CONFLICT = 1 << 2,
    CAPACITY = 1 << 3,
    DEBUG = 1 << 4,
    NESTED = 1 << 5,
    CAUSES = EXPLICIT | CONFLICT | CAPACITY | DEBUG | NESTED, /* RETRY is but a hint */
};

/* Usable in threads, in children of fork and in signal handlers: one write, then out. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, __func__,  \
                    #condition);                                                                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define EXPECT_EQUAL(expression, expected)                                                         \
    do {                                                                                           \
        long got_ = (long)(expression), want_ = (long)(expected);                                  \
        if (got_ != want_) {                                                                       \
            dprintf(STDERR_FILENO, "%s:%d: %s does not hold: %s is %ld (%#lx), not %ld (%#lx)\n",  \
                    __FILE__, __LINE__, __func__, #expression, got_, (unsigned long)got_, want_,   \
                    (unsigned long)want_);                                                         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* STARTED, or the status of an abort, when this returns a second time. */
static inline __attribute__((always_inline)) int begin(void)
{
    int status = STARTED;

    __asm__ volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
    return status;
}

static inline __attribute__((always_inline)) void end(void)
{
    __asm__ volatile("xend" : : : "memory");
}

#define ABORT(code) __asm__ volatile("xabort %0" : : "i"(code) : "memory")

static inline __attribute__((always_inline)) bool in_transaction(void)
{
    bool active;

    __asm__ volatile("xtest\n\tsetnz %0" : "=q"(active) : : "cc", "memory");
    return active;
}

static inline bool is_emulated(void)
{
    const char *htm = getenv("MPLACE_HTM");

    return htm != NULL && strcmp(htm, "emulated") == 0;
}

/* How many attempts a claim may take. */
static inline int attempts(void)
{
    return is_emulated() ? 1 : 10000;
}

/*
 * Whether a claim about another running thread may try once more. On hardware that thread may not
 * run for long while others have its CPU: 30 seconds there, which no claim needs on an idle
 * machine.
 */
static inline bool may_try(long tries)
{
    enum { EMULATED_MOST = 2000000, SECONDS = 30, LOOK_EVERY = 1024 };
    static struct timespec begun;
    struct timespec now;

    if (is_emulated())
        return tries < EMULATED_MOST;
    if (tries % LOOK_EVERY != 0)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (tries == 0)
        begun = now;
    sched_yield();
    return now.tv_sec - begun.tv_sec < SECONDS;
}

/* One transaction that does body(argument). Returns STARTED if it committed, else the status. */
static __attribute__((noinline, unused)) int attempt(void (*body)(void *), void *argument)
{
    int status = begin();

    if (status == STARTED) {
        body(argument);
        end();
    }
    return status;
}

/* The status whose cause is expected, or the last one seen: STARTED if it committed. */
static __attribute__((unused)) int attempt_for(int causes, void (*body)(void *), void *argument)
{
    int status = 0;

    for (int i = 0; i < attempts(); i++) {
        status = attempt(body, argument);
        if (status == STARTED ? causes == STARTED
                              : causes != STARTED && (status & CAUSES) == causes)
            break;
    }
    return status;
}

static __attribute__((unused)) bool commits(void (*body)(void *), void *argument)
{
    return attempt_for(STARTED, body, argument) == STARTED;
}

/* Ends the program with 77 where no transaction commits. Every main begins with it. */
static inline void need_transactions(void)
{
    unsigned eax, ebx = 0, ecx, edx = 0;

    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & 1u << 11) || (edx & 1u << 11)) {
        EXPECT(!is_emulated());
        puts("skipped: this processor has no usable RTM");
        exit(EXIT_SKIPPED);
    }
    for (int i = 0; i < 100; i++) {
        if (begin() == STARTED) {
            end();
            return;
        }
    }
    EXPECT(!is_emulated());
    puts("skipped: every transaction aborts here");
    exit(EXIT_SKIPPED);
}

/* Keeps a thread busy inside a transaction: no system call, no PAUSE. */
static inline void linger(unsigned steps)
{
    /* A step each: GCC 13 makes one of two unless it cannot know i. */
    for (unsigned i = 0; i < steps; i++)
        __asm__ volatile("" : "+r"(i) : : "memory");
}

static inline pthread_t start_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;

    EXPECT_EQUAL(pthread_create(&thread, NULL, function, argument), 0);
    return thread;
}

static inline void *end_thread(pthread_t thread)
{
    void *result;

    EXPECT_EQUAL(pthread_join(thread, &result), 0);
    return result;
}

/* splitmix64: any seed will do. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The last argument of the programs that take one; printed by them, 1 if there is none. */
static inline uint64_t seed_from(int count, char **arguments, int position)
{
    uint64_t seed = count > position ? strtoull(arguments[position], NULL, 0) : 1;

    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

#endif
