/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The critical sections of the program, and what stopped each of them: two tables, filled by
 * sections.h. All figures of time are emulated instructions.
 */
#ifndef RTMGRIND_SECTION_TABLE_H
#define RTMGRIND_SECTION_TABLE_H

#include "rtmgrind/common/transaction_state.h"

#include "pub_tool_execontext.h"

/* Why an attempt aborted, or could not have committed. */
enum stop_kind {
    STOP_NOT_TRIED,   /* the lock is of a kind that is not elided */
    STOP_SYSTEM_CALL, /* detail: its number */
    STOP_WAKE,        /* futex(2) that wakes others */
    STOP_WAIT,        /* for a condition */
    STOP_PAGE_FAULT,
    STOP_INSTRUCTION,
    STOP_WRITE_CAPACITY,
    STOP_READ_CAPACITY,
    STOP_CONFLICT, /* `other`: the section of who came to the line; NULL: in none; detail: below */
    STOP_LOCK_TAKEN, /* somebody holds the section's lock physically; `other`: that one's section */
    STOP_INNER_LOCK, /* the same of a lock inside of the section; `data` is the lock */
    STOP_LEFT,       /* the library left the transaction for a call that is not elided inside */
    STOP_OTHER,      /* detail: enum abort_cause */
    STOP_KINDS,
};

enum { STOP_LINE_OF_LOCK = 1 }; /* a conflict in the line of the section's lock */

/* Data as a reader knows it: equal for the same member of all blocks of one origin. Of blocks above
 * WHOLE_BLOCK_BYTES the offset is left out, for they are arrays or pools. */
enum { WHOLE_BLOCK_BYTES = 4096 };
struct data_name {
    Addr address;       /* 0: a heap block, or no data */
    ExeContext *origin; /* of the heap block, or NULL */
    SizeT size;
    PtrdiffT offset;
};

struct section {
    ExeContext *locked; /* the call that locks */
    struct data_name lock;
    UInt number;
    Bool of_c_library; /* its own lock: nobody can change that, and it is not followed */
    ULong entered, committed, held;
    ULong visited;                         /* other threads came to the lock while it was held */
    ULong in_commits, in_aborts, in_holds; /* instructions */
    ULong in_waits;                        /* of in_holds, while another thread waited */
};

struct stop_filler {
    ULong lines; /* over all overflows; 0: not used */
    ExeContext *origin;
    SizeT size;
};
enum { STOP_FILLERS_MOST = 8 };

struct stop {
    struct section *section;
    enum stop_kind kind;
    UInt detail;
    ExeContext *stack; /* where it happened, or NULL */
    Addr instruction, requester;
    struct data_name data;
    struct section *other;

    ULong aborts, in_aborts;
    ULong holds,
        in_holds;   /* entries that took the lock because of it; instructions under the lock */
    ULong in_waits; /* of in_holds, while another thread waited */
    ULong holds_alone, in_waits_alone; /* of those: nothing else was seen to stop a transaction */
    ULong seen;                        /* under the lock, where it would have aborted */
    struct stop_filler filler[STOP_FILLERS_MOST];
};

void section_table_init(void);
void section_table_reset(void);

struct data_name section_table_name(Addr data);

/* The entry, a new one if need be. It stays where it is until a reset. */
struct section *section_table_find(ExeContext *locked, Addr lock);

/* The entry with the same key (the members before the counts). Of more stops than there is room
 * for, those of a kind and section are one. */
struct stop *section_table_stop(const struct stop *key);

/* The written lines of the set that overflowed. */
void section_table_blame(struct stop *stop, const struct transaction *transaction, Addr data);

/* In the order in which they were first seen. */
UInt section_table_sections(void);
struct section *section_table_section(UInt index);
UInt section_table_stops(void);
struct stop *section_table_stop_at(UInt index);

#endif
