/*
 * SPDX-License-Identifier: MIT
 *
 * See bank_atfork_early.c.
 */
#ifndef MPLACE_BANK_ATFORK_EARLY_H
#define MPLACE_BANK_ATFORK_EARLY_H

/* How many blocks the child of a fork had in the library's handler. */
extern __attribute__((visibility("default"))) unsigned bank_atfork_blocks;

#endif
