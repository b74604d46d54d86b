/*
 * SPDX-License-Identifier: MIT
 *
 * How tokens change hands under token; see token_state.h.
 */
#include "chip/coherence/token_state.h"

bool token_pass_on(struct fabric *fabric, unsigned agent, const struct message *message,
                   uint64_t time)
{
    struct message *grant;
    unsigned core;
    bool write;

    if (!token_active(fabric, agent, message->block, &core, &write) || core == agent ||
        (!write && !message->owner) || MUTANT(fabric, STARVED))
        return false;
    grant = fabric_message(fabric, MESSAGE_GRANT, agent, core, message->block, core);
    grant->tokens = message->tokens;
    grant->owner = message->owner;
    grant->dirty = message->dirty;
    grant->data = message->data;
    grant->version = message->version;
    fabric_send(fabric, grant, time);
    return true;
}

struct message *token_grant(struct fabric *fabric, unsigned agent, unsigned core, uint64_t block,
                            struct line *line, unsigned tokens, bool owner, bool data)
{
    struct message *grant = fabric_message(fabric, MESSAGE_GRANT, agent, core, block, core);

    fabric_load_tokens(grant, line, tokens, owner, data);
    if (MUTANT(fabric, TOKEN_LOST) && tokens > 1)
        grant->tokens--;
    if (MUTANT(fabric, DATA_LEFT_BEHIND))
        grant->data = grant->data && !owner;
    return grant;
}

void token_give(struct fabric *fabric, unsigned agent, unsigned core, uint64_t block,
                struct line *line, unsigned tokens, bool owner, bool data, uint64_t time)
{
    fabric_send(fabric, token_grant(fabric, agent, core, block, line, tokens, owner, data), time);
}

/*
 * A writer gets all, data with the owner's. A reader gets something from the owner alone: one token
 * and data, or all that there is if there is no more than one. `whole`: it gets all from a holder
 * of all tokens, as from a home, which has no use for them.
 */
void token_answer(struct fabric *fabric, unsigned agent, const struct message *request,
                  struct line *line, bool whole, uint64_t time)
{
    unsigned core = request->requester;

    if (line->tokens == 0)
        return;
    if (request->type == MESSAGE_WRITE)
        token_give(fabric, agent, core, request->block, line, line->tokens, line->owner,
                   line->owner, time);
    else if (line->owner && line->valid && whole && line->tokens == fabric->tokens)
        token_give(fabric, agent, core, request->block, line, line->tokens, true, true, time);
    else if (line->owner && line->valid)
        token_give(fabric, agent, core, request->block, line, 1, line->tokens == 1, true, time);
}

/* To a reader the owner token goes with all others but one, which keeps the copy readable. */
void token_surrender(struct fabric *fabric, unsigned agent, const struct message *activate,
                     struct line *line, uint64_t time)
{
    unsigned tokens = line->tokens;

    if (tokens == 0 || (!activate->report && !line->owner))
        return;
    if (!activate->report && tokens > 1 && line->valid)
        tokens--;
    token_give(fabric, agent, activate->requester, activate->block, line, tokens, line->owner,
               line->owner, time);
}
