/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See schedule.h. The core's event counter is what ends a thread's run: translated code counts it
 * down, once a block, and leaves when it is used up. It can be lowered at any time.
 */
#include "rtmgrind/processors/schedule.h"

#include "rtmgrind/common/core_internals.h"
#include "rtmgrind/common/random.h"
#include "rtmgrind/processors/baton.h"
#include "rtmgrind/processors/processors.h"
#include "rtmgrind/transactions/transaction.h"

/*
 * Long transactions that all want the same line early can abort each other for ever: whoever comes
 * to it wins, and never gets to its end before the next one comes. Hardware does not exclude that,
 * but its timing is never so even. So a processor that lost so many conflicts in a row is left
 * alone with its next transaction.
 */
enum { DEFEATS_MOST = 100 };

static ULong chance;
static Int interrupt_due; /* blocks in transactions until the next one */
static UInt counted_from; /* the event counter up to which interrupt_due is right */
static UInt entered_with; /* the event counter at entry, less what was taken off it since */

static void draw_interrupt(void)
{
    interrupt_due = (Int)random_around(&chance, (UInt)options.interrupt_rate);
}

static void start(ULong seed)
{
    /* Another sequence than that of the choices. */
    chance = random_start(~seed);
    baton_seed(seed);
    if (options.interrupt_rate != 0)
        draw_interrupt();
}

void schedule_init(void)
{
    start((ULong)options.seed);
}

void schedule_seed(ULong seed)
{
    start(seed);
    for (Int cpu = 0; cpu < options.cpus; cpu++)
        transactions[cpu].defeats = 0;
    processors_lock();
    if (processors_alone())
        processors_start_anew();
    processors_unlock();
}

static void limit_counter(Guest *guest, UInt most)
{
    if (guest->host_EvC_COUNTER <= most)
        return;
    entered_with -= guest->host_EvC_COUNTER - most;
    guest->host_EvC_COUNTER = most;
}

/* The event counter counts blocks down and stands at -1 when it made the thread leave. */
static UInt counter_of(const Guest *guest)
{
    return (Int)guest->host_EvC_COUNTER < 0 ? 0 : guest->host_EvC_COUNTER;
}

/* Makes the thread come back here when the interrupt is due. */
static void limit_to_interrupt(Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    limit_counter(guest, interrupt_due > 0 ? (UInt)interrupt_due : 0);
    counted_from = counter_of(guest);
}

Bool schedule_enter(Guest *guest)
{
    entered_with = guest->host_EvC_COUNTER;
    baton_call_returned();
    if (transaction_running != NULL && options.interrupt_rate != 0 && interrupt_due <= 0) {
        struct abort_event event = {.cause = ABORT_INTERRUPT};
        transaction_abort(transaction_running, &event);
        draw_interrupt();
        return False;
    }
    if (!processors_alone() && baton_is_new()) {
        Int mean = transactions_active != 0 ? options.switch_inside : options.switch_outside;
        limit_counter(guest, random_around(&chance, (UInt)mean));
    }
    if (transaction_running != NULL)
        limit_to_interrupt(guest);
    return True;
}

void schedule_leave(const Guest *guest)
{
    processors_count(entered_with - counter_of(guest));
    if (transaction_running != NULL)
        schedule_count_blocks(guest);
}

void schedule_count_blocks(const Guest *guest)
{
    if (options.interrupt_rate == 0)
        return;
    interrupt_due -= (Int)(counted_from - counter_of(guest));
    counted_from = counter_of(guest);
}

void schedule_transaction_begun(Guest *guest)
{
    if (transaction_running->defeats >= DEFEATS_MOST)
        baton_favour(transaction_running->cpu);
    else if (!processors_alone())
        limit_counter(guest, random_around(&chance, (UInt)options.switch_inside));
    limit_to_interrupt(guest);
}
