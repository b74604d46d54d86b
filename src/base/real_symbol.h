/*
 * SPDX-License-Identifier: MIT
 *
 * The next definition of a function that this library interposes: libc's, or that of the next
 * library in the preload order.
 */
#ifndef MPLACE_BASE_REAL_SYMBOL_H
#define MPLACE_BASE_REAL_SYMBOL_H

/*
 * Looks name up behind the calling library, first in the given version ("GLIBC_2.3.2"; NULL for
 * none), then in the default one. Returns NULL when nobody defines it. Needs no constructor to have
 * run. The dynamic linker may call calloc while it fails: an allocator that asks must be ready to
 * serve that call without asking again.
 */
void *real_symbol(const char *name, const char *version);

/* Where the executable or library that contains function begins; NULL of NULL and of an address in
 * none. */
const void *object_of(const void *function);

#endif
