/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wrapper around Valgrind's entry to translated code. It gives an abort in the middle of a
 * block a way out: a long jump back to here, after which the scheduler is told that nothing special
 * happened. The core itself leaves translated code like that when the host processor faults.
 *
 * One buffer is enough: the thread that is in translated code holds the big lock.
 */
#include "rtmgrind/translation/dispatch.h"

#include "program_calls/core_internals.h"
#include "libvex_trc_values.h"
#include "rtmgrind/processors/schedule.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/variants.h"

static VG_MINIMAL_JMP_BUF(way_out);

void dispatch_abort(const struct abort_event *event)
{
    transaction_abort(transaction_running, event);
    VG_MINIMAL_LONGJMP(way_out);
}

/* The core now comes with code for an address that was not looked up under it: it must run just
 * that, and once. It checks itself what is active (VARIANT_GUARDED). */
static Bool comes_with_code;

/* Is the code that the core found of the kind that may run now? If not, it is to look again. */
static Bool is_right_variant(Guest *registers)
{
    Addr right = unmarked_address(registers->guest_RIP) ^ transactions_mark;
    Bool is_right = comes_with_code || registers->guest_RIP == right;

    if (!is_right)
        registers->guest_RIP = right;
    comes_with_code = False;
    return is_right;
}

static void left_with_nothing_special(HWord *outcome)
{
    outcome[0] = VEX_TRC_JMP_BORING;
    outcome[1] = 0;
}

static void take_mark_off(Guest *registers, const HWord *outcome)
{
    Addr next = registers->guest_RIP;

    /* The core is to find a translation, and to tie the last block to it where the second word
     * says: it has to know which one. But none is for an address with spare bits of its own, which
     * has been computed, and got the mark on top: there the program faults. */
    if (outcome[1] != 0 ||
        (outcome[0] == CORE_FAST_CACHE_MISS && ((next ^ transactions_mark) & MARK_BITS) == 0))
        return;
    if (unmarked_address(next) != next)
        registers->guest_RIP = unmarked_address(next);
    else if (outcome[0] == CORE_FAST_CACHE_MISS)
        registers->guest_RIP = next ^ transactions_mark;
}

void __wrap_vgPlain_disp_run_translations(HWord *outcome, volatile void *guest, Addr host_code)
{
    Guest *registers = (Guest *)guest;

    if (!is_right_variant(registers)) {
        left_with_nothing_special(outcome);
        return;
    }
    if (schedule_enter(registers) && VG_MINIMAL_SETJMP(way_out) == 0) {
        __real_vgPlain_disp_run_translations(outcome, guest, host_code);
    } else {
        left_with_nothing_special(outcome);
    }
    comes_with_code = outcome[0] == VEX_TRC_JMP_NOREDIR;
    take_mark_off(registers, outcome);
    schedule_leave(registers);
}
