/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See futex.h.
 */
#include "rtmgrind/transactions/futex.h"

#include "rtmgrind/common/core_internals.h"

/* Linux, include/uapi/linux/futex.h */
enum {
    OPERATION_WAIT = 0,
    OPERATION_WAKE = 1,
    OPERATION_REQUEUE = 3,
    OPERATION_CMP_REQUEUE = 4,
    OPERATION_WAKE_OP = 5,
    OPERATION_LOCK_PI = 6,
    OPERATION_UNLOCK_PI = 7,
    OPERATION_TRYLOCK_PI = 8,
    OPERATION_WAIT_BITSET = 9,
    OPERATION_WAKE_BITSET = 10,
    OPERATION_WAIT_REQUEUE_PI = 11,
    OPERATION_CMP_REQUEUE_PI = 12,
    OPERATION_LOCK_PI2 = 13,
    FLAG_PRIVATE = 128,
    FLAG_CLOCK_REALTIME = 256,
    WAKE_ALL = 0x7fffffff,
};

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

static UWord operation_of(const UWord *arguments)
{
    return arguments[1] & ~(UWord)(FLAG_PRIVATE | FLAG_CLOCK_REALTIME);
}

Bool futex_wakes(const UWord *arguments)
{
    return operation_of(arguments) == OPERATION_WAKE ||
           operation_of(arguments) == OPERATION_WAKE_OP ||
           operation_of(arguments) == OPERATION_WAKE_BITSET;
}

Bool futex_never_sleeps(const UWord *arguments)
{
    switch (operation_of(arguments)) {
    case OPERATION_WAKE:
    case OPERATION_WAKE_OP:
    case OPERATION_WAKE_BITSET:
    case OPERATION_REQUEUE:
    case OPERATION_CMP_REQUEUE:
    case OPERATION_CMP_REQUEUE_PI:
    case OPERATION_UNLOCK_PI:
    case OPERATION_TRYLOCK_PI:
        return True;
    default:
        return False;
    }
}

Bool futex_is_private(const UWord *arguments)
{
    return (arguments[1] & FLAG_PRIVATE) != 0;
}

Addr futex_word_written(const UWord *arguments)
{
    switch (operation_of(arguments)) {
    case OPERATION_LOCK_PI:
    case OPERATION_LOCK_PI2:
    case OPERATION_TRYLOCK_PI:
    case OPERATION_UNLOCK_PI:
        return arguments[0];
    case OPERATION_WAKE_OP:
    case OPERATION_WAIT_REQUEUE_PI:
    case OPERATION_CMP_REQUEUE_PI:
        return arguments[4];
    default:
        return 0;
    }
}

void futex_called(ThreadId thread, const UWord *arguments)
{
    UWord operation = operation_of(arguments);

    futex_returned(thread);
    if (operation != OPERATION_WAIT && operation != OPERATION_WAIT_BITSET)
        return;
    waiters[thread] = (struct waiter){.word = arguments[0], .scope = arguments[1] & FLAG_PRIVATE};
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
            (void)VG_(do_syscall)(__NR_futex, word, OPERATION_WAKE | waiters[thread].scope,
                                  WAKE_ALL, 0, 0, 0, 0, 0);
    }
}
