/*
 * SPDX-License-Identifier: MIT
 *
 * What a thread does between two looks at a word that it waits for.
 */
#ifndef MPLACE_BASE_SPIN_H
#define MPLACE_BASE_SPIN_H

/*
 * PAUSE: lets the sibling hardware thread run and spares the pipeline flush when the awaited line
 * arrives. About 40 cycles on Zen, 140 on Intel since Skylake. It aborts a hardware transaction:
 * never inside one.
 */
static inline void spin_pause(void)
{
    __builtin_ia32_pause();
}

#endif
