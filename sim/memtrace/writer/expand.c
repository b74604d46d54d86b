/*
 * SPDX-License-Identifier: MIT
 *
 * See expand.h.
 */
#include "memtrace/writer/expand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The numbers that the trace has for an access as it depends on a load, and as it does not. */
struct operations {
    uint32_t of[2];
};

enum { OPERATION_UNKNOWN = UINT32_MAX, BATCH_ACCESSES = 1024 };

/* In one piece of memory, which begins at accesses. */
struct piece {
    struct wire_piece head;
    bool is_plain; /* each of its accesses is an address alone */
    struct wire_access *accesses;
    struct wire_effect *effects;
    struct operations *operations; /* of each access */
};

/* A thread's registers: the number of the instruction by which each was loaded, or computed from
 * what was; 0: long ago. Sets of registers have a bit each. */
struct thread {
    uint64_t instructions; /* executed so far */
    uint64_t told;         /* of them, up to the latest event */
    uint64_t now[WIRE_REGISTERS];
    uint64_t at_begin[WIRE_REGISTERS]; /* of the present block of code */
    uint32_t changed;                  /* the registers in which the two may differ */
    uint32_t loaded;       /* those that at the begin came from a load that is not too long ago */
    uint64_t loaded_until; /* the instruction after which this is to be looked at again */
};

struct expander {
    struct trace_writer *writer;
    bool with_values;
    struct piece *pieces;
    uint32_t pieces_used, pieces_room;
    struct thread **threads;
    uint32_t threads_room;
    struct trace_access batch[BATCH_ACCESSES]; /* of one thread, not yet given to the writer */
    size_t batched;
};

struct expander *expander_new(struct trace_writer *writer, bool with_values)
{
    struct expander *expander = calloc(1, sizeof *expander);

    if (expander != NULL) {
        expander->writer = writer;
        expander->with_values = with_values;
    }
    return expander;
}

void expander_free(struct expander *expander)
{
    if (expander == NULL)
        return;
    for (uint32_t i = 0; i < expander->pieces_used; i++)
        free(expander->pieces[i].accesses);
    for (uint32_t i = 0; i < expander->threads_room; i++)
        free(expander->threads[i]);
    free(expander->pieces);
    free(expander->threads);
    free(expander);
}

static bool fail(int error)
{
    errno = error;
    return false;
}

/* Whether an access is told by its address alone. */
static bool is_plain(const struct expander *expander, const struct wire_access *access)
{
    return access->kind == TRACE_LOAD || (access->kind <= TRACE_NT_STORE && !expander->with_values);
}

bool expander_piece(struct expander *expander, uint32_t number, const void *content, size_t bytes)
{
    struct piece piece;
    size_t accesses, effects;

    if (number != expander->pieces_used || bytes < sizeof piece.head)
        return fail(EPROTO);
    memcpy(&piece.head, content, sizeof piece.head);
    accesses = piece.head.accesses * sizeof *piece.accesses;
    effects = piece.head.effects * sizeof *piece.effects;
    if (bytes != sizeof piece.head + accesses + effects)
        return fail(EPROTO);
    if (expander->pieces_used == expander->pieces_room) {
        uint32_t room = 2 * expander->pieces_room + 1024;
        struct piece *grown = realloc(expander->pieces, room * sizeof *grown);
        if (grown == NULL)
            return false;
        expander->pieces = grown;
        expander->pieces_room = room;
    }
    piece.accesses =
        malloc(accesses + effects + piece.head.accesses * sizeof *piece.operations + 1);
    if (piece.accesses == NULL)
        return false;
    piece.effects = (struct wire_effect *)(piece.accesses + piece.head.accesses);
    piece.operations = (struct operations *)(piece.effects + piece.head.effects);
    for (unsigned i = 0; i < piece.head.accesses; i++)
        piece.operations[i] = (struct operations){{OPERATION_UNKNOWN, OPERATION_UNKNOWN}};
    memcpy(piece.accesses, (const char *)content + sizeof piece.head, accesses + effects);
    piece.is_plain = true;
    for (unsigned i = 0; i < piece.head.accesses; i++)
        piece.is_plain &= is_plain(expander, &piece.accesses[i]);
    for (unsigned i = 0; i < piece.head.effects; i++) {
        if (piece.effects[i].target >= WIRE_REGISTERS) {
            free(piece.accesses);
            return fail(EPROTO);
        }
    }
    expander->pieces[expander->pieces_used++] = piece;
    return true;
}

static struct thread *thread_of(struct expander *expander, uint32_t number)
{
    if (number >= expander->threads_room) {
        uint32_t room = 2 * number + 16;
        struct thread **grown =
            number < 1U << 24 ? realloc(expander->threads, room * sizeof *grown) : NULL;
        if (grown == NULL)
            return NULL;
        memset(grown + expander->threads_room, 0, (room - expander->threads_room) * sizeof *grown);
        expander->threads = grown;
        expander->threads_room = room;
    }
    if (expander->threads[number] == NULL)
        expander->threads[number] = calloc(1, sizeof *expander->threads[number]);
    return expander->threads[number];
}

/* Removes from the loaded registers those whose load is too long ago. */
static void forget_old_loads(struct thread *thread)
{
    uint32_t loaded = thread->loaded;

    thread->loaded_until = UINT64_MAX;
    for (; loaded != 0; loaded &= loaded - 1) {
        int number = __builtin_ctz(loaded);
        uint64_t until = thread->at_begin[number] + EXPAND_DEPENDENT_INSTRUCTIONS;

        if (thread->instructions > until)
            thread->loaded &= ~(1U << number);
        else if (until < thread->loaded_until)
            thread->loaded_until = until;
    }
}

/* The registers become those at the begin of a block. */
static void begin_block(struct thread *thread)
{
    for (; thread->changed != 0; thread->changed &= thread->changed - 1) {
        int number = __builtin_ctz(thread->changed);
        uint64_t at = thread->now[number];

        thread->at_begin[number] = at;
        thread->loaded &= ~(1U << number);
        if (at == 0)
            continue;
        thread->loaded |= 1U << number;
        if (at + EXPAND_DEPENDENT_INSTRUCTIONS < thread->loaded_until)
            thread->loaded_until = at + EXPAND_DEPENDENT_INSTRUCTIONS;
    }
}

static bool is_dependent(const struct thread *thread, const struct wire_access *access)
{
    return access->dependent || (access->registers & thread->loaded) != 0;
}

/* The latest load that one of these registers comes from; 0: it is too long ago. */
static uint64_t loaded_at(const struct thread *thread, uint32_t registers)
{
    uint64_t latest = 0;

    for (registers &= thread->loaded; registers != 0; registers &= registers - 1) {
        uint64_t at = thread->at_begin[__builtin_ctz(registers)];
        if (at > latest)
            latest = at;
    }
    return latest;
}

static void apply_effects(struct thread *thread, const struct piece *piece)
{
    for (unsigned i = 0; i < piece->head.effects; i++) {
        const struct wire_effect *effect = &piece->effects[i];

        thread->changed |= 1U << effect->target;
        thread->now[effect->target] =
            effect->is_loaded ? thread->instructions : loaded_at(thread, effect->registers);
    }
}

/* Instructions since the latest event, with one that comes `more` later than what is counted. */
static uint32_t instructions_at(struct thread *thread, uint32_t more)
{
    uint64_t since = thread->instructions + more - thread->told;

    thread->told += since;
    return since < UINT32_MAX ? (uint32_t)since : UINT32_MAX;
}

/* Gives the writer what is batched. */
static bool flush(struct expander *expander, uint32_t number)
{
    size_t batched = expander->batched;

    expander->batched = 0;
    return batched == 0 ||
           trace_writer_accesses_of(expander->writer, number, expander->batch, batched);
}

static bool find_operation(struct expander *expander, const struct wire_access *access,
                           bool dependent, uint32_t *operation)
{
    const struct trace_event event = {
        .kind = access->kind,
        .what = access->what,
        .size = access->size,
        .site = access->site,
        .dependent = dependent,
    };

    return trace_writer_operation(expander->writer, &event, operation);
}

/* The accesses of a plain piece, whose addresses are at `words`. */
static bool expand_plain(struct expander *expander, uint32_t number, struct thread *thread,
                         const struct piece *piece, const uint64_t *words)
{
    for (unsigned i = 0; i < piece->head.accesses; i++) {
        const struct wire_access *access = &piece->accesses[i];
        bool dependent = is_dependent(thread, access);
        uint32_t *operation = &piece->operations[i].of[dependent];

        if (words[i] == 0)
            continue; /* its condition did not hold */
        if (*operation == OPERATION_UNKNOWN &&
            !find_operation(expander, access, dependent, operation))
            return false;
        expander->batch[expander->batched++] = (struct trace_access){
            .address = words[i],
            .operation = *operation,
            .instructions = instructions_at(thread, access->instruction),
        };
        if (expander->batched == BATCH_ACCESSES && !flush(expander, number))
            return false;
    }
    return true;
}

/* The accesses of another piece. Returns how many words these are, or `left` + 1 if there are not
 * so many or on failure. */
static size_t expand_accesses(struct expander *expander, uint32_t number, struct thread *thread,
                              const struct piece *piece, const uint64_t *words, size_t left)
{
    size_t used = 0;

    if (!flush(expander, number))
        return left + 1;
    for (unsigned i = 0; i < piece->head.accesses; i++) {
        const struct wire_access *access = &piece->accesses[i];
        uint32_t *operation;
        struct trace_event event = {.kind = access->kind, .size = access->size};

        if (access->kind != TRACE_FENCE) {
            if (used == left)
                return left + 1;
            event.address = words[used++];
        }
        if (expander->with_values && access->kind != TRACE_LOAD && access->size > 0) {
            size_t length = ((size_t)access->size + 7) / 8;
            if (left - used < length)
                return left + 1;
            event.bytes = (const uint8_t *)(words + used);
            used += length;
        }
        if (event.address == 0 && access->kind != TRACE_FENCE)
            continue; /* its condition did not hold */
        event.dependent = access->kind == TRACE_LOAD && is_dependent(thread, access);
        event.instructions = instructions_at(thread, access->instruction);
        operation = &piece->operations[i].of[event.dependent];
        if ((*operation == OPERATION_UNKNOWN &&
             !find_operation(expander, access, event.dependent, operation)) ||
            !trace_writer_event_of(expander->writer, number, *operation, &event))
            return left + 1;
    }
    return used;
}

/* What was executed of a piece: the addresses are at `words`. Returns how many words these are, or
 * more than `left` if there are not so many or on failure. */
static size_t expand_piece(struct expander *expander, uint32_t number, struct thread *thread,
                           const struct piece *piece, const uint64_t *words, size_t left)
{
    size_t used = piece->head.accesses;

    if (piece->head.is_first)
        begin_block(thread);
    if (thread->instructions > thread->loaded_until)
        forget_old_loads(thread);
    if (!piece->is_plain)
        used = expand_accesses(expander, number, thread, piece, words, left);
    else if (used <= left && !expand_plain(expander, number, thread, piece, words))
        return left + 1;
    thread->instructions += piece->head.instructions;
    apply_effects(thread, piece);
    return used;
}

static bool expand_event(struct expander *expander, uint32_t number, struct thread *thread,
                         const struct wire_event *sent)
{
    struct trace_event event = {
        .kind = (uint8_t)sent->kind_what_shared,
        .what = (uint8_t)(sent->kind_what_shared >> 8),
        .shared = sent->kind_what_shared >> 16 & 1,
        .address = sent->address,
        .value = sent->value,
        .site = sent->site,
        .stack = sent->stack,
        .thread = (uint32_t)sent->thread,
        .instructions = instructions_at(thread, 0),
    };

    return trace_writer_event(expander->writer, number, &event);
}

bool expander_events(struct expander *expander, uint32_t number, const void *content, size_t bytes)
{
    const uint64_t *words = content, *end = words + bytes / sizeof *words;
    const size_t event_words = sizeof(struct wire_event) / sizeof *words;
    struct thread *thread = thread_of(expander, number);

    if (thread == NULL)
        return false;
    errno = EPROTO;
    while (words < end) {
        if (*words >> 56 == WIRE_WORD_PIECE && *words < expander->pieces_used) {
            const struct piece *piece = &expander->pieces[*words++];
            size_t used =
                expand_piece(expander, number, thread, piece, words, (size_t)(end - words));
            if (used > (size_t)(end - words))
                return false;
            words += used;
        } else if (*words >> 56 == WIRE_WORD_EVENT && (size_t)(end - words) >= event_words) {
            if (!flush(expander, number) ||
                !expand_event(expander, number, thread, (const struct wire_event *)words))
                return false;
            words += event_words;
        } else {
            return false;
        }
    }
    return flush(expander, number);
}

bool expander_thread_ends(struct expander *expander, uint32_t number)
{
    if (number < expander->threads_room) {
        free(expander->threads[number]);
        expander->threads[number] = NULL;
    }
    return trace_writer_thread_ends(expander->writer, number);
}
