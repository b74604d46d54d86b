/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See instrument.h. A block is cut into pieces at its exits. Each piece is defined when it is
 * translated; when it runs, it appends its number and its addresses to the running thread's buffer
 * (wire.h), which moves on at the piece's end only: of a piece that a fault ends, nothing is told.
 *
 * VEX has optimised the code: a load whose value nobody uses is gone.
 */
#include "memtrace/instrument.h"

#include "memtrace/buffers.h"
#include "memtrace/decode.h"
#include "memtrace/dependence.h"
#include "memtrace/instructions.h"
#include "memtrace/pipe.h"
#include "memtrace/sites.h"

#include "program_calls/core_internals.h"
#include "program_calls/ir.h"
#include "program_calls/program_calls.h"
#include "trace/trace.h"

enum { PIECE_ACCESSES_MOST = 4096 };

/* The piece that is being written. */
static struct {
    struct wire_piece piece;
    struct wire_access access[PIECE_ACCESSES_MOST];
    struct wire_effect effect[WIRE_REGISTERS];
    IRSB *out;
    IRTemp begin; /* where the buffer stood; IRTemp_INVALID: nothing was written yet */
    UInt words;
    UInt number;
    UInt instructions; /* of the block, so far not counted in a piece */
    Addr instruction;
    Addr locked; /* the address of an instruction that has a compare-and-swap; 0: not this one */
    UInt block_words;
} writer;

static UInt pieces_made;

/* Of the program, if there is a limit. */
static ULong accesses_counted;

static IRExpr *add(IRExpr *base, ULong offset)
{
    IRTemp sum = newIRTemp(writer.out->tyenv, Ity_I64);

    addStmtToIRSB(writer.out, IRStmt_WrTmp(sum, IRExpr_Binop(Iop_Add64, base, ir_u64(offset))));
    return IRExpr_RdTmp(sum);
}

static IRExpr *load_word(const void *where)
{
    IRTemp word = newIRTemp(writer.out->tyenv, Ity_I64);

    addStmtToIRSB(writer.out,
                  IRStmt_WrTmp(word, IRExpr_Load(Iend_LE, Ity_I64, ir_u64((HWord)where))));
    return IRExpr_RdTmp(word);
}

/* Stores to the next words of the buffer. */
static void put(IRExpr *value, UInt words)
{
    addStmtToIRSB(writer.out,
                  IRStmt_Store(Iend_LE, add(IRExpr_RdTmp(writer.begin), 8 * writer.words), value));
    writer.words += words;
}

static void begin_piece(void)
{
    if (writer.begin != IRTemp_INVALID)
        return;
    writer.begin = load_word(&buffer_running.at)->Iex.RdTmp.tmp;
    writer.number = pieces_made++;
    put(ir_u64(WIRE_TAG(WIRE_WORD_PIECE) | writer.number), 1);
}

/* Counts what the piece accesses; conditional accesses as if they happened. */
static void count_accesses(void)
{
    ULong count = 0;

    for (UInt i = 0; i < writer.piece.accesses; i++)
        count += writer.access[i].kind <= TRACE_NT_STORE;
    addStmtToIRSB(writer.out, IRStmt_Store(Iend_LE, ir_u64((HWord)&accesses_counted),
                                           add(load_word(&accesses_counted), count)));
}

static void end_piece(void)
{
    struct wire_piece *piece = &writer.piece;
    SizeT accesses, effects;
    UChar *content;

    piece->effects = (UShort)dependence_effects(writer.effect);
    piece->instructions = (UShort)writer.instructions;
    if (piece->accesses == 0 && piece->effects == 0 && piece->instructions == 0)
        return;
    begin_piece();
    addStmtToIRSB(writer.out, IRStmt_Store(Iend_LE, ir_u64((HWord)&buffer_running.at),
                                           add(IRExpr_RdTmp(writer.begin), 8 * writer.words)));
    if (options.max_accesses != 0)
        count_accesses();
    accesses = piece->accesses * sizeof writer.access[0];
    effects = piece->effects * sizeof writer.effect[0];
    content = VG_(malloc)("memtrace.piece", sizeof *piece + accesses + effects);
    VG_(memcpy)(content, piece, sizeof *piece);
    VG_(memcpy)(content + sizeof *piece, writer.access, accesses);
    VG_(memcpy)(content + sizeof *piece + accesses, writer.effect, effects);
    pipe_define(WIRE_PIECE, writer.number, content, sizeof *piece + accesses + effects);
    VG_(free)(content);
    writer.block_words += writer.words;
    writer.begin = IRTemp_INVALID;
    writer.words = 0;
    writer.instructions = 0;
    *piece = (struct wire_piece){.accesses = 0};
}

static struct wire_access *add_access(enum trace_kind kind, UInt what, Int size)
{
    struct wire_access *access = &writer.access[writer.piece.accesses++];

    tl_assert(writer.piece.accesses < PIECE_ACCESSES_MOST);
    begin_piece();
    *access = (struct wire_access){
        .kind = (UChar)kind,
        .what = (UChar)what,
        .size = (UShort)size,
        .instruction = (UShort)writer.instructions,
        .site = sites_of(writer.instruction),
    };
    return access;
}

/* An access happens if its condition holds; NULL: always. */
static void record(enum trace_kind kind, UInt what, IRExpr *address, Int size, IRExpr *condition)
{
    struct wire_access *access = add_access(kind, what, size);

    if (kind == TRACE_LOAD) {
        struct dependence dependence = dependence_of(address);
        access->dependent = dependence.is_loaded;
        access->registers = dependence.registers;
    }
    if (condition != NULL && condition->tag != Iex_Const) {
        IRTemp chosen = newIRTemp(writer.out->tyenv, Ity_I64);
        addStmtToIRSB(writer.out, IRStmt_WrTmp(chosen, IRExpr_ITE(condition, address, ir_u64(0))));
        address = IRExpr_RdTmp(chosen);
    }
    put(address, 1);
}

static void copy_bytes(UChar *to, const UChar *from, ULong size)
{
    VG_(memcpy)(to, from, size);
}

/* Records what lies in memory after the statement. */
static void record_memory(IRExpr *address, Int size, IRExpr *condition)
{
    IRDirty *call =
        unsafeIRDirty_0_N(0, "memtrace_copy", (void *)&copy_bytes,
                          mkIRExprVec_3(add(IRExpr_RdTmp(writer.begin), 8 * writer.words), address,
                                        ir_u64((ULong)size)));

    if (condition != NULL)
        call->guard = condition;
    addStmtToIRSB(writer.out, IRStmt_Dirty(call));
    writer.words += ((UInt)size + 7) / 8;
}

static void record_load(const IRStmt *statement)
{
    const IRExpr *load = statement->Ist.WrTmp.data;

    /* That of a locked instruction is a part of its compare-and-swap. */
    if (writer.locked == writer.instruction)
        return;
    record(TRACE_LOAD, 0, load->Iex.Load.addr, sizeofIRType(load->Iex.Load.ty), NULL);
}

static void record_fence(void)
{
    Int fence = instruction_fence((const UChar *)writer.instruction);

    if (fence >= 0)
        add_access(TRACE_FENCE, (UInt)fence, 0);
}

/* Appends a statement and what it accesses. */
static void add_statement(IRStmt *statement)
{
    enum trace_kind kind = TRACE_STORE;
    struct ir_access access;

    if (decode_flush_of(statement) >= 0) {
        record(TRACE_FLUSH, (UInt)decode_flush_of(statement), statement->Ist.AbiHint.base, 0, NULL);
        return;
    }
    if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag == Iex_Load)
        record_load(statement);
    if (statement->tag == Ist_MBE) {
        record_fence();
    } else if (ir_access_of(writer.out, statement, &access)) {
        if (!access.store)
            kind = TRACE_LOAD;
        else if (statement->tag == Ist_CAS)
            kind = TRACE_LOCKED;
        else if (instruction_is_non_temporal((const UChar *)writer.instruction))
            kind = TRACE_NT_STORE;
        record(kind, 0, access.address, access.size, access.condition);
        if (options.values && statement->tag == Ist_Store)
            put(statement->Ist.Store.data, ((UInt)access.size + 7) / 8);
    }
    addStmtToIRSB(writer.out, statement);
    dependence_see(writer.out, statement);
    if (options.values && kind != TRACE_LOAD && statement->tag != Ist_Store &&
        ir_access_of(writer.out, statement, &access))
        record_memory(access.address, access.size, access.condition);
}

/* Does the instruction that begins here have a compare-and-swap? */
static Bool is_locked(const IRSB *in, Int mark)
{
    for (Int i = mark + 1; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++) {
        if (in->stmts[i]->tag == Ist_CAS)
            return True;
    }
    return False;
}

/* Calls a function if a word is greater than the limit. */
static void call_beyond(IRExpr *limit, IRExpr *word, const HChar *name, void (*function)(void))
{
    IRTemp beyond = newIRTemp(writer.out->tyenv, Ity_I1);
    IRDirty *call = unsafeIRDirty_0_N(0, name, (void *)function, mkIRExprVec_0());

    addStmtToIRSB(writer.out, IRStmt_WrTmp(beyond, IRExpr_Binop(Iop_CmpLT64U, limit, word)));
    call->guard = IRExpr_RdTmp(beyond);
    addStmtToIRSB(writer.out, IRStmt_Dirty(call));
}

static Bool is_stopped;

void instrument_stop(void)
{
    buffers_drop();
    is_stopped = True;
}

void instrument_forget(void)
{
    if (is_stopped)
        VG_(discard_translations)(0, ~(ULong)0, "memtrace");
    is_stopped = False;
}

/* The capture has all that it was to have. */
static void cut(void)
{
    if (!pipe_is_open)
        return;
    buffers_flush();
    pipe_send(WIRE_CUT, 0, NULL, 0);
    pipe_send(WIRE_END, 0, NULL, 0);
    pipe_close();
    instrument_stop();
}

/* Makes room for the block's words, and ends the capture at its limit. */
static void begin_block(void)
{
    call_beyond(load_word(&buffer_running.limit), load_word(&buffer_running.at), "memtrace_room",
                &buffers_make_room);
    if (options.max_accesses != 0)
        call_beyond(ir_u64((ULong)options.max_accesses - 1), load_word(&accesses_counted),
                    "memtrace_cut", &cut);
}

IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                 const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                 IRType host_word)
{
    IRSB *out;
    Int i = 0;

    if (!pipe_is_open)
        return in;
    out = writer.out = deepCopyIRSBExceptStmts(in);
    /* What comes before the first instruction checks that the code is still what was translated,
     * and may leave. */
    while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark)
        addStmtToIRSB(out, in->stmts[i++]);
    /* VEX follows no jumps here (main.c), so that a function is entered at the first instruction.
     */
    program_calls_see_entry(out, closure->readdr);
    begin_block();
    dependence_begin((UInt)in->tyenv->types_used);
    writer.piece = (struct wire_piece){.is_first = 1};
    writer.begin = IRTemp_INVALID;
    writer.words = writer.block_words = writer.instructions = 0;
    for (; i < in->stmts_used; i++) {
        IRStmt *statement = in->stmts[i];
        if (statement->tag == Ist_IMark) {
            writer.instruction = statement->Ist.IMark.addr;
            writer.locked = is_locked(in, i) ? writer.instruction : 0;
            writer.instructions++;
        } else if (statement->tag == Ist_Exit) {
            end_piece();
        }
        add_statement(statement);
    }
    end_piece();
    tl_assert(writer.block_words <= BUFFER_BLOCK_WORDS);
    program_calls_see_end(out);
    return out;
}
