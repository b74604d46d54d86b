/*
 * SPDX-License-Identifier: MIT
 *
 * What the writer and the reader of a block both know after the same events, and predict from it:
 * the next operation, its instructions, its address. It begins empty with every block.
 */
#ifndef TRACE_MODEL_H
#define TRACE_MODEL_H

#include "trace/format.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL_FOLLOWERS_BITS = 15, MODEL_START = 0 };

struct model_operation {
    uint32_t global;          /* number in the file's definitions */
    uint32_t next[2];         /* what came after it, the most recent first; MODEL_START: nothing */
    uint32_t instructions[2]; /* and with how many instructions */
    uint64_t last;            /* its latest address */
    uint64_t stride;          /* what that differed by from the one before */
    uint64_t distance;        /* what that differed by from the previous event's */
};

struct model {
    struct model_operation *operations; /* by number in the block; MODEL_START comes before all */
    uint32_t used, room;
    uint32_t current;    /* the previous event's */
    uint64_t address;    /* the previous event's */
    uint64_t *followers; /* the address that came after an address, by a hash of that */
};

/* False: out of memory. The model has to be freed in both cases. */
static inline bool model_init(struct model *model)
{
    *model = (struct model){.room = 256};
    model->operations = malloc(model->room * sizeof *model->operations);
    model->followers = malloc(sizeof *model->followers << MODEL_FOLLOWERS_BITS);
    return model->operations != NULL && model->followers != NULL;
}

static inline void model_free(struct model *model)
{
    free(model->operations);
    free(model->followers);
}

static inline void model_begin(struct model *model)
{
    model->operations[MODEL_START] = (struct model_operation){0};
    model->used = 1;
    model->current = MODEL_START;
    model->address = 0;
    memset(model->followers, 0, sizeof *model->followers << MODEL_FOLLOWERS_BITS);
}

/* Gives the operation the next number of the block. False: out of memory. */
static inline bool model_add(struct model *model, uint32_t global)
{
    if (model->used == model->room) {
        size_t bytes = 2 * (size_t)model->room * sizeof *model->operations;
        struct model_operation *grown = realloc(model->operations, bytes);
        if (grown == NULL)
            return false;
        model->operations = grown;
        model->room *= 2;
    }
    model->operations[model->used++] = (struct model_operation){.global = global};
    return true;
}

static inline uint64_t *model_follower(const struct model *model, uint32_t operation)
{
    uint64_t key = (model->address ^ (uint64_t)operation << 48) * 0x9e3779b97f4a7c15U;

    return &model->followers[key >> (64 - MODEL_FOLLOWERS_BITS)];
}

/* Where a difference is counted from. */
static inline uint64_t model_base(const struct model *model, uint32_t operation)
{
    uint64_t last = model->operations[operation].last;

    return last != 0 ? last : model->address;
}

/* The event has this operation and this address. */
static inline void model_address(struct model *model, uint32_t operation, uint64_t *follower,
                                 uint64_t address)
{
    struct model_operation *now = &model->operations[operation];

    now->stride = address - now->last;
    now->distance = address - model->address;
    now->last = address;
    *follower = address;
    model->address = address;
}

/* The event was told as `how` by this operation and so many instructions. */
static inline void model_follow(struct model *model, unsigned how, uint32_t operation,
                                uint32_t instructions)
{
    struct model_operation *from = &model->operations[model->current];

    if (how != OPERATION_RECENT) {
        from->next[1] = from->next[0];
        from->instructions[1] = from->instructions[0];
        from->next[0] = operation;
    }
    from->instructions[0] = instructions;
    model->current = operation;
}

/* The number of instructions that is predicted. */
static inline uint32_t model_instructions(const struct model *model, unsigned how)
{
    return how <= OPERATION_OLDER ? model->operations[model->current].instructions[how] : 0;
}

#endif
