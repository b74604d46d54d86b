/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See heap_blocks.h.
 */
#include "rtmgrind/counts/heap_blocks.h"

#include "program_calls/allocation_calls.h"

#include "pub_tool_wordfm.h"

/* A change that a transaction made to the blocks: added or removed this one. */
struct change {
    struct heap_block block;
    Bool added;
};

struct journal {
    struct program_call call; /* that the thread was in when the transaction began */
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

static void entered(ThreadId thread, struct program_call *call)
{
    allocation_entered(&allocations, thread, call);
}

static void returned(ThreadId thread, const struct program_call *call, UWord result)
{
    allocation_returned(&allocations, call, result);
}

void heap_blocks_see_entry(IRSB *out, Addr address)
{
    if (options.heap)
        program_calls_see_entry(out, address);
}

void heap_blocks_see_end(IRSB *out)
{
    if (options.heap)
        program_calls_see_end(out);
}

const struct heap_block *heap_block_in_line(Addr line)
{
    return blocks == NULL ? NULL : find(line, LINE_BYTES);
}

void heap_blocks_begun(Int cpu, ThreadId thread)
{
    if (options.heap)
        journals[cpu].call = program_calls_open(thread);
}

void heap_blocks_committed(Int cpu)
{
    journals[cpu].used = 0;
}

void heap_blocks_aborted(Int cpu, ThreadId thread)
{
    struct journal *journal = &journals[cpu];

    if (!options.heap)
        return;
    while (journal->used > 0) {
        const struct change *change = &journal->changes[--journal->used];
        struct heap_block *added = change->added ? find(change->block.start, 1) : NULL;

        /* Another thread may have put its own block there: after a call whose end was not seen. */
        if (added != NULL && added->origin == change->block.origin)
            drop(added);
        if (!change->added && find(change->block.start, change->block.size) == NULL)
            put(&change->block);
    }
    program_calls_reopen(thread, &journal->call);
}

static void thread_goes_on(ThreadId thread, ULong blocks_done)
{
    program_calls_thread_goes_on(thread);
}

void heap_blocks_init(void)
{
    static const struct program_calls_reader reader = {
        .kind_of = allocation_kind_of,
        .entered = entered,
        .returned = returned,
    };

    if (!options.heap)
        return;
    blocks = VG_(newFM)(VG_(malloc), "rtm.heap.blocks", VG_(free), compare);
    program_calls_init(&reader);
    VG_(track_start_client_code)(thread_goes_on);
    VG_(track_pre_thread_first_insn)(program_calls_thread_is_new);
}
