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

enum { OPERATION_UNKNOWN = UINT32_MAX };

/* In one piece of memory, which begins at accesses. */
struct piece {
    struct wire_piece head;
    struct wire_access *accesses;
    struct wire_effect *effects;
    struct operations *operations; /* of each access */
};

/* A thread's registers: the number of the instruction by which each was loaded, or computed from
 * what was; 0: long ago. */
struct thread {
    uint64_t instructions; /* executed so far */
    uint64_t told;         /* of them, up to the latest event */
    uint64_t now[WIRE_REGISTERS];
    uint64_t at_begin[WIRE_REGISTERS]; /* of the present block of code */
    uint32_t changed;                  /* the registers in which the two may differ, a bit each */
};

struct expander {
    struct trace_writer *writer;
    bool with_values;
    struct piece *pieces;
    uint32_t pieces_used, pieces_room;
    struct thread **threads;
    uint32_t threads_room;
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

/* The latest load that one of these registers comes from. */
static uint64_t loaded_at(const struct thread *thread, uint32_t registers)
{
    uint64_t latest = 0;

    for (registers &= (1U << WIRE_REGISTERS) - 1; registers != 0; registers &= registers - 1) {
        uint64_t at = thread->at_begin[__builtin_ctz(registers)];
        if (at > latest)
            latest = at;
    }
    return latest;
}

static bool is_dependent(const struct thread *thread, const struct wire_access *access)
{
    uint64_t at;

    if (access->dependent)
        return true;
    at = access->registers != 0 ? loaded_at(thread, access->registers) : 0;
    return at != 0 && thread->instructions - at <= EXPAND_DEPENDENT_INSTRUCTIONS;
}

static void begin_block(struct thread *thread)
{
    for (; thread->changed != 0; thread->changed &= thread->changed - 1) {
        int target = __builtin_ctz(thread->changed);

        thread->at_begin[target] = thread->now[target];
    }
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

/* What was executed of a piece: the addresses are at `words`. Returns how many words these are, 0
 * if there are not so many or on failure. */
static size_t expand_piece(struct expander *expander, uint32_t number, struct thread *thread,
                           const struct piece *piece, const uint64_t *words, size_t left)
{
    size_t used = 0;

    if (piece->head.is_first)
        begin_block(thread);
    for (unsigned i = 0; i < piece->head.accesses; i++) {
        const struct wire_access *access = &piece->accesses[i];
        uint32_t *operation;
        struct trace_event event = {
            .kind = access->kind,
            .what = access->what,
            .size = access->size,
            .site = access->site,
        };
        if (access->kind != TRACE_FENCE) {
            if (used == left)
                return 0;
            event.address = words[used++];
        }
        if (expander->with_values && access->kind != TRACE_LOAD && access->size > 0) {
            size_t length = ((size_t)access->size + 7) / 8;
            if (left - used < length)
                return 0;
            event.bytes = (const uint8_t *)(words + used);
            used += length;
        }
        if (event.address == 0 && access->kind != TRACE_FENCE)
            continue; /* its condition did not hold */
        event.dependent = access->kind == TRACE_LOAD && is_dependent(thread, access);
        event.instructions = instructions_at(thread, access->instruction);
        operation = &piece->operations[i].of[event.dependent];
        if (*operation == OPERATION_UNKNOWN &&
            !trace_writer_operation(expander->writer, &event, operation))
            return 0;
        if (!trace_writer_event_of(expander->writer, number, *operation, &event))
            return 0;
    }
    thread->instructions += piece->head.instructions;
    apply_effects(thread, piece);
    return used + 1;
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
            if (used == 0)
                return false;
            words += used - 1;
        } else if (*words >> 56 == WIRE_WORD_EVENT && (size_t)(end - words) >= event_words) {
            if (!expand_event(expander, number, thread, (const struct wire_event *)words))
                return false;
            words += event_words;
        } else {
            return false;
        }
    }
    return true;
}

bool expander_thread_ends(struct expander *expander, uint32_t number)
{
    if (number < expander->threads_room) {
        free(expander->threads[number]);
        expander->threads[number] = NULL;
    }
    return trace_writer_thread_ends(expander->writer, number);
}
