/*
 * SPDX-License-Identifier: MIT
 *
 * Whether CIA_HARDEN=1 is on. Here because chunks and mappings get guard pages then; the rest is
 * in hardened/.
 */
#ifndef MPLACE_CIA_HARDEN_MODE_H
#define MPLACE_CIA_HARDEN_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Unknown until the first call of the malloc family, whoever makes it; then off or on for ever. The
 * block of that call must be known for what it is when it comes back: so nothing waits for the
 * first sub-heap, or a constructor.
 */
enum { HARDEN_UNKNOWN, HARDEN_OFF, HARDEN_ON };
extern _Atomic uint8_t harden_mode;

/* What to do while it is not off: reads the setting if need be. Idempotent. */
bool harden_decide(void);

/* Off the fast paths: while it is on they are never taken, see heap_table.c. */
static inline bool harden_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&harden_mode, memory_order_relaxed) != HARDEN_OFF,
                            0) &&
           harden_decide();
}

#endif
