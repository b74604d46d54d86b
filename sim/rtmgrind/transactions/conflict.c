/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The directory of lines; see conflict.h. A hash table with linear probing. A line that nobody
 * holds any more stays in it until the table is made anew: the next transaction most likely wants
 * the same lines, and finds them without moving anything.
 */
#include "rtmgrind/transactions/conflict.h"

enum { NOBODY = -1, ROOM_AT_FIRST = 1 << 14 };

struct holders {
    Addr line;     /* 0: a free place; no transaction holds the line at 0 */
    ULong readers; /* bit n: the transaction of processor n */
    Int writer;    /* or NOBODY */
    UInt undo;     /* the line's number in the writer's undo log */
    ULong epoch;   /* all of this but the line counts only while it is the current one */
};

/* Grows whenever no transaction is active any more: the last one need not visit its lines to give
 * them back. */
static ULong epoch = 1;

static struct holders *directory;
static UInt directory_room; /* a power of two, never more than half full */
static UInt directory_used;
static UInt directory_shift;

static inline UInt place_of(Addr line)
{
    /* Fibonacci hashing: the high bits of the product depend on all bits of the line's number. */
    return (UInt)(((line / LINE_BYTES) * 0x9E3779B97F4A7C15ULL) >> directory_shift);
}

static void make_directory(UInt room)
{
    directory = VG_(calloc)("rtm.directory", room, sizeof *directory);
    directory_room = room;
    directory_used = 0;
    for (directory_shift = 64; room > 1; room /= 2)
        directory_shift--;
}

void conflict_init(void)
{
    make_directory(ROOM_AT_FIRST);
}

static inline struct holders *find(Addr line)
{
    UInt place = place_of(line);

    while (directory[place].line != line) {
        if (directory[place].line == 0)
            return NULL;
        place = (place + 1) & (directory_room - 1);
    }
    if (directory[place].epoch != epoch) {
        directory[place].epoch = epoch;
        directory[place].readers = 0;
        directory[place].writer = NOBODY;
    }
    return &directory[place];
}

static struct holders *add(Addr line)
{
    UInt place = place_of(line);

    while (directory[place].line != 0)
        place = (place + 1) & (directory_room - 1);
    directory[place].line = line;
    directory[place].writer = NOBODY;
    directory[place].epoch = epoch;
    directory_used++;
    return &directory[place];
}

/* A new table with the lines that somebody holds, large enough to be at most a quarter full. */
static void renew(void)
{
    struct holders *old = directory;
    UInt held = 0, room = ROOM_AT_FIRST;

    for (Int cpu = 0; cpu < processor_settings.cpus; cpu++)
        held += transactions[cpu].claims_used;
    while (room < 4 * held)
        room *= 2;
    make_directory(room);
    for (Int cpu = 0; cpu < processor_settings.cpus; cpu++) {
        struct transaction *transaction = &transactions[cpu];
        for (UInt i = 0; i < transaction->claims_used; i++) {
            const struct holders *from = &old[transaction->claims[i].place];
            struct holders *to = find(from->line);
            if (to == NULL) {
                to = add(from->line);
                to->readers = from->readers;
                to->writer = from->writer;
                to->undo = from->undo;
            }
            transaction->claims[i].place = (UInt)(to - directory);
        }
    }
    VG_(free)(old);
}

static struct holders *make_room_and_add(Addr line) __attribute__((noinline));
static struct holders *make_room_and_add(Addr line)
{
    if (directory_used >= directory_room / 2)
        renew();
    return add(line);
}

static inline struct holders *find_or_add(Addr line)
{
    struct holders *holders = find(line);

    return LIKELY(holders != NULL) ? holders : make_room_and_add(line);
}

static Addr claimed_by(const struct transaction *transaction, const struct holders *holders)
{
    for (UInt i = 0; i < transaction->claims_used; i++) {
        if (&directory[transaction->claims[i].place] == holders)
            return transaction->claims[i].instruction;
    }
    return 0;
}

static void abort_holder(const struct holders *holders, Int cpu, Addr data, Addr requester)
{
    struct abort_event event = {
        .cause = ABORT_CONFLICT,
        .instruction = claimed_by(&transactions[cpu], holders),
        .requester = requester,
        .data = data,
    };

    abort_transaction(&transactions[cpu], &event);
}

/* Aborts whoever holds the line in a way that does not go together with this access. */
static void evict_holders(struct holders *holders, Int me, Bool store, Addr data, Addr instruction)
{
    if (holders->writer != NOBODY) {
        /* Nobody else holds a line that has a writer. Once it is aborted, and was the last active
         * one, the entry does not count any more: it must not be looked at again. */
        if (holders->writer != me)
            abort_holder(holders, holders->writer, data, instruction);
        return;
    }
    if (!store)
        return;
    ULong readers = holders->readers;
    if (me != NOBODY)
        readers &= ~(1ULL << me);
    while (readers != 0) {
        Int cpu = __builtin_ctzll(readers);
        readers &= readers - 1;
        abort_holder(holders, cpu, data, instruction);
    }
}

/* Too many lines to ask for one by one: go through the lines that are held. */
static void conflict_plain_wide(Addr first, Addr last, Bool store, Addr instruction)
{
    for (Int cpu = 0; cpu < processor_settings.cpus; cpu++) {
        struct transaction *transaction = &transactions[cpu];
        for (UInt i = 0; transaction->active && i < transaction->claims_used; i++) {
            struct holders *holders = &directory[transaction->claims[i].place];
            if (holders->line >= first && holders->line <= last)
                evict_holders(holders, NOBODY, store, holders->line, instruction);
        }
    }
}

void conflict_plain(Addr address, SizeT size, Bool store, Addr instruction)
{
    Addr first = address & ~(Addr)(LINE_BYTES - 1);
    Addr last = (address + size - 1) & ~(Addr)(LINE_BYTES - 1);

    if (size == 0)
        return;
    if ((last - first) / LINE_BYTES > directory_room) {
        conflict_plain_wide(first, last, store, instruction);
        return;
    }
    for (Addr line = first;; line += LINE_BYTES) {
        /* An access to 0 faults, outside of transactions, too; the directory cannot be asked. */
        struct holders *holders = line == 0 ? NULL : find(line);
        if (holders != NULL)
            evict_holders(holders, NOBODY, store, line == first ? address : line, instruction);
        if (line == last)
            break;
    }
}

static void make_room_for_claims(struct transaction *transaction) __attribute__((noinline));
static void make_room_for_claims(struct transaction *transaction)
{
    transaction->claims_room = transaction->claims_room == 0 ? 256 : transaction->claims_room * 2;
    transaction->claims = VG_(realloc)("rtm.claims", transaction->claims,
                                       transaction->claims_room * sizeof *transaction->claims);
}

static inline void remember_claim(struct transaction *transaction, const struct holders *holders,
                                  Addr instruction)
{
    if (UNLIKELY(transaction->claims_used == transaction->claims_room))
        make_room_for_claims(transaction);
    transaction->claims[transaction->claims_used++] =
        (struct claim){.instruction = instruction, .place = (UInt)(holders - directory)};
}

void conflict_claim_load(struct transaction *transaction, Addr line, Addr data, Addr instruction)
{
    Int me = transaction->cpu;
    ULong my_bit = 1ULL << me;
    struct holders *holders = find_or_add(line);

    if (holders->writer == me || (holders->readers & my_bit) != 0)
        return;
    if (UNLIKELY(holders->writer != NOBODY))
        evict_holders(holders, me, False, data, instruction);
    holders->readers |= my_bit;
    remember_claim(transaction, holders, instruction);
}

struct undo *conflict_claim_store(struct transaction *transaction, Addr line, Addr data,
                                  Addr instruction)
{
    Int me = transaction->cpu;
    ULong my_bit = 1ULL << me;
    struct holders *holders = find_or_add(line);

    if (holders->writer == me)
        return &transaction->undo[holders->undo];
    if (UNLIKELY(holders->writer != NOBODY || (holders->readers & ~my_bit) != 0))
        evict_holders(holders, me, True, data, instruction);
    if ((holders->readers & my_bit) == 0)
        remember_claim(transaction, holders, instruction);
    holders->writer = me;
    holders->undo = transaction->undo_used;
    return transaction_log(transaction, line);
}

struct undo *conflict_undo_of(const struct transaction *transaction, Addr line)
{
    return &transaction->undo[find(line)->undo];
}

void conflict_release(struct transaction *transaction)
{
    ULong others = ~(1ULL << transaction->cpu);
    Bool last = transactions_active == 1;

    epoch += last;
    for (UInt i = 0; !last && i < transaction->claims_used; i++) {
        struct holders *holders = &directory[transaction->claims[i].place];
        holders->readers &= others;
        if (holders->writer == transaction->cpu)
            holders->writer = NOBODY;
    }
    transaction->claims_used = 0;
}
