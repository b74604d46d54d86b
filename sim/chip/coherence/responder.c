/*
 * SPDX-License-Identifier: MIT
 *
 * The private caches' answers to a home; see responder.h.
 */
#include "chip/coherence/responder.h"

#include "chip/coherence/check.h"
#include "chip/coherence/home.h"
#include "chip/coherence/requester.h"

void responder_request(struct fabric *fabric, unsigned core, struct mshr *mshr, uint64_t time)
{
    struct message *request =
        fabric_message(fabric, mshr->write ? MESSAGE_WRITE : MESSAGE_READ, core,
                       fabric_home_agent(fabric, mshr->block), mshr->block, core);

    fabric_send(fabric, request, time);
}

void responder_satisfied(struct fabric *fabric, unsigned core, struct mshr *mshr)
{
    struct message *unblock = fabric_message(
        fabric, MESSAGE_UNBLOCK, core, fabric_home_agent(fabric, mshr->block), mshr->block, core);

    unblock->cores = mshr->answered;
    unblock->report = mshr->line->owner;
    fabric_send(fabric, unblock, fabric->queue.now + 1);
}

static void acknowledge(struct fabric *fabric, const struct message *asked, const struct line *line,
                        bool supplied, uint64_t time)
{
    struct message *ack =
        fabric_message(fabric, MESSAGE_ACK, asked->to, asked->from, asked->block, asked->requester);

    ack->report = line != NULL && line->tokens > 0;
    ack->answer = supplied;
    fabric_send(fabric, ack, time);
}

/* `tokens` of the line's go to the requester, data with the owner's or with a reader's. */
static void grant(struct fabric *fabric, const struct message *asked, struct line *line,
                  unsigned tokens, bool owner, bool data, uint64_t time)
{
    struct message *message = fabric_message(fabric, MESSAGE_GRANT, asked->to, asked->requester,
                                             asked->block, asked->requester);

    fabric_load_tokens(message, line, tokens, owner, data);
    if (MUTANT(fabric, TOKEN_LOST) && tokens > 1)
        message->tokens--;
    if (MUTANT(fabric, COPY_KEPT) && line->tokens == 0)
        line->valid = true;
    fabric_send(fabric, message, time);
}

static void give_read(struct fabric *fabric, const struct message *asked, struct line *line,
                      uint64_t time)
{
    bool supplies = line != NULL && line->owner && line->valid;

    if (supplies) {
        bool last = line->tokens == 1;

        grant(fabric, asked, line, 1, last, true, time);
    }
    if (asked->report || !supplies)
        acknowledge(fabric, asked, line, supplies, time);
    if (line != NULL)
        requester_drop(fabric, asked->to, asked->block, line);
}

static void give_all(struct fabric *fabric, const struct message *asked, struct line *line,
                     uint64_t time)
{
    if (line == NULL || line->tokens == 0) {
        acknowledge(fabric, asked, NULL, false, time);
        return;
    }
    if (asked->type == MESSAGE_RECALL)
        requester_put(fabric, asked->to, asked->block, line, true, time);
    else
        grant(fabric, asked, line, line->tokens, line->owner, line->owner, time);
    requester_drop(fabric, asked->to, asked->block, line);
}

static void flush_array(struct fabric *fabric, unsigned core, struct array *array,
                        const struct message *message, uint64_t time)
{
    struct home *home = &fabric->homes[message->from - fabric->machine->core.count];
    size_t places = (size_t)array->sets * array->ways;

    for (size_t i = 0; i < places; i++) {
        struct line *line = &array->lines[i];
        uint64_t block = array->tags[i];

        if (block == ARRAY_NONE || line->elsewhere || line->pending || line->tokens == 0 ||
            fabric_home_agent(fabric, block) != message->from ||
            !filter_shares(&home->filter, message->block, block))
            continue;
        requester_put(fabric, core, block, line, false, time);
        private_cache_remove(&fabric->cores[core].cache, block);
    }
}

/* All that shares the full place of the filter leaves, but for what is waited for. */
static void flush(struct fabric *fabric, unsigned core, const struct message *message,
                  uint64_t time)
{
    flush_array(fabric, core, &fabric->cores[core].cache.l1, message, time);
    flush_array(fabric, core, &fabric->cores[core].cache.l2, message, time);
    fabric_send(fabric,
                fabric_message(fabric, MESSAGE_FLUSHED, core, message->from, message->block,
                               message->requester),
                time);
}

void responder_receive(struct fabric *fabric, unsigned core, struct message *message)
{
    uint64_t time = fabric->queue.now + fabric->machine->l2.latency;
    struct line *line;

    if (message->type == MESSAGE_GRANT) {
        if (!requester_granted(fabric, core, message))
            check_report(fabric->check, "core %u has no place for block %#llx", core,
                         (unsigned long long)message->block);
        return;
    }
    fabric_count(fabric, message->requester, COUNT_SNOOPS, 1);
    if (message->type == MESSAGE_FLUSH) {
        flush(fabric, core, message, time);
        return;
    }
    line = private_cache_find(&fabric->cores[core].cache, message->block);
    if (message->type == MESSAGE_ASK_READ)
        give_read(fabric, message, line, time);
    else
        give_all(fabric, message, line, time);
}

void responder_memory(struct fabric *fabric, unsigned controller, struct message *message)
{
    struct message *grant;

    if (message->type == MESSAGE_STORE) {
        fabric_memory_write(fabric, controller, message);
        if (fabric->check != NULL)
            check_memory_written(fabric->check, message->block, message->version);
        return;
    }
    grant = fabric_message(fabric, MESSAGE_GRANT, message->to, message->requester, message->block,
                           message->requester);
    grant->place = message->place;
    grant->tokens = (uint16_t)fabric->tokens;
    grant->owner = true;
    grant->data = true;
    grant->version = fabric->check != NULL ? check_memory(fabric->check, message->block) : 0;
    fabric_memory_read(fabric, controller, grant);
}
