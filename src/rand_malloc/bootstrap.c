/*
 * SPDX-License-Identifier: MIT
 *
 * The bootstrap arena; see bootstrap.h.
 */
#include "rand_malloc/bootstrap.h"

#include <errno.h>
#include <stdatomic.h>

enum { GRAIN = 16 };

/* Zeroed by being static, and each byte is handed out once: calloc needs no memset. */
char bootstrap_arena[BOOTSTRAP_BYTES] __attribute__((aligned(GRAIN)));

/* Bytes handed out. Relaxed: an addition that fits makes its bytes this caller's alone. */
static _Atomic size_t used;

/* The size stands in the GRAIN bytes below the block. */
static size_t *size_of(void *block)
{
    return (size_t *)((char *)block - GRAIN);
}

void *bootstrap_allocate(size_t size, size_t alignment)
{
    size_t before = atomic_load_explicit(&used, memory_order_relaxed);
    size_t begin, end;

    if (alignment < GRAIN)
        alignment = GRAIN;
    do {
        uintptr_t base = (uintptr_t)bootstrap_arena;

        /* Checked one by one so that no sum can wrap. */
        if (size > BOOTSTRAP_BYTES || alignment > BOOTSTRAP_BYTES) {
            errno = ENOMEM;
            return NULL;
        }
        begin = (size_t)(((base + before + GRAIN + alignment - 1) & ~(alignment - 1)) - base);
        end = (begin + size + GRAIN - 1) & ~(size_t)(GRAIN - 1);
        if (end >= BOOTSTRAP_BYTES) { /* >=: a block of 0 bytes must lie within, too */
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&used, &before, end, memory_order_relaxed,
                                                    memory_order_relaxed));
    *size_of(bootstrap_arena + begin) = size;
    return bootstrap_arena + begin;
}

size_t bootstrap_size(const void *block)
{
    return *size_of((void *)block);
}
