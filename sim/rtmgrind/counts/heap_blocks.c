/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See heap_blocks.h.
 */
#include "rtmgrind/counts/heap_blocks.h"

#include "pub_tool_wordfm.h"

/* A change that a transaction made to the blocks: added or removed this one. */
struct change {
    struct heap_block block;
    Bool added;
};

struct journal {
    struct change *changes;
    UInt used, room;
};

static WordFM *blocks; /* struct heap_block by address; blocks do not overlap */
static struct journal journals[CPUS_MOST];

/* Orders by address; blocks that overlap are the same. */
static Word compare(UWord left, UWord right)
{
    const struct heap_block *a = (const struct heap_block *)left;
    const struct heap_block *b = (const struct heap_block *)right;

    if (a->start + a->size <= b->start)
        return -1;
    return b->start + b->size <= a->start ? 1 : 0;
}

/* The first block with a byte in the range, or NULL. */
static struct heap_block *find(Addr start, SizeT size)
{
    struct heap_block range = {start, size, NULL}, *found = NULL;
    UWord key, value;

    /* A search may meet any of those that overlap: look for one further to the left. */
    while (VG_(lookupFM)(blocks, &key, &value, (UWord)&range)) {
        found = (struct heap_block *)key;
        if (found->start <= start)
            break;
        range.size = found->start - start;
    }
    return found;
}

static void note(const struct heap_block *block, Bool added)
{
    if (transaction_running == NULL)
        return;
    struct journal *journal = &journals[transaction_running->cpu];
    if (journal->used == journal->room) {
        journal->room = journal->room == 0 ? 16 : journal->room * 2;
        journal->changes = VG_(realloc)("rtm.heap.journal", journal->changes,
                                        journal->room * sizeof *journal->changes);
    }
    journal->changes[journal->used++] = (struct change){*block, added};
}

static void drop(struct heap_block *block)
{
    VG_(delFromFM)(blocks, NULL, NULL, (UWord)block);
    VG_(free)(block);
}

static void put(const struct heap_block *block)
{
    struct heap_block *copy = VG_(malloc)("rtm.heap.block", sizeof *copy);

    *copy = *block;
    VG_(addToFM)(blocks, (UWord)copy, 0);
}

static void forget(Addr start)
{
    struct heap_block *block = find(start, 1);

    if (block == NULL || block->start != start)
        return;
    note(block, False);
    drop(block);
}

static void remember(Addr start, SizeT size, ExeContext *origin)
{
    struct heap_block block = {start, size == 0 ? 1 : size, origin}, *stale;

    /* Blocks whose end was not seen, for instance of a function without a name. */
    while ((stale = find(start, block.size)) != NULL) {
        note(stale, False);
        drop(stale);
    }
    note(&block, True);
    put(&block);
}

static const struct allocation_reader allocations = {.appeared = remember, .gone = forget};

void heap_blocks_entered(ThreadId thread, struct program_call *call)
{
    allocation_entered(&allocations, thread, call);
}

void heap_blocks_returned(const struct program_call *call, UWord result)
{
    allocation_returned(&allocations, call, result);
}

const struct heap_block *heap_block_in_line(Addr line)
{
    return blocks == NULL ? NULL : find(line, LINE_BYTES);
}

const struct heap_block *heap_block_at(Addr address)
{
    return blocks == NULL ? NULL : find(address, 1);
}

void heap_blocks_committed(Int cpu)
{
    journals[cpu].used = 0;
}

void heap_blocks_aborted(Int cpu)
{
    struct journal *journal = &journals[cpu];

    while (journal->used > 0) {
        const struct change *change = &journal->changes[--journal->used];
        struct heap_block *added = change->added ? find(change->block.start, 1) : NULL;

        /* Another thread may have put its own block there: after a call whose end was not seen. */
        if (added != NULL && added->origin == change->block.origin)
            drop(added);
        if (!change->added && find(change->block.start, change->block.size) == NULL)
            put(&change->block);
    }
}

void heap_blocks_init(void)
{
    blocks = VG_(newFM)(VG_(malloc), "rtm.heap.blocks", VG_(free), compare);
}
