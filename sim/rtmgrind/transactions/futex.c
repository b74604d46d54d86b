/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See futex.h.
 */
#include "rtmgrind/transactions/futex.h"

#include "program_calls/core_internals.h"

enum { WAKE_ALL = 0x7fffffff };

struct waiter {
    Addr word; /* 0: does not wait */
    UWord scope;
};

static struct waiter *waiters; /* by thread */
static UInt waiting;

void futex_init(void)
{
    waiters = VG_(calloc)("rtm.futex", VG_N_THREADS, sizeof *waiters);
}

Addr futex_word_written(const UWord *arguments)
{
    switch (futex_operation(arguments)) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
        return arguments[0];
    case FUTEX_WAKE_OP:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
        return arguments[4];
    default:
        return 0;
    }
}

void futex_called(ThreadId thread, const UWord *arguments)
{
    UWord operation = futex_operation(arguments);

    futex_returned(thread);
    if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
        return;
    waiters[thread] = (struct waiter){.word = arguments[0], .scope = arguments[1] & FUTEX_PRIVATE};
    waiting++;
}

void futex_returned(ThreadId thread)
{
    if (waiters[thread].word == 0)
        return;
    waiters[thread].word = 0;
    waiting--;
}

void futex_forget(void)
{
    for (ThreadId thread = 0; thread < VG_N_THREADS; thread++)
        waiters[thread].word = 0;
    waiting = 0;
}

static Bool wrote_to(const struct transaction *transaction, Addr word)
{
    Addr line = word & ~(Addr)(LINE_BYTES - 1);

    for (UInt i = 0; i < transaction->undo_used; i++) {
        if (transaction->undo[i].line == line)
            return (transaction->undo[i].written >> (word - line) & 0xf) != 0;
    }
    return False;
}

void futex_put_back(const struct transaction *transaction)
{
    if (LIKELY(waiting == 0))
        return;
    for (ThreadId thread = 1; thread < VG_N_THREADS; thread++) {
        Addr word = waiters[thread].word;
        if (word != 0 && wrote_to(transaction, word))
            (void)VG_(do_syscall)(__NR_futex, word, FUTEX_WAKE | waiters[thread].scope, WAKE_ALL, 0,
                                  0, 0, 0, 0);
    }
}
