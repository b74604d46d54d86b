/*
 * SPDX-License-Identifier: MIT
 *
 * See deepbind_library.c.
 */
#ifndef TM_DEEPBIND_LIBRARY_H
#define TM_DEEPBIND_LIBRARY_H

/* Whether the library's runtime has a transaction of the calling thread. */
int is_in_transaction(void);

/* In a transaction; returns how often it was called. */
long add_one(void);

#endif
