/*
 * SPDX-License-Identifier: MIT
 *
 * See sites.h.
 */
#include "cia_malloc/profile/sites.h"

#include "cia_malloc/profile/stack_walk.h"
#include "cia_malloc/profile/weight.h"

#include <assert.h>
#include <sys/auxv.h>

static_assert(sizeof(struct stack_walk) <= KEPT_BYTES_MOST, "a stack is kept whole");

/* Before and behind the code of this library, or of the program that it was linked into. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _DYNAMIC[] __attribute__((visibility("hidden"), weak));

static bool is_here(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_DYNAMIC;
}

/* False in a program that this library is linked into: its frames stay, or the program's went, too.
   Written before there are samples. */
static bool is_apart;

void sites_start(void)
{
    is_apart = !is_here(getauxval(AT_ENTRY));
    kept_start();
    stack_walk_start();
}

struct site *site_of_call(const void *frame, size_t class_bytes, uint32_t colour)
{
    struct stack_walk walk;
    uint32_t first = 0;

    stack_walk(frame, &walk);
    while (is_apart && first + 1 < walk.depth && is_here(walk.address[first]))
        first++;
    const struct kept *stack = keep(KEPT_STACK, walk.address + first, walk.depth - first, 0);
    if (stack == NULL)
        return NULL;
    const uint64_t key[] = {(uintptr_t)stack, class_bytes, colour};
    static_assert(offsetof(struct site, stack) == sizeof(struct kept) &&
                      offsetof(struct site, allocated) == sizeof(struct kept) + sizeof key,
                  "the key's place");
    return (struct site *)keep(KEPT_SITE, key, 3, 2 * sizeof(struct site_sum));
}

void site_add(struct site_sum *sum, int64_t samples, size_t bytes, uint64_t interval)
{
    double weight = weight_of(bytes, interval);
    int64_t parts = (int64_t)(weight * SITE_PARTS + 0.5);
    int64_t weighted = (int64_t)(weight * (double)bytes + 0.5);

    atomic_fetch_add_explicit(&sum->parts, (uint64_t)(samples * parts), memory_order_relaxed);
    atomic_fetch_add_explicit(&sum->bytes, (uint64_t)(samples * weighted), memory_order_relaxed);
}
