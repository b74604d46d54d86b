/*
 * SPDX-License-Identifier: MIT
 *
 * What lies below the cores: private caches, homes, memory controllers, and the network between
 * them. This unit has what all protocols share: who is where, and how a message goes out.
 *
 * Every block has as many tokens as there are cores, one of them the owner's. They are in private
 * caches, at the block's home, on their way, or all in memory (under token: any of them). A copy
 * may be read with one token and valid data, written with all of them. The sparse directory, too,
 * is modelled with tokens: an acknowledgement of an invalidation is a message with the tokens.
 */
#ifndef CHIP_FABRIC_H
#define CHIP_FABRIC_H

#include "chip/caches/private_cache.h"
#include "chip/coherence/counts.h"
#include "chip/coherence/mutants.h"
#include "chip/engine/block_map.h"
#include "chip/engine/queue.h"
#include "chip/machine/machine.h"
#include "chip/memory/memory.h"
#include "chip/mesh/mesh.h"

struct fabric;
struct home;
struct check;
struct persist_hooks;

/* A miss under way. */
struct mshr {
    uint64_t block;
    uint64_t begun;    /* cycle; of a write after a read, when the read was over */
    uint64_t merged;   /* sum of (cycle of a later access - begun) */
    uint64_t answered; /* the cores that gave something */
    uint64_t age;      /* instructions of the core before it; for the core */
    struct line *line;
    uint32_t generation; /* counts the requests of this place */
    uint32_t loads;      /* accesses that wait for data */
    uint32_t later;      /* accesses that came after the first */
    uint8_t retries;     /* token */
    bool used;
    bool write;
    bool then_write;             /* a store came while a load was under way */
    bool counted;                /* it is to be counted by where its data come from */
    bool from_home, from_memory; /* data came from there */
    bool persistent;             /* token: all agents were asked to send what they have */
};

/* What a protocol does where a miss begins and ends, and with the messages of each kind of agent.
 */
struct protocol {
    const char *name;
    void (*request)(struct fabric *fabric, unsigned core, struct mshr *mshr, uint64_t time);
    void (*satisfied)(struct fabric *fabric, unsigned core, struct mshr *mshr);
    void (*at_core)(struct fabric *fabric, unsigned core, struct message *message);
    void (*at_home)(struct fabric *fabric, struct home *home, struct message *message);
    void (*at_memory)(struct fabric *fabric, unsigned controller, struct message *message);
};

struct fabric_core {
    struct private_cache cache;
    struct mshr mshrs[MACHINE_WINDOW_MOST];
    unsigned outstanding;
    uint32_t generation;
};

struct fabric {
    struct machine own;
    const struct machine *machine; /* &own */
    const struct protocol *protocol;
    struct queue queue;
    struct mesh mesh;
    struct memory memory;
    struct fabric_core *cores;
    struct home *homes;
    struct counts *counts; /* a core, then a controller */
    struct check *check;   /* NULL: nothing is checked */
    void (*sent)(struct check *check, const struct message *message); /* with check: tokens leave */
    struct token_state *token;
    const struct persist_hooks *persist; /* NULL: nothing is persistent */
    uint64_t *last_sent;   /* an agent: an agent sends at most a message a cycle, in order */
    unsigned first_memory; /* the agent */
    unsigned tokens;       /* of a block */
    unsigned bank_shift;
    uint64_t controller_bits; /* of a block's number that choose its controller, within a page */
    unsigned data_flits;
    /* Tests: up to so many more cycles on the way, from a seed; and a rule taken out. */
    unsigned jitter;
    uint64_t seed;
    uint64_t *last_arrival; /* [from][to], with jitter */
    enum mutant mutant;
    /* Called when accesses of the core are satisfied; `over`: the miss is, too, else the write that
     * follows the read begins. */
    void (*completed)(void *owner, unsigned core, struct mshr *mshr, bool over);
    void *owner;
};

/* The agents' numbers. */
static inline unsigned fabric_home_agent(const struct fabric *fabric, uint64_t block)
{
    return fabric->machine->core.count + (unsigned)(block & (fabric->machine->llc.banks - 1));
}

/* The port of the block's controller. The blocks of a controller go through its ports in turn: by
 * their numbers without the bits that chose the controller. */
unsigned fabric_port(const struct fabric *fabric, uint64_t block);

/* The agent of the block's port. */
static inline unsigned fabric_memory_agent(struct fabric *fabric, uint64_t block)
{
    unsigned ports = fabric->machine->memory.ports;
    unsigned controller =
        memory_is_dram(&fabric->memory)
            ? memory_controller(&fabric->memory, block)
            : (unsigned)(block >> fabric->bank_shift & (fabric->machine->memory.controllers - 1));

    return fabric->first_memory + controller * ports +
           (ports == 1 ? 0 : fabric_port(fabric, block));
}

/* The block of memory that the message is about. */
static inline uint64_t fabric_place(const struct message *message)
{
    return message->place != 0 ? message->place : message->block;
}

static inline uint64_t fabric_bit(unsigned core)
{
    return (uint64_t)1 << core;
}

static inline uint64_t fabric_all_cores(const struct fabric *fabric)
{
    return ~(uint64_t)0 >> (64 - fabric->machine->core.count);
}

static inline void fabric_count(struct fabric *fabric, unsigned core, enum count count, uint64_t by)
{
    fabric->counts[core].of[count] += by;
}

/* Rows of the counts: the cores, then the controllers. */
static inline unsigned fabric_count_rows(const struct fabric *fabric)
{
    return fabric->machine->core.count + fabric->machine->memory.controllers;
}

/* Everything but the homes and the protocol. False: out of memory. */
bool fabric_init(struct fabric *fabric, const struct machine *machine);
void fabric_destroy(struct fabric *fabric);

/* A message about a block on behalf of a core. */
struct message *fabric_message(struct fabric *fabric, enum message_type type, unsigned from,
                               unsigned to, uint64_t block, unsigned requester);

/*
 * The tokens of a line: `tokens` of them, the owner's among them if `with_owner`, go into the
 * message; data go with it if the line has them and `data`.
 */
void fabric_load_tokens(struct message *message, struct line *line, unsigned tokens,
                        bool with_owner, bool data);

/* What the message carries joins the line: its tokens, and its data if it has some. */
void fabric_take_tokens(struct line *line, const struct message *message);

/* Sends it at `time` or as soon after that as its sender can. */
void fabric_send(struct fabric *fabric, struct message *message, uint64_t time);

/* The controller reads a block, and sends the answer when it has it; or writes one. */
void fabric_memory_read(struct fabric *fabric, unsigned controller, struct message *answer);
void fabric_memory_write(struct fabric *fabric, unsigned controller, const struct message *store);

/* MESSAGE_PERSIST or _LOG_READ at a controller: writes or reads the block, and answers. */
void fabric_memory_persist(struct fabric *fabric, unsigned controller,
                           const struct message *persist);

/*
 * Sends copies of the message to these cores, to the home of the block if `home`, and to its
 * controller if `memory`. One receiver: no multicast. None: nothing is sent. Takes the message.
 */
void fabric_multicast(struct fabric *fabric, struct message *message, uint64_t cores, bool home,
                      bool memory, uint64_t time);

/* The message's time at its sender has come: it goes into the network. */
void fabric_inject(struct fabric *fabric, struct message *message);

#endif
