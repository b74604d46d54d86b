/*
 * SPDX-License-Identifier: MIT
 *
 * See filling.h. What is told of an event is what the model does not predict.
 */
#include "trace/filling.h"

struct filling *filling_new(void)
{
    struct filling *filling = calloc(1, sizeof *filling);

    if (filling != NULL && !model_init(&filling->model)) {
        filling_free(filling);
        return NULL;
    }
    return filling;
}

void filling_free(struct filling *filling)
{
    if (filling == NULL)
        return;
    model_free(&filling->model);
    columns_free(&filling->columns);
    free(filling->in_block);
    free(filling);
}

/* The first event of a block: nothing is known. */
static void begin_block(struct filling *filling)
{
    for (uint32_t i = MODEL_START + 1; i < filling->model.used; i++)
        filling->in_block[filling->model.operations[i].global] = MODEL_START;
    model_begin(&filling->model);
}

/* Before every FILLING_STEP events: makes room for them. False: out of memory. */
static bool begin_step(struct filling *filling)
{
    if (filling->events == 0)
        begin_block(filling);
    return columns_reserve(&filling->columns, FILLING_STEP * FILLING_EVENT_BYTES);
}

/* Gives an operation the next number of the block, and tells it so. False: out of memory. */
static bool tell_new_operation(struct filling *filling, struct model *model, uint32_t global)
{
    if (global >= filling->in_block_room) {
        uint32_t room = 2 * global + 64;
        uint32_t *grown = realloc(filling->in_block, room * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + filling->in_block_room, 0, (room - filling->in_block_room) * sizeof *grown);
        filling->in_block = grown;
        filling->in_block_room = room;
    }
    filling->in_block[global] = model->used;
    column_varint(&filling->columns.column[COLUMN_OPERATIONS], global);
    return model_add(model, global);
}

/* How an operation is told that the block has. */
static inline unsigned tell_operation(struct columns *columns, const struct model *model,
                                      uint32_t local)
{
    const struct model_operation *from = &model->operations[model->current];

    if (local == from->next[0])
        return OPERATION_RECENT;
    if (local == from->next[1])
        return OPERATION_OLDER;
    column_varint(&columns->column[COLUMN_OPERATIONS], local);
    return OPERATION_KNOWN;
}

/* Returns what the token says of the address. */
static inline unsigned tell_address(struct columns *columns, struct model *model, uint32_t local,
                                    uint64_t address)
{
    const struct model_operation *now = &model->operations[local];
    uint64_t *follower = model_follower(model, local);
    unsigned how, bytes = 0;

    if (address == now->last + now->stride) {
        how = ADDRESS_STRIDE;
    } else if (address == model->address + now->distance) {
        how = ADDRESS_NEIGHBOUR;
    } else if (address == *follower) {
        how = ADDRESS_FOLLOWER;
    } else {
        uint64_t difference = trace_zigzag(address - model_base(model, local));
        do {
            column_byte(&columns->column[COLUMN_ADDRESS + bytes], (uint8_t)difference);
            difference >>= 8;
            bytes++;
        } while (difference != 0);
        how = ADDRESS_DIFFERENCE + bytes - 1;
    }
    model_address(model, local, follower, address);
    return how;
}

/*
 * Tells operations, instructions and addresses of at most FILLING_STEP events; there is room.
 * False: out of memory. The model is a local copy: what is stored in the columns cannot change it,
 * so the compiler keeps it in registers.
 */
static bool tell(struct filling *filling, const struct trace_access *accesses, size_t count)
{
    struct columns *columns = &filling->columns;
    struct column *column = &columns->column[COLUMN_TOKENS];
    uint8_t *tokens = column->bytes + column->used;
    struct model model = filling->model;
    size_t i;

    for (i = 0; i < count; i++) {
        uint32_t operation = accesses[i].operation, instructions = accesses[i].instructions;
        uint32_t local =
            operation < filling->in_block_room ? filling->in_block[operation] : MODEL_START;
        unsigned how = OPERATION_NEW, token;

        if (local != MODEL_START) {
            how = tell_operation(columns, &model, local);
        } else {
            local = model.used;
            if (!tell_new_operation(filling, &model, operation))
                break;
        }
        token = how << TOKEN_OPERATION_SHIFT;
        if (instructions != model_instructions(&model, how)) {
            token |= TOKEN_INSTRUCTIONS;
            column_varint(&columns->column[COLUMN_INSTRUCTIONS], instructions);
        }
        model_follow(&model, how, local, instructions);
        token |= tell_address(columns, &model, local, accesses[i].address);
        tokens[i] = (uint8_t)token;
    }
    filling->model = model;
    column->used += i;
    filling->events += (uint32_t)i;
    return i == count;
}

size_t filling_accesses(struct filling *filling, const struct trace_access *accesses, size_t count)
{
    uint32_t done = filling->events % FILLING_STEP;

    if (done == 0 && !begin_step(filling))
        return 0;
    if (count > FILLING_STEP - done)
        count = FILLING_STEP - done;
    return tell(filling, accesses, count) ? count : 0;
}

/* False: out of memory. */
static bool tell_bytes(struct column *bytes, const struct trace_event *event)
{
    if (!column_reserve(bytes, event->size))
        return false;
    if (event->bytes != NULL)
        column_bytes(bytes, event->bytes, event->size);
    else
        column_zeroes(bytes, event->size);
    return true;
}

static void tell_extras(struct filling *filling, const struct trace_event *event)
{
    struct column *extras = &filling->columns.column[COLUMN_EXTRAS];

    if (trace_has_value(event->kind, event->what))
        column_varint(extras, event->value);
    if (trace_has_stack(event->kind))
        column_varint(extras, event->stack);
    if (event->kind == TRACE_WAIT)
        column_varint(extras, event->thread);
}

bool filling_append(struct filling *filling, uint32_t operation, const struct trace_event *event,
                    bool with_values)
{
    const struct trace_access access = {
        .address = event->address,
        .operation = operation,
        .instructions = event->instructions,
    };

    if (filling->events % FILLING_STEP == 0 && !begin_step(filling))
        return false;
    if (with_values && trace_has_bytes(event->kind) &&
        !tell_bytes(&filling->columns.column[COLUMN_BYTES], event))
        return false;
    tell_extras(filling, event);
    return tell(filling, &access, 1);
}
