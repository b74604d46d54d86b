/*
 * SPDX-License-Identifier: MIT
 *
 * Overflows one set of the first-level cache by lines of heap blocks that were allocated in one
 * way, for the report to tell: blame_blocks HOW SIZE WAYS.
 */
#include "transaction.h"

#include <malloc.h>

enum { BLOCKS = 6000, SETS = 64, LINE = 64 };

static void *blocks[BLOCKS];
static size_t size;

void *operator_new(size_t bytes) __asm__("_Znwm");

/* More is allocated and freed before, so that the transaction finds the allocator's pages there. */
static __attribute__((noinline)) void *in_a_transaction(void)
{
    void *volatile block = NULL;

    for (int i = 0; i < 10000; i++) {
        void *more = malloc(size + 8192);

        memset(more, 1, size + 8192);
        __asm__ volatile("" : : "r"(more) : "memory"); /* or the compiler leaves it all out */
        free(more);
        if (begin() == STARTED) {
            block = malloc(size);
            end();
            return block;
        }
    }
    EXPECT(!"no transaction with malloc in it commits");
    return NULL;
}

/* Allocates free memory again, and aborts: it is free all the same. */
static __attribute__((noinline)) void allocate_in_vain(void)
{
    int status = begin();

    if (status == STARTED) {
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(size);
        ABORT(1);
    }
    EXPECT(status != STARTED);
}

/* What an aborted transaction freed is still allocated. */
static __attribute__((noinline)) void *freed_in_vain(void)
{
    void *block = malloc(size);

    for (int i = 0; i < 3; i++) {
        if (begin() == STARTED) {
            free(block);
            ABORT(1);
        }
    }
    return block;
}

static uint8_t not_blocks[BLOCKS][1536] __attribute__((aligned(4096)));

/* As the entry of a lock does: returns within the transaction, and again after its abort. */
static __attribute__((noinline)) void *begin_and_return(void *result, int *status)
{
    *status = begin();
    return result;
}

/*
 * An abort leaves a malloc that the thread was in. The function that returns next to the same place
 * on the stack is not that malloc, and what it returns is not a block.
 */
static __attribute__((noinline)) void leave_a_call(void)
{
    int status;
    void *result = begin_and_return(not_blocks, &status);

    if (status == STARTED) {
        void *volatile block = malloc(sizeof not_blocks); /* a system call, which aborts */
        (void)block;
        end();
        EXPECT(!"malloc makes no system call");
    }
    EXPECT(result == not_blocks);
}

static __attribute__((noinline)) void *allocate_one(const char *how)
{
    void *block = NULL;

    if (strcmp(how, "malloc") == 0)
        return malloc(size);
    if (strcmp(how, "calloc") == 0)
        return calloc(size / 4, 4);
    if (strcmp(how, "realloc") == 0)
        return realloc(malloc(24), size);
    if (strcmp(how, "reallocarray") == 0)
        return reallocarray(NULL, size / 8, 8);
    if (strcmp(how, "memalign") == 0)
        return memalign(256, size);
    if (strcmp(how, "aligned_alloc") == 0)
        return aligned_alloc(64, size);
    if (strcmp(how, "posix_memalign") == 0)
        return posix_memalign(&block, 128, size) == 0 ? block : NULL;
    if (strcmp(how, "new") == 0)
        return operator_new(size);
    if (strcmp(how, "left") == 0) {
        static int used;
        return not_blocks[used++];
    }
    if (strcmp(how, "committed") == 0)
        return in_a_transaction();
    if (strcmp(how, "freed_in_vain") == 0)
        return freed_in_vain();
    if (strcmp(how, "freed") == 0 || strcmp(how, "allocated_in_vain") == 0)
        return malloc(size);
    fprintf(stderr, "blame_blocks: unknown way '%s'\n", how);
    exit(2);
}

static __attribute__((noinline)) void allocate(const char *how)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = allocate_one(how);
        EXPECT(blocks[i] != NULL);
        memset(blocks[i], 1, size);
    }
}

enum { LINES_MOST = 65 };

/*
 * Blocks whose first whole line falls into one set, the set that has most; their lines. lines is on
 * the stack that the transaction writes to: the sets around it are left out, for a line of the
 * stack would be one of those that fill the set.
 */
static size_t choose(volatile uint8_t **lines, size_t most)
{
    enum { BELOW = 512, ABOVE = 128 /* frames of callees, and the rest of the own one */ };
    uintptr_t stack = (uintptr_t)lines - BELOW, stack_end = (uintptr_t)(lines + LINES_MOST) + ABOVE;
    unsigned counts[SETS] = {0}, best = 0;
    size_t chosen = 0;

    for (int i = 0; i < BLOCKS; i++)
        counts[((uintptr_t)blocks[i] + LINE - 1) / LINE % SETS]++;
    for (uintptr_t line = stack / LINE; line <= stack_end / LINE; line++)
        counts[line % SETS] = 0;
    for (unsigned set = 0; set < SETS; set++)
        best = counts[set] > counts[best] ? set : best;
    for (int i = 0; i < BLOCKS && chosen < most; i++) {
        if (((uintptr_t)blocks[i] + LINE - 1) / LINE % SETS == best)
            lines[chosen++] =
                (uint8_t *)(((uintptr_t)blocks[i] + LINE - 1) & ~(uintptr_t)(LINE - 1));
    }
    return chosen;
}

int main(int count, char **arguments)
{
    volatile uint8_t *lines[LINES_MOST];
    size_t ways, chosen;
    int status;

    EXPECT(count == 4);
    size = strtoul(arguments[2], NULL, 0);
    ways = strtoul(arguments[3], NULL, 0);
    EXPECT(ways < LINES_MOST - 1 && size >= 128);
    need_transactions();
    allocate(arguments[1]);
    chosen = choose(lines, ways + 1);
    EXPECT_EQUAL(chosen, ways + 1);
    if (strcmp(arguments[1], "freed") == 0 || strcmp(arguments[1], "allocated_in_vain") == 0) {
        EXPECT(mallopt(M_TRIM_THRESHOLD, 1 << 30)); /* free memory stays mapped */
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    if (strcmp(arguments[1], "allocated_in_vain") == 0)
        allocate_in_vain();
    if (strcmp(arguments[1], "left") == 0)
        leave_a_call();
    status = begin();
    if (status == STARTED) {
        for (size_t i = 0; i < chosen; i++)
            *lines[i] = 1;
        end();
    }
    EXPECT_EQUAL(status & CAUSES, CAPACITY);
    printf("%zu\n", (uintptr_t)lines[0] / LINE % SETS);
    return 0;
}
