/*
 * SPDX-License-Identifier: MIT
 *
 * What the malloc family does in this process: nothing else, or CIA_HARDEN=1, or CIA_PROFILE. Here
 * because chunks and mappings get guard pages in hardened mode; the rest is in hardened/ and
 * profile/.
 */
#ifndef MPLACE_CIA_ALLOCATOR_MODE_H
#define MPLACE_CIA_ALLOCATOR_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Unknown until the first call of the malloc family, whoever makes it; then one of the others for
 * ever. The block of that call must be known for what it is when it comes back: so nothing waits
 * for the first sub-heap, or a constructor.
 */
enum { MODE_UNKNOWN, MODE_PLAIN, MODE_HARDENED, MODE_PROFILED };
extern _Atomic uint8_t allocator_mode;

/* Reads the settings. Returns the mode, which is known from then on. */
uint8_t allocator_mode_decide(void);

/* Off the fast paths: in a mode that is not plain malloc leaves its own at once, see
   magazines_choose. */
static inline bool mode_is_plain(void)
{
    return __builtin_expect(
        atomic_load_explicit(&allocator_mode, memory_order_relaxed) == MODE_PLAIN, 1);
}

static inline bool mode_is(uint8_t mode)
{
    uint8_t now = atomic_load_explicit(&allocator_mode, memory_order_relaxed);

    return (now == MODE_UNKNOWN ? allocator_mode_decide() : now) == mode;
}

static inline bool harden_is_on(void)
{
    return !mode_is_plain() && mode_is(MODE_HARDENED);
}

static inline bool profile_is_on(void)
{
    return !mode_is_plain() && mode_is(MODE_PROFILED);
}

/* The name of the file that CIA_PROFILE asks for, or NULL. */
const char *profile_setting(void);

#endif
