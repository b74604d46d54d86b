/*
 * SPDX-License-Identifier: MIT
 *
 * See allocator_mode.h.
 */
#include "cia_malloc/pages/allocator_mode.h"

#include "base/settings.h"
#include "cia_malloc/pages/geometry.h"

#include <string.h>

/* Read by every malloc and free: not in a line with words that are written, as the sums of huge
   blocks. */
_Alignas(LINE_BYTES) _Atomic uint8_t allocator_mode;

const char *profile_setting(void)
{
    const char *value = setting_text("CIA_PROFILE");

    /* "1" asks other settings for standard error, which is no place for a profile. */
    return value != NULL && strcmp(value, "0") != 0 && strcmp(value, "1") != 0 ? value : NULL;
}

uint8_t allocator_mode_decide(void)
{
    uint8_t mode = setting_switch("CIA_HARDEN", 0) ? MODE_HARDENED
                   : profile_setting() != NULL     ? MODE_PROFILED
                                                   : MODE_PLAIN;

    /* Threads that race here store the same. */
    atomic_store_explicit(&allocator_mode, mode, memory_order_relaxed);
    return mode;
}
