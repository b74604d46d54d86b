/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a program's call of futex(2) asks for, by its arguments; and the tool's own calls.
 */
#ifndef VIRTUAL_PROCESSORS_FUTEX_CALL_H
#define VIRTUAL_PROCESSORS_FUTEX_CALL_H

#include "program_calls/valgrind_api.h"

/* Linux, include/uapi/linux/futex.h */
enum futex_operation {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_TRYLOCK_PI = 8,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_CMP_REQUEUE_PI = 12,
    FUTEX_LOCK_PI2 = 13,
    FUTEX_PRIVATE = 128,
    FUTEX_CLOCK_REALTIME = 256,
};

/* The tool's own word, read and written by threads of its process only. Sleeps while it holds
 * `value`, or for no cause; wakes one that sleeps. */
void futex_sleep(const UInt *word, UInt value);
void futex_wake_one(const UInt *word);

/* Without flags. */
UWord futex_operation(const UWord *arguments);

/* The call never sleeps; and it wakes as many others as it returns. */
Bool futex_never_sleeps(const UWord *arguments);
Bool futex_wakes(const UWord *arguments);

/* It is for threads of this process only. */
Bool futex_is_private(const UWord *arguments);

#endif
