/*
 * SPDX-License-Identifier: MIT
 *
 * See early_library.c.
 */
#ifndef TM_EARLY_LIBRARY_H
#define TM_EARLY_LIBRARY_H

/* Set: the handlers of fork hold the mutex meanwhile. */
extern int lock_in_handlers;

/* 2 where the constructor has run. */
long number_of_library(void);

void step_under_the_mutex(void);

#endif
