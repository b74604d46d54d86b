/*
 * SPDX-License-Identifier: MIT
 *
 * See stacks.h.
 */
#include "cia_malloc/profile/stacks.h"

#include "cia_malloc/profile/arena.h"
#include "cia_malloc/profile/stack_walk.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

enum { HASH_BUCKETS = 1 << 12 };

/* Pushed by compare-and-swap (release), read with acquire; never taken away. */
static struct stack *_Atomic table[HASH_BUCKETS];

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

static uint64_t hash_of(const uintptr_t *address, uint32_t depth)
{
    uint64_t hash = depth;

    for (uint32_t i = 0; i < depth; i++)
        hash = (hash ^ hash >> 29 ^ address[i]) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static struct stack *find(struct stack *stack, uint64_t hash, const uintptr_t *address,
                          uint32_t depth)
{
    while (stack != NULL && !(stack->hash == hash && stack->depth == depth &&
                              memcmp(stack->address, address, depth * sizeof *address) == 0))
        stack = stack->next;
    return stack;
}

static const struct stack *keep(const uintptr_t *address, uint32_t depth)
{
    uint64_t hash = hash_of(address, depth);
    struct stack *_Atomic *bucket = &table[hash % HASH_BUCKETS];
    struct stack *first = atomic_load_explicit(bucket, memory_order_acquire);
    struct stack *stack = find(first, hash, address, depth);

    if (stack != NULL)
        return stack;
    stack = arena_take(sizeof *stack + depth * sizeof *address);
    if (stack == NULL)
        return NULL;
    stack->hash = hash;
    stack->depth = depth;
    memcpy(stack->address, address, depth * sizeof *address);
    /* Two threads that come at once may keep it twice. */
    stack->next = first;
    while (!atomic_compare_exchange_weak_explicit(bucket, &stack->next, stack, memory_order_acq_rel,
                                                  memory_order_acquire))
        ;
    return stack;
}

void stacks_start(void)
{
    is_apart = !is_here(getauxval(AT_ENTRY));
    stack_walk_start();
}

const struct stack *stack_of_call(const void *frame)
{
    struct stack_walk walk;
    uint32_t first = 0;

    stack_walk(frame, &walk);
    while (is_apart && first + 1 < walk.depth && is_here(walk.address[first]))
        first++;
    return keep(walk.address + first, walk.depth - first);
}

const struct stack *stack_next(const struct stack *stack)
{
    uint64_t bucket = stack != NULL ? stack->hash % HASH_BUCKETS + 1 : 0;

    if (stack != NULL && stack->next != NULL)
        return stack->next;
    for (; bucket < HASH_BUCKETS; bucket++) {
        stack = atomic_load_explicit(&table[bucket], memory_order_acquire);
        if (stack != NULL)
            return stack;
    }
    return NULL;
}
