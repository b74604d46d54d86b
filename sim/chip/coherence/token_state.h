/*
 * SPDX-License-Identifier: MIT
 *
 * What token keeps beside the caches: the tokens that are in memory, each agent's table of active
 * persistent requests, and the queue of each home's arbiter. For the units token_*.c and token.c.
 */
#ifndef CHIP_TOKEN_STATE_H
#define CHIP_TOKEN_STATE_H

#include "chip/coherence/fabric.h"

/* A persistent request, the first of its block being the active one. */
struct token_starving {
    struct token_starving *next;
    uint64_t block;
    unsigned core;
    bool write;
};

struct token_state {
    struct block_map memory;  /* 2 * tokens + owner; a block that is not there is all in memory */
    struct block_map *active; /* an agent's: 2 * core + write */
    struct token_starving *starving, *free; /* in the order in which they came */
};

/* The active persistent request of a block as an agent knows it. False: there is none. */
static inline bool token_active(const struct fabric *fabric, unsigned agent, uint64_t block,
                                unsigned *core, bool *write)
{
    const struct block_map *active = &fabric->token->active[agent];
    const uint64_t *value = active->used == 0 ? NULL : block_map_find(active, block);

    if (value == NULL)
        return false;
    *core = (unsigned)(*value / 2);
    *write = *value % 2 != 0;
    return true;
}

/* Takes an ACTIVATE or DEACTIVATE into the agent's table. */
static inline void token_record(struct fabric *fabric, unsigned agent,
                                const struct message *message)
{
    struct block_map *active = &fabric->token->active[agent];

    if (message->type == MESSAGE_ACTIVATE)
        *block_map_add(active, message->block) = 2 * (uint64_t)message->requester + message->report;
    else
        block_map_remove(active, message->block);
}

/*
 * Whether tokens that come to an agent go on to an active persistent request: all of them to a
 * writer, to a reader those with the owner's among them. If so, sends them.
 */
bool token_pass_on(struct fabric *fabric, unsigned agent, const struct message *message,
                   uint64_t time);

/* A grant of some of a line's tokens to a core; token_give sends it. */
struct message *token_grant(struct fabric *fabric, unsigned agent, unsigned core, uint64_t block,
                            struct line *line, unsigned tokens, bool owner, bool data);
void token_give(struct fabric *fabric, unsigned agent, unsigned core, uint64_t block,
                struct line *line, unsigned tokens, bool owner, bool data, uint64_t time);

/* What a line gives to a transient request, and to a persistent one. */
void token_answer(struct fabric *fabric, unsigned agent, const struct message *request,
                  struct line *line, bool whole, uint64_t time);
void token_surrender(struct fabric *fabric, unsigned agent, const struct message *activate,
                     struct line *line, uint64_t time);

#endif
