/*
 * SPDX-License-Identifier: MIT
 *
 * See linked_allocator.h.
 */
#include "malloc_family/linked_allocator.h"

#include "base/real_symbol.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct linked_allocator next;

/* Stored after the functions (release), read before them (acquire). */
static enum { UNKNOWN, LIBC, ANOTHER } _Atomic state;

/* NULL unless there is a sanitizer, whose blocks come back to it alone. A weak reference, because
   dlsym allocates where it finds nothing, and this is the middle of a free: the new block could
   begin at the address that is freed, and a second free of it would pass for the first. */
__attribute__((weak)) int __sanitizer_get_ownership(const volatile void *block);

/* libc has all three names: dlsym finds something. */
static void look_up(void)
{
    const void *libc = object_of(real_symbol("gnu_get_libc_version", NULL));
    void *next_free = real_symbol("free", NULL);
    void *next_usable_size = real_symbol("malloc_usable_size", NULL);
    bool is_another = __sanitizer_get_ownership == NULL && next_free != NULL &&
                      object_of(next_free) != libc && next_usable_size != NULL &&
                      object_of(next_usable_size) != libc;

    atomic_store_explicit(&next.free, (void (*)(void *))next_free, memory_order_relaxed);
    atomic_store_explicit(&next.usable_size, (size_t(*)(void *))next_usable_size,
                          memory_order_relaxed);
    atomic_store_explicit(&state, is_another ? ANOTHER : LIBC, memory_order_release);
}

const struct linked_allocator *linked_allocator(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == UNKNOWN) {
        int saved_errno = errno;

        look_up();
        errno = saved_errno;
    }
    return atomic_load_explicit(&state, memory_order_acquire) == ANOTHER ? &next : NULL;
}
