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

/* How the operation of the event is told; its number in the block. False: out of memory. */
static bool tell_operation(struct filling *filling, uint32_t global, unsigned *how, uint32_t *local)
{
    struct model *model = &filling->model;
    const struct model_operation *from = &model->operations[model->current];

    for (unsigned i = OPERATION_RECENT; i <= OPERATION_OLDER; i++) {
        if (from->next[i] != MODEL_START && model->operations[from->next[i]].global == global) {
            *how = i;
            *local = from->next[i];
            return true;
        }
    }
    if (global >= filling->in_block_room) {
        uint32_t room = 2 * global + 64;
        uint32_t *grown = realloc(filling->in_block, room * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + filling->in_block_room, 0, (room - filling->in_block_room) * sizeof *grown);
        filling->in_block = grown;
        filling->in_block_room = room;
    }
    *local = filling->in_block[global];
    if (*local < model->used && model->operations[*local].global == global &&
        *local != MODEL_START) {
        *how = OPERATION_KNOWN;
        column_varint(&filling->columns.column[COLUMN_OPERATIONS], *local);
        return true;
    }
    *how = OPERATION_NEW;
    *local = filling->in_block[global] = model->used;
    column_varint(&filling->columns.column[COLUMN_OPERATIONS], global);
    return model_add(model, global);
}

/* Returns what the token says of the address. */
static unsigned tell_address(struct filling *filling, uint32_t local, uint64_t address)
{
    struct model *model = &filling->model;
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
            column_byte(&filling->columns.column[COLUMN_ADDRESS + bytes], (uint8_t)difference);
            difference >>= 8;
            bytes++;
        } while (difference != 0);
        how = ADDRESS_DIFFERENCE + bytes - 1;
    }
    model_address(model, local, follower, address);
    return how;
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
    struct columns *columns = &filling->columns;
    unsigned how, token;
    uint32_t local;

    if (filling->events == 0)
        model_begin(&filling->model);
    if (filling->events % FILLING_STEP == 0 &&
        !columns_reserve(columns, FILLING_STEP * FILLING_EVENT_BYTES))
        return false;
    if (with_values && trace_has_bytes(event->kind) &&
        !tell_bytes(&columns->column[COLUMN_BYTES], event))
        return false;
    if (!tell_operation(filling, operation, &how, &local))
        return false;
    token = how << TOKEN_OPERATION_SHIFT;
    if (event->instructions != model_instructions(&filling->model, how)) {
        token |= TOKEN_INSTRUCTIONS;
        column_varint(&columns->column[COLUMN_INSTRUCTIONS], event->instructions);
    }
    model_follow(&filling->model, how, local, event->instructions);
    token |= tell_address(filling, local, event->address);
    column_byte(&columns->column[COLUMN_TOKENS], (uint8_t)token);
    tell_extras(filling, event);
    filling->events++;
    return true;
}
