/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See in_flight.h. A list without order: few threads are in calls, with few ranges each, and what
 * was added last most often is taken off first.
 */
#include "rtmgrind/common/in_flight.h"

struct range {
    Addr first, last;
    ThreadId thread;
};

static struct range *ranges;
static UInt room;
UInt in_flight_used;

void in_flight_add(ThreadId thread, Addr address, SizeT size)
{
    /* A size that wraps around is a mistake, for the kernel to refuse. */
    if (size == 0 || address + size < address)
        return;
    if (in_flight_used == room) {
        room = room == 0 ? 64 : room * 2;
        ranges = VG_(realloc)("rtm.in_flight", ranges, room * sizeof *ranges);
    }
    ranges[in_flight_used++] =
        (struct range){.first = address, .last = address + size - 1, .thread = thread};
}

void in_flight_end(ThreadId thread)
{
    for (UInt i = in_flight_used; i-- > 0;) {
        if (ranges[i].thread == thread)
            ranges[i] = ranges[--in_flight_used];
    }
}

void in_flight_forget(void)
{
    in_flight_used = 0;
}

Bool in_flight_search(Addr address, SizeT size)
{
    ThreadId me = VG_(get_running_tid)();

    for (UInt i = 0; i < in_flight_used; i++) {
        /* A call of its own is over: a signal's handler runs, and the core has not said so yet. */
        if (address <= ranges[i].last && address + size - 1 >= ranges[i].first &&
            ranges[i].thread != me)
            return True;
    }
    return False;
}
