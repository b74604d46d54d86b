/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See processor_number.h.
 */
#include "virtual_processors/processor_number.h"

#include "virtual_processors/processors.h"

typedef void (*RdtscpHelper)(Guest *guest);

static RdtscpHelper vex_rdtscp;

/* Linux keeps node << 12 | processor where RDTSCP finds it; there is one node. */
static void helper_rdtscp(Guest *guest)
{
    vex_rdtscp(guest);
    guest->guest_RCX = (ULong)processors_mine();
}

void processor_number_replace(const IRSB *block, Int first)
{
    for (Int i = first; i < block->stmts_used; i++) {
        IRCallee *callee;

        if (block->stmts[i]->tag != Ist_Dirty)
            continue;
        callee = block->stmts[i]->Ist.Dirty.details->cee;
        if (VG_(strcmp)(callee->name, "amd64g_dirtyhelper_RDTSCP") == 0) {
            vex_rdtscp = (RdtscpHelper)callee->addr;
            callee->addr = (void *)&helper_rdtscp;
        }
    }
}
