/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where transactions begin and where they abort: two tables, filled as it happens.
 */
#ifndef RTMGRIND_SITES_H
#define RTMGRIND_SITES_H

#include "rtmgrind/common/transaction_state.h"

#include "pub_tool_execontext.h"

/* An XBEGIN of the program, outermost ones only. */
struct site {
    Addr begin; /* 0: a free place of the table */
    ULong started, committed, aborted[ABORT_CAUSES];
};

/* A way in which transactions aborted, as far as instructions, data and the calls that led to the
 * XBEGIN tell one from another. */
struct abort_place {
    ULong count; /* 0: a free place of the table */
    enum abort_cause cause;
    Addr begin, instruction, requester, data;
    ExeContext *begun; /* the calls that led to `begin`; NULL if nobody wants to know */
};

/* A line of memory whose accesses aborted transactions. */
struct abort_line {
    Addr line;
    Addr data; /* the address in it that did so most often */
    ULong count, aborted[ABORT_CAUSES];
};

void sites_init(void);

/* The site's entry, a new one if need be. It stays where it is. */
struct site *site_at(Addr begin);

void sites_count_abort(Addr begin, const struct abort_event *event, ExeContext *begun);

/* Forgets all counts. */
void sites_reset(void);

/* The `most` entries with most aborts and with most transactions, in order; returns how many there
 * are. The lists are the caller's. */
UInt sites_busiest(struct site **list, UInt most);
UInt sites_worst_places(struct abort_place **list, UInt most);

/* The lines where most transactions aborted, of those that are in the table of places. */
UInt sites_worst_lines(struct abort_line *list, UInt most);

/* Aborts that found the table of places full. */
ULong sites_places_lost(void);

#endif
