/*
 * SPDX-License-Identifier: MIT
 *
 * Words that the elision core and a transaction back end share. The status bits are those that RTM
 * leaves in EAX (Intel SDM volume 1, chapter 16), so the native back end passes them on as they
 * are.
 */
#ifndef MPLACE_HTM_STATUS_H
#define MPLACE_HTM_STATUS_H

#define HTM_STARTED (~0u)

enum {
    HTM_EXPLICIT = 1 << 0, /* our own abort; its code is in bits 31 to 24 */
    HTM_RETRY = 1 << 1,    /* the processor's guess that trying again may help */
    HTM_CONFLICT = 1 << 2, /* another thread touched the same line */
    HTM_CAPACITY = 1 << 3, /* more lines than the processor can track */
    HTM_DEBUG = 1 << 4,    /* a breakpoint */
    HTM_NESTED = 1 << 5,   /* it happened in a nested transaction; all of them are gone */
    /* No bit at all: a system call, page fault, interrupt, PAUSE, CPUID, x87 ... */

    HTM_CODE_SHIFT = 24,
};

/* Codes of explicit aborts. */
enum htm_code {
    /* The lock that was about to be elided is held. Retrying helps once it is free. */
    HTM_CODE_BUSY = 0xb1,
    /* The section does what only a physical holder may do. Retrying never helps. */
    HTM_CODE_PHYSICAL = 0xb2,
};

static inline unsigned htm_code_of(unsigned status)
{
    return status >> HTM_CODE_SHIFT;
}

#endif
