/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See transaction.h.
 */
#include "rtmgrind/transactions/transaction.h"

#include "rtmgrind/common/code_marks.h"
#include "rtmgrind/counts/blame.h"
#include "rtmgrind/counts/calls.h"
#include "rtmgrind/counts/heap_blocks.h"
#include "rtmgrind/counts/sections.h"
#include "rtmgrind/counts/sites.h"
#include "rtmgrind/transactions/conflict.h"
#include "rtmgrind/transactions/footprint.h"
#include "rtmgrind/transactions/futex.h"

enum {
    STATUS_EXPLICIT = 1,
    STATUS_RETRY = 2,
    STATUS_CONFLICT = 4,
    STATUS_CAPACITY = 8,
    STATUS_DEBUG = 16
};

/* What EAX says after an abort, besides XABORT's code and the nesting. */
static const UInt status_of_cause[ABORT_CAUSES] = {
    [ABORT_CONFLICT] = STATUS_CONFLICT | STATUS_RETRY,
    [ABORT_WRITE_CAPACITY] = STATUS_CAPACITY,
    [ABORT_READ_CAPACITY] = STATUS_CAPACITY,
    [ABORT_EXPLICIT] = STATUS_EXPLICIT,
    [ABORT_BREAKPOINT] = STATUS_DEBUG,
    /* All others: 0, as on hardware. */
};

void transactions_init(void)
{
    transactions =
        VG_(calloc)("rtm.transactions", (SizeT)processor_settings.cpus, sizeof *transactions);
    for (Int cpu = 0; cpu < processor_settings.cpus; cpu++) {
        transactions[cpu].cpu = cpu;
        footprint_init(&transactions[cpu].footprint);
    }
    abort_transaction = transaction_abort;
    conflict_init();
}

/* Once a transaction, and faster than the core's own memcpy. */
static void copy_registers(Guest *to, const Guest *from)
{
    _Static_assert(REGISTERS_BEGIN % 8 == 0 && REGISTERS_SIZE % 8 == 0, "copied by words");
    const ULong *source = (const ULong *)((const UChar *)from + REGISTERS_BEGIN);
    ULong *target = (ULong *)((UChar *)to + REGISTERS_BEGIN);

    for (UInt word = 0; word < REGISTERS_SIZE / 8; word++)
        target[word] = source[word];
}

void transaction_begin(Int cpu, ThreadId thread, Guest *guest, Addr begin, Addr fallback)
{
    struct transaction *transaction = &transactions[cpu];

    tl_assert(!transaction->active);
    transaction->active = True;
    transaction->thread = thread;
    transaction->depth = 1;
    transaction->begin = begin;
    transaction->fallback = fallback;
    transaction->guest = guest;
    copy_registers(&transaction->checkpoint, guest);
    transactions_active++;
    transactions_mark = HOOKED_MARK;
    transaction_running = transaction;
    transaction->site = site_at(begin);
    transaction->site->started++;
    calls_begun(cpu, thread);
    sections_begun(thread);
}

static void put_back(const struct undo *undo)
{
    for (UInt word = 0; word < LINE_BYTES / 8; word++) {
        UInt bytes = undo->written >> 8 * word & 0xff;
        UChar *to = (UChar *)undo->line + 8 * word;
        const UChar *from = (const UChar *)&undo->before[word];

        if (bytes == 0xff) {
            *(ULong *)to = undo->before[word];
            continue;
        }
        for (UInt byte = 0; bytes >> byte != 0; byte++) {
            if (bytes >> byte & 1)
                to[byte] = from[byte];
        }
    }
}

static void close(struct transaction *transaction)
{
    conflict_release(transaction);
    transaction->undo_used = 0;
    transaction->active = False;
    transactions_active--;
    transactions_mark = transactions_active == 0 ? 0 : HOOKED_MARK;
    if (transaction_running == transaction)
        transaction_running = NULL;
}

void transaction_commit(struct transaction *transaction)
{
    footprint_committed(&transaction->footprint);
    transaction->defeats = 0;
    close(transaction);
    heap_blocks_committed(transaction->cpu);
    transaction->site->committed++;
    sections_committed(transaction->thread);
}

/* The registers are those of the XBEGIN again, and the stack is as it was then. Through a lock
 * library all transactions begin at one instruction: only the calls tell the program's sections. */
static ExeContext *calls_to_begin(struct transaction *transaction)
{
    if (!options_want_report())
        return NULL;
    transaction->guest->guest_RIP = transaction->begin;
    return VG_(record_ExeContext)(transaction->thread, 0);
}

void transaction_abort(struct transaction *transaction, const struct abort_event *event)
{
    UInt status = status_of_cause[event->cause] | event->code << 24 |
                  (transaction->depth > 1 ? STATUS_NESTED : 0);

    tl_assert(transaction->active);
    transaction->defeats += event->cause == ABORT_CONFLICT;
    blame_abort(transaction, event);
    sections_aborted(transaction, event);
    /* From the last to the first: of memory that is mapped twice, a line may be here twice, and the
     * one that was written first knows what was there before. */
    for (UInt i = transaction->undo_used; i-- > 0;)
        put_back(&transaction->undo[i]);
    futex_put_back(transaction);
    footprint_aborted(&transaction->footprint);
    close(transaction);
    copy_registers(transaction->guest, &transaction->checkpoint);
    heap_blocks_aborted(transaction->cpu);
    calls_aborted(transaction->cpu, transaction->thread);
    sites_count_abort(transaction->begin, event, calls_to_begin(transaction));
    transaction->guest->guest_RAX = status;
    transaction->guest->guest_RIP = transaction->fallback;
}

void transactions_abort_all(Int except_cpu, enum abort_cause cause)
{
    struct abort_event event = {.cause = cause};

    for (Int cpu = 0; transactions_active != 0 && cpu < processor_settings.cpus; cpu++) {
        if (cpu != except_cpu && transactions[cpu].active)
            transaction_abort(&transactions[cpu], &event);
    }
}
