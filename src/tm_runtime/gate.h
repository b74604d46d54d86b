/*
 * SPDX-License-Identifier: MIT
 *
 * Which transactions may run: the word that each begin looks at, and the waits for those that run.
 *
 * A transaction announces itself in its thread's state word and then looks at the gate. A thread
 * that closes the gate writes it and then looks at the state words. Each must see the other, so
 * both sides need a store-load fence. The side that begins has one as long as two threads or more
 * have transactions: its announcement must also be seen by a thread that commits and then waits for
 * readers (gate_quiesce), which happens too often for any other kind of fence. As long as one
 * thread alone has transactions, it begins without one: only a thread that registers closes the
 * gate then, and it has membarrier(2) put the fence into the other thread.
 *
 * Nothing here is written by begin and commit of a transaction but its own state word, except with
 * TM_SERIAL_LOCK=rwlock and TM_ALGORITHM=htm: both count the transactions that run.
 */
#ifndef TM_RUNTIME_GATE_H
#define TM_RUNTIME_GATE_H

#include "tm_runtime/thread.h"

enum gate_bits {
    GATE_ALONE = 1 << 0,     /* one thread has transactions */
    GATE_FENCE = 1 << 1,     /* more have, or the kernel has no membarrier */
    GATE_CLOSED = 1 << 2,    /* a serial transaction, or a thread that registers */
    GATE_HOURGLASS = 1 << 3, /* nobody but hourglass_owner begins */
    GATE_FORK = 1 << 8,      /* and above: the number of threads that fork */
};

/* All bits with which a begin looks again. */
#define GATE_STOPS (~(uint32_t)(GATE_ALONE | GATE_FENCE))

struct gate {
    /* Read by every begin, seldom written. */
    _Alignas(64) uint32_t word; /* enum gate_bits; changed by atomic operations alone */
    bool counts;                /* running is in use */

    /* Transactions in software that run, if counts is set. */
    _Alignas(64) uint64_t running;

    _Alignas(64) int serial; /* held by the thread that closes: 0 free, 1, 2 with sleepers */
    struct tm_thread *hourglass_owner;
    uint32_t sleepers; /* threads in gate_wait */
    uint32_t forks;    /* that have ended, plus 1 */
    uint32_t threads;  /* that have a descriptor in use; changed with the gate closed */
};

extern struct gate gate;

/* For the library's start. */
void gate_start(bool count_running);

/* For the first transaction of the process: asks the kernel for membarrier. */
void gate_start_fences(void);

/*
 * Begins: returns what the gate's word was when it was found open. From then on until gate_leave
 * no thread that closes the gate goes on. The state word becomes the clock's value.
 */
uint32_t gate_enter(struct tm_thread *self, const uint64_t *clock);

/* Ends the transaction for the other threads; pairs with the acquire in their waits. */
static inline void gate_leave(struct tm_thread *self)
{
    __atomic_store_n(&self->state, TM_INACTIVE, __ATOMIC_RELEASE);
    if (__builtin_expect(self->counted, 0)) {
        self->counted = false;
        __atomic_fetch_sub(&gate.running, 1, __ATOMIC_RELEASE);
    }
}

/*
 * The caller runs alone: gate_quiesce waits for it no more; a thread that registers or forks does.
 * Others that have committed may be in gate_quiesce still. Release: what they do next comes after
 * the reads of this one's attempts.
 */
static inline void gate_become_exclusive(struct tm_thread *self)
{
    __atomic_store_n(&self->state, TM_EXCLUSIVE, __ATOMIC_RELEASE);
}

/* Closes the gate and waits until no other thread is in a transaction. self may be NULL. */
void gate_close(struct tm_thread *self);

/* The same from within a transaction, which others would wait for: false if another closes it. */
bool gate_close_from_within(struct tm_thread *self);

/* The same for a thread that ends, which a transaction may wait for: false, with the gate open, if
 * another closes it or transactions go on for some 100 yields of the processor. */
bool gate_try_close(void);

void gate_open(void);

/* Waits until every transaction of another thread has ended or has valid reads as of time. */
void gate_quiesce(const struct tm_thread *self, uint64_t time);

/* Takes or gives back the hourglass. False: another has it. */
bool gate_take_hourglass(struct tm_thread *self);
void gate_release_hourglass(struct tm_thread *self);

/* A thread has come (1) or gone (-1). The caller has closed the gate. */
void gate_count_threads(int change);

/*
 * A fork begins in this thread: waits for transactions of others, for some 10,000 yields of the
 * processor at most. New ones wait until gate_end_fork, for half a second at most: the thread
 * may yet wait for them in a handler of fork that runs after this one. It can have transactions of
 * its own meanwhile; in the child, the first one calls in_child, which calls
 * gate_after_fork_in_child.
 */
void gate_begin_fork(const struct tm_thread *self, void (*in_child)(void));
void gate_end_fork(void);

/* In the child of a fork: self, or nobody, is the one thread there. */
void gate_after_fork_in_child(struct tm_thread *self);

#endif
