/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wrapper around Valgrind's entry to translated code. It gives an abort in the middle of a
 * block a way out: a long jump back to here, after which the scheduler is told that nothing special
 * happened. The core itself leaves translated code like that when the host processor faults.
 *
 * One buffer is enough: the thread that is in translated code holds the big lock.
 */
#include "dispatch.h"

#include "core_internals.h"
#include "libvex_trc_values.h"
#include "schedule.h"
#include "transaction.h"
#include "variants.h"

static VG_MINIMAL_JMP_BUF(way_out);

void dispatch_leave(void)
{
    VG_MINIMAL_LONGJMP(way_out);
}

void __wrap_vgPlain_disp_run_translations(HWord *outcome, volatile void *guest, Addr host_code)
{
    Guest *registers = (Guest *)guest;

    if (schedule_enter(registers) && VG_MINIMAL_SETJMP(way_out) == 0) {
        __real_vgPlain_disp_run_translations(outcome, guest, host_code);
    } else {
        outcome[0] = VEX_TRC_JMP_BORING;
        outcome[1] = 0;
    }
    /* The second word is the place of a jump that is to be patched; the scheduler then wants to
     * know where exactly it goes. */
    if (outcome[1] == 0)
        registers->guest_RIP = unmarked_address(registers->guest_RIP);
    schedule_leave(registers);
}
