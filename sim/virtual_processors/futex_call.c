/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See futex_call.h.
 */
#include "virtual_processors/futex_call.h"

#include "program_calls/core_internals.h"

void futex_sleep(const UInt *word, UInt value)
{
    (void)VG_(do_syscall)(__NR_futex, (UWord)word, FUTEX_WAIT | FUTEX_PRIVATE, value, 0, 0, 0, 0,
                          0);
}

void futex_wake_one(const UInt *word)
{
    (void)VG_(do_syscall)(__NR_futex, (UWord)word, FUTEX_WAKE | FUTEX_PRIVATE, 1, 0, 0, 0, 0, 0);
}

UWord futex_operation(const UWord *arguments)
{
    return arguments[1] & ~(UWord)(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME);
}

Bool futex_wakes(const UWord *arguments)
{
    return futex_operation(arguments) == FUTEX_WAKE ||
           futex_operation(arguments) == FUTEX_WAKE_OP ||
           futex_operation(arguments) == FUTEX_WAKE_BITSET;
}

Bool futex_never_sleeps(const UWord *arguments)
{
    switch (futex_operation(arguments)) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_OP:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_TRYLOCK_PI:
        return True;
    default:
        return False;
    }
}

Bool futex_is_private(const UWord *arguments)
{
    return (arguments[1] & FUTEX_PRIVATE) != 0;
}
