/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See access.h. An access in a transaction passes, in this order: the page (is it there?), the
 * conflict directory (who holds the line?), the caches (does it fit?). A line that this transaction
 * used last in its cache set, in the same way, has passed all three before: most accesses end
 * there.
 */
#include "access.h"

#include "conflict.h"
#include "footprint.h"
#include "pages.h"

static const enum abort_cause cause_of_verdict[] = {
    [FOOTPRINT_WRITE_LOST] = ABORT_WRITE_CAPACITY,
    [FOOTPRINT_READ_LOST] = ABORT_READ_CAPACITY,
};

static void give_up(enum abort_cause cause, Addr data, Addr instruction) __attribute__((noreturn));
static void give_up(enum abort_cause cause, Addr data, Addr instruction)
{
    struct abort_event event = {.cause = cause, .data = data, .instruction = instruction};

    transaction_abort_running(&event);
}

static struct undo *claim(struct transaction *transaction, Addr line, Addr data, Bool store,
                          Addr instruction)
{
    if (UNLIKELY(!page_usable(line, store)))
        give_up(ABORT_PAGE_FAULT, data, instruction);
    struct undo *undo = conflict_claim(transaction, line, store, instruction);
    if (UNLIKELY(options.read_lines != 0 &&
                 transaction->claims_used - transaction->undo_used > (UInt)options.read_lines))
        give_up(ABORT_READ_CAPACITY, data, instruction);
    return undo;
}

static void bring_in(struct transaction *transaction, Addr line, Addr data, Bool store,
                     Addr instruction)
{
    enum footprint_verdict verdict = footprint_access(&transaction->footprint, line, store);

    if (UNLIKELY(verdict != FOOTPRINT_FITS))
        give_up(cause_of_verdict[verdict], data, instruction);
}

static inline void load_line(struct transaction *transaction, Addr line, Addr data,
                             Addr instruction)
{
    int marks = footprint_touch_recent(&transaction->footprint, line, False);

    if (LIKELY(marks > 0))
        return;
    claim(transaction, line, data, False, instruction);
    if (marks < 0)
        bring_in(transaction, line, data, False, instruction);
}

static inline void store_line(struct transaction *transaction, Addr line, Addr data, UInt size,
                              Addr instruction)
{
    struct undo *undo;
    int marks = footprint_touch_recent(&transaction->footprint, line, True);

    if (LIKELY(marks > 0 && (marks & CACHE_MODEL_WRITTEN)))
        undo = conflict_undo_of(transaction, line);
    else
        undo = claim(transaction, line, data, True, instruction);
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

void access_store(Addr address, ULong site)
{
    struct transaction *transaction = transaction_running;
    Addr instruction = site & ((1ULL << ACCESS_SIZE_SHIFT) - 1);
    Addr end = address + (site >> ACCESS_SIZE_SHIFT);

    if (transaction == NULL) {
        conflict_plain(address, end - address, True, instruction);
        return;
    }
    while (address < end) {
        Addr line = line_of(address);
        Addr part_end = line + LINE_BYTES < end ? line + LINE_BYTES : end;
        store_line(transaction, line, address, (UInt)(part_end - address), instruction);
        address = part_end;
    }
}
