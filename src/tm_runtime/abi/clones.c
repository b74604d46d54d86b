/*
 * SPDX-License-Identifier: MIT
 *
 * Clone tables: each object compiled with -fgnu-tm registers pairs of a function and its clone with
 * barriers, in the order in which the linker put them together. Sorted when they are registered,
 * and looked up where a transaction calls through a pointer. Tables come and go with dlopen and
 * dlclose, under the dynamic linker's lock, while others look up.
 *
 * A table is the object's memory, which is unmapped after the table has gone: that waits for the
 * searches that may be in it. Not for transactions, which may wait for the dynamic linker's lock.
 */
#include "base/pages.h"
#include "base/system_call.h"
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/algorithms/htm.h"
#include "tm_runtime/transaction.h"

struct clone {
    const void *function;
    void *clone;
};

/* A node is never given back, only used again: a walk of the list needs no lock. */
struct clone_table {
    const struct clone *clones; /* sorted by function; NULL: the object is gone */
    size_t count;               /* written before clones, which is a release store */
    struct clone_table *next;
};

ITM_EXPORT void _ITM_registerTMCloneTable(void *clones, size_t count);
ITM_EXPORT void _ITM_deregisterTMCloneTable(void *clones);
ITM_EXPORT void *_ITM_getTMCloneOrIrrevocable(void *function);
ITM_EXPORT void *_ITM_getTMCloneSafe(void *function);

static struct clone_table first_nodes[64];
static size_t first_nodes_used;
static struct clone_table *tables;

static struct clone_table *new_node(void)
{
    size_t at = __atomic_fetch_add(&first_nodes_used, 1, __ATOMIC_RELAXED);

    if (at < sizeof first_nodes / sizeof *first_nodes)
        return &first_nodes[at];
    return pages_map(sizeof(struct clone_table), 0);
}

/* Takes a node whose object is gone; its count is not read as long as clones is NULL. */
static bool reuse_node(void *clones, size_t count)
{
    for (struct clone_table *node = __atomic_load_n(&tables, __ATOMIC_ACQUIRE); node != NULL;
         node = node->next) {
        if (__atomic_load_n(&node->clones, __ATOMIC_RELAXED) == NULL && node->count == count) {
            __atomic_store_n(&node->clones, clones, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

/* Moves the clone at that place of a heap down until none below it has a later function. */
static void sift_down(struct clone *clones, size_t at, size_t count)
{
    struct clone moving = clones[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < count && clones[child].function < clones[child + 1].function)
            child++;
        if (child >= count || clones[child].function <= moving.function)
            break;
        clones[at] = clones[child];
        at = child;
    }
    clones[at] = moving;
}

/* In place, a heap sort: qsort may call malloc. */
static void sort(struct clone *clones, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        sift_down(clones, at, count);
    while (count > 1) {
        struct clone last = clones[--count];

        clones[count] = clones[0];
        clones[0] = last;
        sift_down(clones, 0, count);
    }
}

/* Without memory the object has no clones: its transactions go irrevocable at such calls. */
void _ITM_registerTMCloneTable(void *clones, size_t count)
{
    struct clone_table *node;

    sort(clones, count);
    if (reuse_node(clones, count))
        return;
    node = new_node();
    if (node == NULL)
        return;
    node->count = count;
    node->clones = clones;
    node->next = __atomic_load_n(&tables, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&tables, &node->next, node, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
}

/* Pairs with find: a search that this does not see does not see the table. */
static void wait_for_searches(void)
{
    for (const struct tm_thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        while (__atomic_load_n(&thread->searches_clones, __ATOMIC_SEQ_CST))
            (void)system_call(SYS_sched_yield, 0, NULL, 0);
    }
}

void _ITM_deregisterTMCloneTable(void *clones)
{
    for (struct clone_table *node = __atomic_load_n(&tables, __ATOMIC_ACQUIRE); node != NULL;
         node = node->next) {
        if (__atomic_load_n(&node->clones, __ATOMIC_RELAXED) == clones) {
            __atomic_store_n(&node->clones, NULL, __ATOMIC_SEQ_CST);
            wait_for_searches();
            return;
        }
    }
}

static void *find_in(const struct clone *clones, size_t count, const void *function)
{
    while (count != 0) {
        const struct clone *middle = &clones[count / 2];

        if (middle->function == function)
            return middle->clone;
        if (middle->function < function) {
            clones = middle + 1;
            count -= count / 2 + 1;
        } else {
            count /= 2;
        }
    }
    return NULL;
}

/* self: NULL outside of transactions, where no other thread may take a table away. */
static void *find(struct tm_thread *self, const void *function)
{
    void *clone = NULL;

    if (self != NULL)
        __atomic_store_n(&self->searches_clones, true, __ATOMIC_SEQ_CST);
    for (const struct clone_table *node = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
         node != NULL && clone == NULL; node = node->next) {
        const struct clone *clones = __atomic_load_n(&node->clones, __ATOMIC_SEQ_CST);

        if (clones != NULL)
            clone = find_in(clones, node->count, function);
    }
    if (self != NULL)
        __atomic_store_n(&self->searches_clones, false, __ATOMIC_RELEASE);
    return clone;
}

void *_ITM_getTMCloneOrIrrevocable(void *function)
{
    void *clone = find(tm_self, function);

    if (clone != NULL)
        return clone;
    htm_leave_for_software(tm_self);
    tm_self->unsafe_function = function;
    transaction_become_irrevocable(tm_self);
    return function;
}

void *_ITM_getTMCloneSafe(void *function)
{
    void *clone = find(tm_self, function);

    if (clone == NULL)
        tm_fatal("a transaction calls a function that has no transactional clone");
    return clone;
}
