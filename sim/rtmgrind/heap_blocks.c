/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See heap_blocks.h.
 */
#include "heap_blocks.h"

#include "ir.h"

#include "pub_tool_wordfm.h"

enum call_kind {
    CALL_NONE,
    CALL_SIZE,           /* malloc(size), operator new(size, ...) */
    CALL_PRODUCT,        /* calloc(count, size) */
    CALL_ALIGNED,        /* memalign(alignment, size), aligned_alloc */
    CALL_RESIZE,         /* realloc(block, size) */
    CALL_RESIZE_PRODUCT, /* reallocarray(block, count, size) */
    CALL_STORED,         /* posix_memalign(where, alignment, size) */
    CALL_FREE,
};

/* Names as a program calls them; allocators also export them under a prefix of their own, and which
 * of several names at one address the symbol reader keeps is its choice. */
static const struct {
    const HChar *name;
    enum call_kind kind;
} family[] = {
    {"malloc", CALL_SIZE},
    {"valloc", CALL_SIZE},
    {"pvalloc", CALL_SIZE},
    {"calloc", CALL_PRODUCT},
    {"memalign", CALL_ALIGNED},
    {"aligned_alloc", CALL_ALIGNED},
    {"realloc", CALL_RESIZE},
    {"reallocarray", CALL_RESIZE_PRODUCT},
    {"posix_memalign", CALL_STORED},
    {"free", CALL_FREE},
    {"cfree", CALL_FREE},
};
static const HChar *const prefixes[] = {"__libc_", "tc_", "mi_", "je_", "__"};

/* A call that a thread is in. */
struct open_call {
    enum call_kind kind; /* CALL_NONE: in none */
    Addr stack_at_return;
    SizeT size;
    Addr old;   /* the block to be resized */
    Addr where; /* of posix_memalign */
    ExeContext *origin;
};

/* A change that a transaction made to the blocks: added or removed this one. */
struct change {
    struct heap_block block;
    Bool added;
};

struct journal {
    struct open_call call; /* that the thread was in when the transaction began */
    struct change *changes;
    UInt used, room;
};

static WordFM *blocks; /* struct heap_block by address; blocks do not overlap */
static struct open_call *calls;
static struct journal journals[CPUS_MOST];

/* Where the stack pointer of the running thread will stand when its call returns; 0: in none. Code
 * that returns compares it with the stack pointer. */
static Addr awaited_stack;

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

    if (start == 0)
        return;
    /* Blocks whose end was not seen, for instance of a function without a name. */
    while ((stale = find(start, block.size)) != NULL) {
        note(stale, False);
        drop(stale);
    }
    note(&block, True);
    put(&block);
}

/* The running thread is at the first instruction of a function of the family. */
static void helper_entry(ULong kind, const Guest *guest)
{
    struct open_call *call = &calls[VG_(get_running_tid)()];
    Addr stack = guest->guest_RSP + sizeof(Addr);

    /* Within a call of this thread; unless that one was left by a jump, and its frame is gone. */
    if (call->kind != CALL_NONE && stack < call->stack_at_return)
        return;
    if (kind == CALL_FREE) {
        forget(guest->guest_RDI);
        /* From here on it is a call like any other, whose inner calls do not count. */
    }
    *call = (struct open_call){.kind = (enum call_kind)kind, .stack_at_return = stack};
    switch (call->kind) {
    case CALL_SIZE:
        call->size = guest->guest_RDI;
        break;
    case CALL_PRODUCT:
        call->size = guest->guest_RDI * guest->guest_RSI;
        break;
    case CALL_ALIGNED:
        call->size = guest->guest_RSI;
        break;
    case CALL_RESIZE:
        call->old = guest->guest_RDI;
        call->size = guest->guest_RSI;
        break;
    case CALL_RESIZE_PRODUCT:
        call->old = guest->guest_RDI;
        call->size = guest->guest_RSI * guest->guest_RDX;
        break;
    case CALL_STORED:
        call->where = guest->guest_RDI;
        call->size = guest->guest_RDX;
        break;
    case CALL_NONE:
    case CALL_FREE:
        break;
    }
    if (call->kind != CALL_FREE)
        call->origin = VG_(record_ExeContext)(VG_(get_running_tid)(), 0);
    awaited_stack = stack;
}

/* A return instruction of the running thread has taken the return address of its call. */
static void helper_return(const Guest *guest)
{
    struct open_call *call = &calls[VG_(get_running_tid)()];
    Addr result = guest->guest_RAX;

    switch (call->kind) {
    case CALL_RESIZE:
    case CALL_RESIZE_PRODUCT:
        if (result == 0 && call->size != 0)
            break; /* it failed, and the block stays */
        forget(call->old);
        remember(result, call->size, call->origin);
        break;
    case CALL_STORED:
        if ((UInt)result == 0)
            remember(*(const Addr *)call->where, call->size, call->origin);
        break;
    case CALL_NONE:
    case CALL_FREE:
        break;
    default:
        remember(result, call->size, call->origin);
        break;
    }
    call->kind = CALL_NONE;
    awaited_stack = 0;
}

static Bool begins_with(const HChar *text, const HChar *beginning)
{
    return VG_(strncmp)(text, beginning, VG_(strlen)(beginning)) == 0;
}

static enum call_kind kind_of(const HChar *name)
{
    /* Forms with a place given allocate nothing. */
    if (begins_with(name, "operator new"))
        return VG_(strstr)(name, "void*") == NULL ? CALL_SIZE : CALL_NONE;
    if (begins_with(name, "operator delete"))
        return CALL_FREE;
    for (UInt i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (begins_with(name, prefixes[i])) {
            name += VG_(strlen)(prefixes[i]);
            break;
        }
    }
    for (UInt i = 0; i < sizeof family / sizeof family[0]; i++) {
        if (VG_(strcmp)(name, family[i].name) == 0)
            return family[i].kind;
    }
    return CALL_NONE;
}

void heap_blocks_see_entry(IRSB *out, Addr address)
{
    const HChar *name;
    enum call_kind kind;

    if (!options.heap || !VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name))
        return;
    kind = kind_of(name);
    if (kind == CALL_NONE)
        return;
    /* The stack is unwound from the registers: all of them, and the address that it stands at. */
    addStmtToIRSB(out, IRStmt_Put(GUEST_OFFSET(RIP), ir_u64(address)));
    IRDirty *call =
        ir_call(out, "rtmgrind_heap_entry", &helper_entry, ir_u64(kind), IRExpr_GSPTR());
    ir_guest_effect(call, Ifx_Read, REGISTERS_BEGIN, REGISTERS_SIZE);
}

void heap_blocks_see_end(IRSB *out)
{
    if (!options.heap || out->jumpkind != Ijk_Ret)
        return;
    IRTemp stack = newIRTemp(out->tyenv, Ity_I64), awaited = newIRTemp(out->tyenv, Ity_I64);
    IRTemp match = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(stack, IRExpr_Get(GUEST_OFFSET(RSP), Ity_I64)));
    addStmtToIRSB(
        out, IRStmt_WrTmp(awaited, IRExpr_Load(Iend_LE, Ity_I64, ir_u64((HWord)&awaited_stack))));
    addStmtToIRSB(out, IRStmt_WrTmp(match, IRExpr_Binop(Iop_CmpEQ64, IRExpr_RdTmp(stack),
                                                        IRExpr_RdTmp(awaited))));
    IRDirty *call =
        unsafeIRDirty_0_N(0, "rtmgrind_heap_return", &helper_return, mkIRExprVec_1(IRExpr_GSPTR()));
    call->guard = IRExpr_RdTmp(match);
    ir_guest_effect(call, Ifx_Read, REGISTERS_BEGIN, REGISTERS_SIZE);
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

const struct heap_block *heap_block_in_line(Addr line)
{
    return blocks == NULL ? NULL : find(line, LINE_BYTES);
}

void heap_blocks_begun(Int cpu, ThreadId thread)
{
    if (options.heap)
        journals[cpu].call = calls[thread];
}

void heap_blocks_committed(Int cpu)
{
    journals[cpu].used = 0;
}

static void set_awaited_stack(ThreadId thread)
{
    awaited_stack = calls[thread].kind == CALL_NONE ? 0 : calls[thread].stack_at_return;
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
    calls[thread] = journal->call;
    if (thread == VG_(get_running_tid)())
        set_awaited_stack(thread);
}

static void thread_goes_on(ThreadId thread, ULong blocks_done)
{
    set_awaited_stack(thread);
}

static void thread_is_new(ThreadId thread)
{
    calls[thread].kind = CALL_NONE;
}

/* Only the thread that forked lives on; those of others are not seen to return. */
static void in_child(ThreadId thread)
{
    for (ThreadId other = 1; other < VG_N_THREADS; other++) {
        if (other != thread)
            calls[other].kind = CALL_NONE;
    }
}

void heap_blocks_init(void)
{
    if (!options.heap)
        return;
    blocks = VG_(newFM)(VG_(malloc), "rtm.heap.blocks", VG_(free), compare);
    calls = VG_(calloc)("rtm.heap.calls", VG_N_THREADS, sizeof *calls);
    VG_(track_start_client_code)(thread_goes_on);
    VG_(track_pre_thread_first_insn)(thread_is_new);
    VG_(atfork)(NULL, NULL, in_child);
}
