/*
 * SPDX-License-Identifier: MIT
 *
 * Another allocator in the process of a preloaded one: that which the program is linked to. Some of
 * its blocks come to the preloaded one's free. jemalloc's operator new takes a block inside
 * jemalloc, and its operator delete calls free by name; mallocx is its own, and free may be called
 * for what it gave out.
 */
#ifndef MPLACE_LINKED_ALLOCATOR_H
#define MPLACE_LINKED_ALLOCATOR_H

#include <stddef.h>

/* Atomic: several threads may look them up, and store the same. Relaxed. */
struct linked_allocator {
    void (*_Atomic free)(void *block);
    size_t (*_Atomic usable_size)(void *block);
};

/*
 * What free and malloc_usable_size mean behind the calling library, or behind the program that the
 * allocator is linked into. NULL: they are libc's there, or a sanitizer's. For a block that is not
 * the caller's own. Asks the dynamic linker the first time; leaves errno alone.
 */
const struct linked_allocator *linked_allocator(void);

#endif
