/*
 * SPDX-License-Identifier: MIT
 *
 * The events of one thread: block for block, column for column. See trace.h and model.h.
 */
#include "trace/file.h"
#include "trace/model.h"

#include <stdio.h>

struct trace_stream {
    const struct trace *trace;
    uint32_t thread;
    uint64_t offset; /* of the header after the present block */
    uint32_t number; /* that block's */
    uint32_t left;   /* events of the present block */
    struct trace_bytes column[COLUMNS];
    struct model model;
    struct trace_unpacker unpacker;
    enum trace_status status;
    char problem[PROBLEM_BYTES];
};

struct trace_stream *trace_stream_open(struct trace *trace, uint32_t thread)
{
    struct trace_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        return NULL;
    stream->trace = trace;
    stream->thread = thread;
    stream->offset = trace->begin;
    if (!model_init(&stream->model)) {
        trace_stream_close(stream);
        return NULL;
    }
    return stream;
}

void trace_stream_close(struct trace_stream *stream)
{
    if (stream == NULL)
        return;
    model_free(&stream->model);
    trace_unpacker_free(&stream->unpacker);
    free(stream);
}

const char *trace_problem(const struct trace_stream *stream)
{
    return stream->problem;
}

static bool damaged(struct trace_stream *stream)
{
    stream->status = TRACE_DAMAGED;
    return false;
}

/* The content of a block is not what a writer writes. */
static bool wrong(struct trace_stream *stream)
{
    snprintf(stream->problem, sizeof stream->problem,
             "block %u has a content that is not of this format", stream->number - 1);
    return damaged(stream);
}

static bool split_columns(struct trace_stream *stream, const struct trace_block *block)
{
    const uint8_t *at = stream->unpacker.raw + 4 * COLUMNS;
    const uint8_t *end = stream->unpacker.raw + block->raw;

    if (block->raw < 4 * COLUMNS)
        return wrong(stream);
    for (unsigned i = 0; i < COLUMNS; i++) {
        uint32_t length = trace_get32(stream->unpacker.raw + 4 * i);
        if (length > (size_t)(end - at))
            return wrong(stream);
        stream->column[i] = (struct trace_bytes){at, at + length};
        at += length;
    }
    if (at != end || stream->column[COLUMN_TOKENS].end - stream->column[COLUMN_TOKENS].at !=
                         (ptrdiff_t)block->events)
        return wrong(stream);
    return true;
}

/* Goes on to the thread's next block. False: the status says why there is none. */
static bool next_block(struct trace_stream *stream)
{
    const struct trace *trace = stream->trace;
    struct trace_block block;

    do {
        if (stream->offset == trace->end) {
            stream->status = trace->complete ? TRACE_END : TRACE_DAMAGED;
            memcpy(stream->problem, trace->problem, sizeof stream->problem);
            return false;
        }
        if (!trace_read_block(trace, stream->offset, stream->number, &block, stream->problem))
            return damaged(stream);
        stream->offset = block.content + block.packed;
        stream->number++;
    } while (block.stream != stream->thread);
    if (!trace_unpack(trace, &block, &stream->unpacker, stream->problem))
        return damaged(stream);
    if (!split_columns(stream, &block))
        return false;
    stream->left = block.events;
    model_begin(&stream->model);
    return true;
}

/* Sets the operation's number in the block. */
static bool take_operation(struct trace_stream *stream, unsigned how, uint32_t *local)
{
    struct model *model = &stream->model;
    uint32_t number;

    if (how <= OPERATION_OLDER) {
        *local = model->operations[model->current].next[how];
        return *local != MODEL_START;
    }
    if (!trace_take_number(&stream->column[COLUMN_OPERATIONS], &number))
        return false;
    if (how == OPERATION_KNOWN) {
        *local = number;
        return number != MODEL_START && number < model->used;
    }
    *local = model->used;
    return number < stream->trace->operations_used && model_add(model, number);
}

static bool take_address(struct trace_stream *stream, unsigned how, uint32_t local,
                         uint64_t *address)
{
    struct model *model = &stream->model;
    const struct model_operation *now = &model->operations[local];
    uint64_t *follower = model_follower(model, local);
    uint64_t difference = 0;

    switch (how) {
    case ADDRESS_STRIDE:
        *address = now->last + now->stride;
        break;
    case ADDRESS_NEIGHBOUR:
        *address = model->address + now->distance;
        break;
    case ADDRESS_FOLLOWER:
        *address = *follower;
        break;
    default:
        if (how - ADDRESS_DIFFERENCE >= sizeof difference)
            return false;
        for (unsigned i = 0; i <= how - ADDRESS_DIFFERENCE; i++) {
            uint8_t byte;
            if (!trace_take_byte(&stream->column[COLUMN_ADDRESS + i], &byte))
                return false;
            difference |= (uint64_t)byte << 8 * i;
        }
        *address = model_base(model, local) + trace_unzigzag(difference);
    }
    model_address(model, local, follower, *address);
    return true;
}

static bool take_extras(struct trace_stream *stream, struct trace_event *event)
{
    struct trace_bytes *extras = &stream->column[COLUMN_EXTRAS];
    struct trace_bytes *bytes = &stream->column[COLUMN_BYTES];

    if (trace_has_value(event->kind, event->what) && !trace_take_varint(extras, &event->value))
        return false;
    if (trace_has_stack(event->kind) &&
        (!trace_take_number(extras, &event->stack) || event->stack >= stream->trace->stacks_used))
        return false;
    if (event->kind == TRACE_WAIT && !trace_take_number(extras, &event->thread))
        return false;
    if (stream->trace->with_values && trace_has_bytes(event->kind)) {
        if (event->size > bytes->end - bytes->at)
            return false;
        event->bytes = bytes->at;
        bytes->at += event->size;
    }
    return true;
}

static bool take_event(struct trace_stream *stream, struct trace_event *event)
{
    struct model *model = &stream->model;
    uint8_t token = *stream->column[COLUMN_TOKENS].at++;
    unsigned how = (token & TOKEN_OPERATION) >> TOKEN_OPERATION_SHIFT;
    const struct trace_operation *operation;
    uint32_t local, instructions;

    if ((token & TOKEN_UNUSED) || !take_operation(stream, how, &local))
        return false;
    instructions = model_instructions(model, how);
    if ((token & TOKEN_INSTRUCTIONS) &&
        !trace_take_number(&stream->column[COLUMN_INSTRUCTIONS], &instructions))
        return false;
    model_follow(model, how, local, instructions);
    operation = &stream->trace->operations[model->operations[local].global];
    *event = (struct trace_event){
        .kind = operation->kind,
        .what = operation->what,
        .dependent = operation->flags & TRACE_OPERATION_DEPENDENT,
        .shared = operation->flags & TRACE_OPERATION_SHARED,
        .size = operation->size,
        .site = operation->site,
        .instructions = instructions,
    };
    return take_address(stream, token & TOKEN_ADDRESS, local, &event->address) &&
           take_extras(stream, event);
}

enum trace_status trace_next(struct trace_stream *stream, struct trace_event *event)
{
    if (stream->status != TRACE_EVENT)
        return stream->status;
    while (stream->left == 0) {
        if (!next_block(stream))
            return stream->status;
    }
    stream->left--;
    if (!take_event(stream, event))
        wrong(stream);
    return stream->status;
}

static bool is_in_user_space(const struct trace_event *event)
{
    const uint64_t end = (uint64_t)1 << 47;
    bool has_length = event->kind == TRACE_ALLOC ||
                      (event->kind == TRACE_FLUSH && event->what == TRACE_MSYNC) ||
                      (event->kind == TRACE_MARK && event->what == TRACE_PERSISTENT);
    uint64_t length = has_length ? event->value : event->size;

    if (event->kind == TRACE_MARK && event->what != TRACE_PERSISTENT && event->what != TRACE_FRAME)
        return true; /* its numbers are no addresses */
    return event->address < end && length <= end - event->address;
}

enum trace_status trace_next_in_user_space(struct trace_stream *stream, struct trace_event *event)
{
    if (trace_next(stream, event) == TRACE_EVENT && !is_in_user_space(event)) {
        snprintf(stream->problem, sizeof stream->problem,
                 "it has an address that no program has (2^47 or above)");
        damaged(stream);
    }
    return stream->status;
}
