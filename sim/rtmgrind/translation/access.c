/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See access.h. An access in a transaction passes, in this order: the page (is it there?), the
 * conflict directory (who holds the line?), the caches (does it fit?). A line that this transaction
 * used last in its cache set, in the same way, has passed all three before: most accesses end
 * there.
 */
#include "rtmgrind/translation/access.h"

#include "rtmgrind/transactions/conflict.h"
#include "rtmgrind/transactions/footprint.h"
#include "rtmgrind/transactions/pages.h"
#include "rtmgrind/translation/dispatch.h"

static const enum abort_cause cause_of_verdict[] = {
    [FOOTPRINT_WRITE_LOST] = ABORT_WRITE_CAPACITY,
    [FOOTPRINT_READ_LOST] = ABORT_READ_CAPACITY,
};

static void give_up(enum abort_cause cause, Addr data, Addr instruction) __attribute__((noreturn));
static void give_up(enum abort_cause cause, Addr data, Addr instruction)
{
    struct abort_event event = {.cause = cause, .data = data, .instruction = instruction};

    dispatch_abort(&event);
}

static void bring_in(struct transaction *transaction, Addr line, Addr data, Bool store,
                     Addr instruction)
{
    enum footprint_verdict verdict = footprint_access(&transaction->footprint, line, store);

    if (UNLIKELY(verdict != FOOTPRINT_FITS))
        give_up(cause_of_verdict[verdict], data, instruction);
}

/* Is the bound of --read-lines passed? Lines that were written as well do not count. */
static inline Bool read_too_much(const struct transaction *transaction)
{
    return options.read_lines != 0 &&
           transaction->claims_used - transaction->undo_used > (UInt)options.read_lines;
}

static inline void load_line(struct transaction *transaction, Addr line, Addr data,
                             Addr instruction)
{
    int marks = footprint_touch_recent(&transaction->footprint, line, False);

    if (LIKELY(marks > 0))
        return;
    if (UNLIKELY(!page_usable(line, False)))
        give_up(ABORT_PAGE_FAULT, data, instruction);
    conflict_claim_load(transaction, line, data, instruction);
    if (UNLIKELY(read_too_much(transaction)))
        give_up(ABORT_READ_CAPACITY, data, instruction);
    if (marks < 0)
        bring_in(transaction, line, data, False, instruction);
}

static inline void store_line(struct transaction *transaction, Addr line, Addr data, UInt size,
                              Addr instruction)
{
    struct undo *undo;
    int marks = footprint_touch_recent(&transaction->footprint, line, True);

    if (LIKELY(marks > 0 && (marks & CACHE_MODEL_WRITTEN))) {
        undo = conflict_undo_of(transaction, line);
    } else {
        if (UNLIKELY(!page_usable(line, True)))
            give_up(ABORT_PAGE_FAULT, data, instruction);
        undo = conflict_claim_store(transaction, line, data, instruction);
    }
    if (UNLIKELY(undo->watched) && in_flight(data, size))
        give_up(ABORT_SYSTEM_CALL, data, instruction);
    undo_record(undo, (UInt)(data - line), size);
    if (marks < 0)
        bring_in(transaction, line, data, True, instruction);
}

static inline Addr line_of(Addr address)
{
    return address & ~(Addr)(LINE_BYTES - 1);
}

void access_load(Addr address, ULong site)
{
    struct transaction *transaction = transaction_running;
    Addr instruction = site & ((1ULL << ACCESS_SIZE_SHIFT) - 1);
    Addr end = address + (site >> ACCESS_SIZE_SHIFT);

    if (transaction == NULL) {
        conflict_plain(address, end - address, False, instruction);
        return;
    }
    load_line(transaction, line_of(address), address, instruction);
    for (Addr line = line_of(address) + LINE_BYTES; line < end; line += LINE_BYTES)
        load_line(transaction, line, line, instruction);
}

/* An access over a border of lines: rare, and out of the way. */
static void store_lines(struct transaction *transaction, Addr address, Addr end, Addr instruction)
    __attribute__((noinline));
static void store_lines(struct transaction *transaction, Addr address, Addr end, Addr instruction)
{
    while (address < end) {
        Addr line = line_of(address);
        Addr part_end = line + LINE_BYTES < end ? line + LINE_BYTES : end;
        store_line(transaction, line, address, (UInt)(part_end - address), instruction);
        address = part_end;
    }
}

void access_store(Addr address, ULong site)
{
    struct transaction *transaction = transaction_running;
    Addr instruction = site & ((1ULL << ACCESS_SIZE_SHIFT) - 1);
    Addr end = address + (site >> ACCESS_SIZE_SHIFT);

    if (transaction == NULL) {
        conflict_plain(address, end - address, True, instruction);
        return;
    }
    if (LIKELY(line_of(address) == line_of(end - 1))) {
        store_line(transaction, line_of(address), address, (UInt)(end - address), instruction);
        return;
    }
    store_lines(transaction, address, end, instruction);
}
