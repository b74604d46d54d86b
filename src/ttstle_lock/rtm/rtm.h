/*
 * SPDX-License-Identifier: MIT
 *
 * The native transaction back end: Intel RTM. The only file with RTM instructions in it. All of
 * them, XTEST too, are undefined where the processor lacks RTM: nobody may call these functions
 * unless htm_usable says so (rtm_probe.c decides). The unit tests put a scripted back end with the
 * same functions in this one's place.
 */
#ifndef MPLACE_RTM_H
#define MPLACE_RTM_H

#include "ttstle_lock/rtm/htm_status.h"

#include <stdbool.h>

/* False until the constructor found that transactions commit here; set once. */
extern bool htm_usable __attribute__((visibility("hidden")));

/*
 * HTM_STARTED, or the status of an abort: then this call returns a second time, memory and
 * registers as they were at the first. May be called inside a transaction (flat nesting, up to 7
 * deep); an abort then comes back at the outermost begin.
 */
static inline unsigned htm_begin(void)
{
    unsigned status = HTM_STARTED; /* a transaction that starts leaves EAX alone */

    __asm__ volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
    return status;
}

/* Ends the innermost transaction; the outermost end commits. A fault outside of any. */
static inline void htm_end(void)
{
    __asm__ volatile("xend" : : : "memory");
}

static inline bool htm_active(void)
{
    bool active;

    __asm__ volatile("xtest\n\tsetnz %0" : "=q"(active) : : "cc", "memory");
    return active;
}

/* Two functions and no parameter, for the code is a constant in the instruction. */
static inline __attribute__((noreturn)) void htm_abort_busy(void)
{
    __asm__ volatile("xabort %0" : : "i"(HTM_CODE_BUSY) : "memory");
    __builtin_unreachable();
}

static inline __attribute__((noreturn)) void htm_abort_physical(void)
{
    __asm__ volatile("xabort %0" : : "i"(HTM_CODE_PHYSICAL) : "memory");
    __builtin_unreachable();
}

#endif
