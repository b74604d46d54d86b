/*
 * SPDX-License-Identifier: MIT
 *
 * The condition waits that libttstle_lock.so interposes; see condition.c.
 */
#ifndef MPLACE_CONDITION_H
#define MPLACE_CONDITION_H

/* Looks up libc's functions, so that no wait has to after the constructor ran. */
void condition_resolve(void);

#endif
