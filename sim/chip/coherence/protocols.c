/*
 * SPDX-License-Identifier: MIT
 *
 * The protocols, and the step of the simulation; see protocols.h.
 */
#include "chip/coherence/protocols.h"

#include "chip/coherence/check.h"
#include "chip/coherence/flask.h"
#include "chip/coherence/persist_hooks.h"
#include "chip/coherence/responder.h"
#include "chip/coherence/sparse.h"
#include "chip/coherence/token.h"
#include "chip/coherence/transactions.h"

#include <stdlib.h>

static void at_token_home(struct fabric *fabric, struct home *home, struct message *message)
{
    token_at_home(fabric, home, message);
    queue_free(&fabric->queue, message);
}

static const struct protocol protocols[] = {
    [MACHINE_SPARSE] = {"sparse", responder_request, responder_satisfied, responder_receive,
                        transactions_receive, responder_memory},
    [MACHINE_TOKEN] = {"token", token_request, token_satisfied, token_at_core, at_token_home,
                       token_at_memory},
    [MACHINE_FLASK] = {"flask", responder_request, responder_satisfied, responder_receive,
                       transactions_receive, responder_memory},
};

static bool init_home(struct fabric *fabric, unsigned index)
{
    struct home *home = &fabric->homes[index];

    switch (fabric->machine->coherence.protocol) {
    case MACHINE_SPARSE:
        return sparse_init(home, fabric, index);
    case MACHINE_FLASK:
        return flask_init(home, fabric, index);
    default:
        return home_init(home, fabric, index, NULL, 0, 0, 0);
    }
}

bool protocols_init(struct fabric *fabric, const struct machine *machine, bool check)
{
    if (!fabric_init(fabric, machine))
        return false;
    fabric->protocol = &protocols[machine->coherence.protocol];
    fabric->homes = calloc(machine->llc.banks, sizeof *fabric->homes);
    if (fabric->homes == NULL)
        return false;
    for (unsigned i = 0; i < machine->llc.banks; i++)
        if (!init_home(fabric, i))
            return false;
    if (machine->coherence.protocol == MACHINE_TOKEN && !token_init(fabric))
        return false;
    fabric->sent = check_sent;
    if (check)
        fabric->check = check_new(fabric);
    return !check || fabric->check != NULL;
}

void protocols_destroy(struct fabric *fabric)
{
    for (unsigned i = 0; i < fabric->machine->llc.banks; i++)
        home_destroy(&fabric->homes[i]);
    free(fabric->homes);
    if (fabric->token != NULL)
        token_destroy(fabric);
    check_free(fabric->check);
    fabric_destroy(fabric);
}

void protocols_wake(struct fabric *fabric, unsigned core, uint64_t time)
{
    struct message *wake = fabric_message(fabric, MESSAGE_WAKE, core, core, 0, core);

    wake->sent = true;
    queue_put(&fabric->queue, wake, time);
}

static struct home *home_of(struct fabric *fabric, uint64_t block)
{
    return &fabric->homes[block & (fabric->machine->llc.banks - 1)];
}

static void check_event(struct fabric *fabric, uint64_t block)
{
    unsigned in_memory = 0;
    bool owner = false;

    if (fabric->token != NULL)
        in_memory = token_in_memory(fabric, block, &owner);
    check_block(fabric->check, block, home_copy(home_of(fabric, block), block), in_memory, owner);
}

static void at_memory(struct fabric *fabric, struct message *message)
{
    unsigned controller = (message->to - fabric->first_memory) / fabric->machine->memory.ports;

    if (memory_is_dram(&fabric->memory))
        memory_arrives(&fabric->memory, fabric_place(message));
    if (message->type == MESSAGE_PERSIST || message->type == MESSAGE_LOG_READ)
        fabric_memory_persist(fabric, controller, message);
    else
        fabric->protocol->at_memory(fabric, controller, message);
}

/* A message of the persistence, which no protocol knows. */
static void dispatch_persist(struct fabric *fabric, struct message *message)
{
    if (message->type == MESSAGE_PERSISTED)
        fabric->persist->persisted(fabric->persist->owner, message);
    else if (message->to < fabric->first_memory)
        fabric->persist->at_home(fabric->persist->owner, message);
    else
        at_memory(fabric, message);
    queue_free(&fabric->queue, message);
}

static void dispatch(struct fabric *fabric, struct message *message)
{
    unsigned cores = fabric->machine->core.count, homes = cores + fabric->machine->llc.banks;
    uint64_t block = message->block;

    if (fabric->check != NULL && message->tokens > 0)
        check_received(fabric->check, message);
    if (message->to >= cores && message->to < homes) {
        fabric->protocol->at_home(fabric, &fabric->homes[message->to - cores], message);
    } else {
        if (message->to < cores)
            fabric->protocol->at_core(fabric, message->to, message);
        else
            at_memory(fabric, message);
        queue_free(&fabric->queue, message);
    }
    if (fabric->check != NULL)
        check_event(fabric, block);
}

bool protocols_step(struct fabric *fabric, int *woken)
{
    struct message *message = queue_take(&fabric->queue);

    *woken = -1;
    if (message == NULL)
        return false;
    if (!message->sent) {
        fabric_inject(fabric, message);
    } else if (message->type == MESSAGE_WAKE) {
        *woken = message->to;
        queue_free(&fabric->queue, message);
    } else if (message->type == MESSAGE_COMMAND) {
        memory_wake(&fabric->memory, message->to);
        queue_free(&fabric->queue, message);
    } else if (message->type == MESSAGE_PERSIST || message->type == MESSAGE_LOG_READ ||
               message->type == MESSAGE_PERSISTED) {
        dispatch_persist(fabric, message);
    } else {
        dispatch(fabric, message);
    }
    return true;
}
