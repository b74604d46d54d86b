/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See schedule.h. A change of the thread at a processor aborts the transaction of the one that
 * leaves: there is at most one transaction a processor, and it is that of its current thread.
 */
#include "rtmgrind/processors/schedule.h"

#include "rtmgrind/transactions/conflict.h"
#include "rtmgrind/transactions/transaction.h"
#include "virtual_processors/baton.h"
#include "virtual_processors/processors.h"
#include "virtual_processors/turns.h"

/*
 * Long transactions that all want the same line early can abort each other for ever: whoever comes
 * to it wins, and never gets to its end before the next one comes. Hardware does not exclude that,
 * but its timing is never so even. So a processor that lost so many conflicts in a row is left
 * alone with its next transaction.
 */
enum { DEFEATS_MOST = 100 };

static Int interrupt_due; /* blocks in transactions until the next one */
static UInt counted_from; /* the event counter up to which interrupt_due is right */

static void abort_at(Int cpu)
{
    struct abort_event event = {.cause = ABORT_CONTEXT_SWITCH};

    /* The core takes the baton before the options are known, too. */
    if (transactions != NULL && transactions[cpu].active)
        abort_transaction(&transactions[cpu], &event);
}

/* At once, for the core may deliver a signal before the thread comes to translated code. */
static void find_transaction(void)
{
    struct transaction *mine;

    if (transactions == NULL)
        return;
    mine = &transactions[processors_mine()];
    transaction_running = mine->active ? mine : NULL;
}

static Bool is_in_transaction(Int cpu)
{
    return transactions[cpu].active;
}

static void store(Addr address, SizeT size)
{
    conflict_plain(address, size, True, 0);
}

static void draw_interrupt(void)
{
    interrupt_due = (Int)turns_draw((UInt)options.interrupt_rate);
}

static void start(ULong seed)
{
    turns_seed(seed);
    if (options.interrupt_rate != 0)
        draw_interrupt();
}

void schedule_init(void)
{
    processor_settings.switches = abort_at;
    processor_settings.resumes = find_transaction;
    processor_settings.is_favoured = is_in_transaction;
    processor_settings.stores = store;
    start((ULong)options.seed);
}

void schedule_seed(ULong seed)
{
    start(seed);
    for (Int cpu = 0; cpu < processor_settings.cpus; cpu++)
        transactions[cpu].defeats = 0;
    processors_lock();
    if (processors_alone())
        processors_start_anew();
    processors_unlock();
}

/* Makes the thread come back here when the interrupt is due. */
static void limit_to_interrupt(Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    turns_limit(guest, interrupt_due > 0 ? (UInt)interrupt_due : 0);
    counted_from = turns_left(guest);
}

Bool schedule_enter(Guest *guest)
{
    turns_enter(guest);
    if (transaction_running != NULL && options.interrupt_rate != 0 && interrupt_due <= 0) {
        struct abort_event event = {.cause = ABORT_INTERRUPT};
        transaction_abort(transaction_running, &event);
        draw_interrupt();
        return False;
    }
    turns_begin(guest,
                (UInt)(transactions_active != 0 ? options.switch_inside : options.switch_outside));
    if (transaction_running != NULL)
        limit_to_interrupt(guest);
    return True;
}

void schedule_leave(const Guest *guest)
{
    turns_leave(guest);
    if (transaction_running != NULL)
        schedule_count_blocks(guest);
}

void schedule_count_blocks(const Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    interrupt_due -= (Int)(counted_from - turns_left(guest));
    counted_from = turns_left(guest);
}

void schedule_transaction_begun(Guest *guest)
{
    if (transaction_running->defeats >= DEFEATS_MOST)
        baton_favour(transaction_running->cpu);
    else if (!processors_alone())
        turns_limit(guest, turns_draw((UInt)options.switch_inside));
    limit_to_interrupt(guest);
}
