/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wrapper around Valgrind's entry to translated code: threads take turns as on the virtual
 * processors.
 */
#include "memtrace/instrument.h"

#include "program_calls/core_internals.h"
#include "virtual_processors/turns.h"

void __wrap_vgPlain_disp_run_translations(HWord *outcome, volatile void *guest, Addr host_code)
{
    Guest *registers = (Guest *)guest;

    turns_enter(registers);
    turns_begin(registers, (UInt)options.turn);
    __real_vgPlain_disp_run_translations(outcome, guest, host_code);
    turns_leave(registers);
    /* The turn is over; in other cases the core may still do something to the code that ran. */
    if (outcome[0] == CORE_EVENTS_USED_UP)
        instrument_forget();
}
