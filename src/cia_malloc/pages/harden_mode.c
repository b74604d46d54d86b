/*
 * SPDX-License-Identifier: MIT
 *
 * See harden_mode.h.
 */
#include "cia_malloc/pages/harden_mode.h"

#include "base/settings.h"

_Atomic uint8_t harden_mode;

bool harden_decide(void)
{
    uint8_t mode = atomic_load_explicit(&harden_mode, memory_order_relaxed);

    if (mode == HARDEN_UNKNOWN) {
        mode = setting_switch("CIA_HARDEN", 0) ? HARDEN_ON : HARDEN_OFF;
        /* Threads that race here store the same. */
        atomic_store_explicit(&harden_mode, mode, memory_order_relaxed);
    }
    return mode == HARDEN_ON;
}
