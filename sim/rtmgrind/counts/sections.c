/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See sections.h.
 */
#include "rtmgrind/counts/sections.h"

#include "rtmgrind/common/code_marks.h"
#include "rtmgrind/counts/holds.h"
#include "virtual_processors/futex_call.h"

enum {
    LOCK_BYTES_MOST = 56,   /* a pthread_rwlock_t is the largest */
    CODE_BUSY = 0xb1,       /* HTM_CODE_BUSY of src/ttstle_lock/rtm/htm_status.h */
    SYSTEM_CALL_LENGTH = 2, /* bytes of SYSCALL */
};

/* A thread's way through its sections. */
struct progress {
    Bool asks; /* is in a call that locks, outside of transactions, for: */
    Addr lock;
    struct section *section;
    struct stop *stop; /* the last one, or NULL */
    Bool visited;      /* to take the lock aborted another thread, which now waits */
    Bool tries;        /* this section's transaction, since: */
    ULong since;
    UInt inside_used; /* locks that this transaction elides, the section's own first */
    Addr inside[NESTING_MOST];
};

ULong sections_unseen;

static struct progress *progress; /* by thread */

void sections_init(void)
{
    progress = VG_(calloc)("rtm.progress", VG_N_THREADS, sizeof *progress);
    holds_init();
    section_table_init();
}

void sections_reset(void)
{
    if (!options.sections)
        return;
    VG_(memset)(progress, 0, VG_N_THREADS * sizeof *progress);
    holds_reset();
    section_table_reset();
    sections_unseen = 0;
}

void sections_thread_is_new(ThreadId thread)
{
    VG_(memset)(&progress[thread], 0, sizeof progress[thread]);
    holds_thread_is_new(thread);
}

/* ---- calls ---- */

static void unlock(ThreadId thread, Addr lock)
{
    struct hold *hold = holds_find(thread, lock);

    if (hold == NULL)
        return;
    if (transaction_running != NULL)
        hold->freed = True;
    else if (hold->again > 0)
        hold->again--;
    else
        holds_end(thread, hold);
}

static void wait_for_condition(ThreadId thread, const struct program_call *call)
{
    struct hold *hold = holds_find(thread, call->argument[1]);

    /* The lock library's function goes on to libc's by a jump: one call is seen twice. */
    if (hold == NULL || hold->waits || transaction_running != NULL)
        return;
    holds_pause(thread, hold);
    holds_meet(hold, (struct stop){.kind = STOP_WAIT, .stack = call->origin});
}

void sections_entered(ThreadId thread, struct program_call *call)
{
    struct progress *mine = &progress[thread];

    if (call->kind == LOCK_CALL_UNLOCK) {
        unlock(thread, call->argument[0]);
        return;
    }
    call->origin = VG_(record_ExeContext)(thread, 0);
    if (call->kind == LOCK_CALL_WAIT) {
        wait_for_condition(thread, call);
    } else if (transaction_running != NULL) {
        if (mine->inside_used < NESTING_MOST)
            mine->inside[mine->inside_used++] = call->argument[0];
    } else {
        mine->lock = call->argument[0];
        mine->section = section_table_find(call->origin, mine->lock);
        mine->asks = !mine->section->of_c_library;
        mine->stop = NULL;
        mine->visited = False;
        (void)holds_visit(thread, mine->lock);
    }
}

static void take(ThreadId thread, const struct progress *mine)
{
    struct hold entry = {.lock = mine->lock, .section = mine->section, .stop = mine->stop};

    if (holds_begin(thread, entry, mine->visited)) {
        mine->section->entered++;
        mine->section->held++;
    }
}

void sections_returned(ThreadId thread, const struct program_call *call, UWord result)
{
    struct progress *mine = &progress[thread];

    if (transaction_running != NULL)
        return;
    if (call->kind == LOCK_CALL_LOCK && mine->asks) {
        mine->asks = False;
        if ((UInt)result == 0)
            take(thread, mine);
    } else if (call->kind == LOCK_CALL_WAIT) {
        struct hold *hold = holds_find(thread, call->argument[1]);
        if (hold != NULL)
            holds_go_on(thread, hold);
    }
}

static Bool is_wake(UInt number, const UWord *arguments)
{
    return number == __NR_futex && futex_never_sleeps(arguments);
}

static struct stop stop_of_call(UInt number, const UWord *arguments)
{
    if (is_wake(number, arguments))
        return (struct stop){.kind = STOP_WAKE};
    return (struct stop){.kind = STOP_SYSTEM_CALL, .detail = number};
}

/* Code of the vDSO answers it natively, which Valgrind hides: it would stop no transaction. */
static Bool calls_no_system_natively(UInt number)
{
    return number == __NR_clock_gettime || number == __NR_gettimeofday || number == __NR_time ||
           number == __NR_getcpu;
}

void sections_system_call(ThreadId thread, UInt number, const UWord *arguments)
{
    struct stop key;

    /* What the lock library asks for while it waits is its own affair. */
    if (!options.sections || holds_nth(thread, 0) == NULL || calls_no_system_natively(number) ||
        program_calls_open(thread).kind >= (Int)LOCK_CALL_LOCK)
        return;
    key = stop_of_call(number, arguments);
    key.stack = VG_(record_ExeContext)(thread, -SYSTEM_CALL_LENGTH);
    for (UInt n = 0; holds_nth(thread, n) != NULL; n++)
        holds_meet(holds_nth(thread, n), key);
}

/* ---- transactions ---- */

void sections_begun(ThreadId thread)
{
    struct progress *mine;

    if (!options.sections)
        return;
    mine = &progress[thread];
    mine->tries = mine->asks;
    mine->inside_used = 1;
    mine->inside[0] = mine->lock;
    mine->since = holds_clock(thread);
    sections_unseen += !mine->tries;
}

void sections_committed(ThreadId thread)
{
    struct progress *mine;
    struct hold *hold;

    if (!options.sections)
        return;
    mine = &progress[thread];
    for (UInt n = 0; (hold = holds_nth(thread, n)) != NULL;) {
        if (hold->freed)
            holds_end(thread, hold);
        else
            n++;
    }
    if (!mine->tries)
        return;
    mine->section->entered++;
    mine->section->committed++;
    mine->section->in_commits += holds_clock(thread) - mine->since;
    mine->tries = False;
    mine->asks = False;
}

/* The section that the thread is in or asks for; NULL: none. */
static struct section *section_of(ThreadId thread)
{
    const struct progress *mine = &progress[thread];
    const struct hold *hold = holds_nth(thread, 0);

    if (mine->tries || mine->asks)
        return mine->section;
    return hold == NULL ? NULL : hold->section;
}

static Addr line_of(Addr address)
{
    return address & ~(Addr)(LINE_BYTES - 1);
}

static Bool elides(const struct progress *mine, Addr lock)
{
    for (UInt i = 0; i < mine->inside_used; i++) {
        if (mine->inside[i] == lock)
            return True;
    }
    return False;
}

static struct stop stop_of_conflict(const struct progress *mine, const struct abort_event *event)
{
    ThreadId requester = VG_(get_running_tid)();
    struct progress *theirs = &progress[requester];
    struct stop key = {
        .kind = STOP_CONFLICT,
        .instruction = event->instruction,
        .requester = event->requester,
        .data = section_table_name(event->data),
        .other = section_of(requester),
    };

    if (theirs->asks && !theirs->tries && event->data - theirs->lock < LOCK_BYTES_MOST &&
        elides(mine, theirs->lock)) {
        theirs->visited = True;
        return (struct stop){.kind = STOP_LOCK_TAKEN, .other = key.other};
    }
    /* Every transaction reads its lock's word: that is the library's access, not the program's. */
    if (line_of(event->data) == line_of(mine->lock)) {
        key.detail = STOP_LINE_OF_LOCK;
        key.instruction = 0;
    }
    return key;
}

/* XABORT of the lock library. */
static struct stop stop_of_explicit(const struct transaction *transaction,
                                    const struct abort_event *event)
{
    struct program_call call = program_calls_open(transaction->thread);
    const struct progress *mine = &progress[transaction->thread];

    if (call.kind == (Int)LOCK_CALL_WAIT)
        return (struct stop){.kind = STOP_WAIT, .stack = call.origin};
    if (event->code == CODE_BUSY && transaction->depth == 1)
        return (struct stop){.kind = STOP_LOCK_TAKEN,
                             .other = holds_visit(transaction->thread, mine->lock)};
    if (event->code == CODE_BUSY)
        return (struct stop){
            .kind = STOP_INNER_LOCK,
            .stack = call.origin,
            .data = section_table_name(call.argument[0]),
            .other = holds_holder(call.argument[0]),
        };
    return (struct stop){.kind = STOP_LEFT, .stack = call.origin};
}

/* Of the running thread's own doing: the calls that led there. */
static ExeContext *calls_to(const struct transaction *transaction, Addr instruction)
{
    transaction->guest->guest_RIP = unmarked_address(instruction);
    return VG_(record_ExeContext)(transaction->thread, 0);
}

static struct stop stop_of(const struct transaction *transaction, const struct abort_event *event)
{
    static const enum stop_kind kinds[ABORT_CAUSES] = {
        [ABORT_PAGE_FAULT] = STOP_PAGE_FAULT,
        [ABORT_INSTRUCTION] = STOP_INSTRUCTION,
        [ABORT_WRITE_CAPACITY] = STOP_WRITE_CAPACITY,
        [ABORT_READ_CAPACITY] = STOP_READ_CAPACITY,
    };
    const Guest *guest = transaction->guest;
    const UWord arguments[] = {guest->guest_RDI, guest->guest_RSI};
    struct stop key = {.kind = STOP_OTHER, .detail = event->cause};

    switch (event->cause) {
    case ABORT_CONFLICT:
        return stop_of_conflict(&progress[transaction->thread], event);
    case ABORT_EXPLICIT:
        return stop_of_explicit(transaction, event);
    case ABORT_SYSTEM_CALL:
        if (event->data != 0) /* a line that a call of another thread has in hand */
            return (struct stop){.kind = STOP_CONFLICT,
                                 .instruction = event->instruction,
                                 .data = section_table_name(event->data)};
        key = stop_of_call((UInt)guest->guest_RAX, arguments);
        break;
    case ABORT_PAGE_FAULT:
    case ABORT_INSTRUCTION:
    case ABORT_WRITE_CAPACITY:
    case ABORT_READ_CAPACITY:
        key = (struct stop){.kind = kinds[event->cause]};
        break;
    default:
        break;
    }
    if (event->cause == ABORT_PAGE_FAULT)
        key.data = section_table_name(event->data);
    if (event->cause == ABORT_INSTRUCTION)
        key.instruction = event->instruction;
    if (event->instruction != 0)
        key.stack = calls_to(transaction, event->instruction);
    return key;
}

void sections_aborted(struct transaction *transaction, const struct abort_event *event)
{
    struct progress *mine;
    struct stop key;
    ULong spent;

    if (!options.sections)
        return;
    mine = &progress[transaction->thread];
    for (UInt n = 0; holds_nth(transaction->thread, n) != NULL; n++)
        holds_nth(transaction->thread, n)->freed = False;
    if (!mine->tries)
        return;
    mine->tries = False;
    spent = holds_clock(transaction->thread) - mine->since;
    key = stop_of(transaction, event);
    key.section = mine->section;
    mine->stop = section_table_stop(&key);
    mine->stop->aborts++;
    mine->stop->in_aborts += spent;
    if (key.kind == STOP_WRITE_CAPACITY)
        section_table_blame(mine->stop, transaction, event->data);
    mine->section->in_aborts += spent;
}
