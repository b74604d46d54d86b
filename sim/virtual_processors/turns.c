/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See turns.h. The core's event counter is what ends a thread's turn: translated code counts it
 * down, once a block, and leaves when it is used up. It can be lowered at any time.
 */
#include "virtual_processors/turns.h"

#include "virtual_processors/baton.h"
#include "virtual_processors/processors.h"
#include "virtual_processors/random.h"

static ULong chance = 1;
static UInt entered_with; /* the event counter at entry, less what was taken off it since */

void turns_seed(ULong seed)
{
    /* Another sequence than that of the choices. */
    chance = random_start(~seed);
    baton_seed(seed);
}

UInt turns_draw(UInt mean)
{
    return random_around(&chance, mean);
}

void turns_limit(Guest *guest, UInt most)
{
    if (guest->host_EvC_COUNTER <= most)
        return;
    entered_with -= guest->host_EvC_COUNTER - most;
    guest->host_EvC_COUNTER = most;
}

/* The event counter counts blocks down and stands at -1 when it made the thread leave. */
UInt turns_left(const Guest *guest)
{
    return (Int)guest->host_EvC_COUNTER < 0 ? 0 : guest->host_EvC_COUNTER;
}

void turns_enter(Guest *guest)
{
    entered_with = guest->host_EvC_COUNTER;
    baton_call_returned();
}

void turns_begin(Guest *guest, UInt mean)
{
    if (!processors_alone() && baton_is_new())
        turns_limit(guest, turns_draw(mean));
}

void turns_leave(const Guest *guest)
{
    processors_count(entered_with - turns_left(guest));
}
