/*
 * SPDX-License-Identifier: MIT
 *
 * What travels between the agents of the simulated chip: cores (their private caches), homes (a
 * bank of the last level with its directory) and memory controllers. A message also stands for an
 * event of one agent alone: it is due at `time`.
 */
#ifndef CHIP_MESSAGE_H
#define CHIP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

enum message_type {
    MESSAGE_WAKE,  /* to a core: go on with the trace */
    MESSAGE_TIMER, /* to a core: a request has waited for long (token) */

    MESSAGE_READ,    /* core to home, or to all: give me a readable copy */
    MESSAGE_WRITE,   /* the same, a writable one */
    MESSAGE_UNBLOCK, /* requester to home: it has what it wanted */
    MESSAGE_PUT,     /* core to home: tokens and data that leave the private caches */

    MESSAGE_ASK_READ,  /* home to core: give a readable copy to the requester */
    MESSAGE_ASK_WRITE, /* home to core: give all you have to the requester */
    MESSAGE_RECALL,    /* home to core: give all you have to the home */
    MESSAGE_ACK,       /* core to home: the answer to these where it gives nothing */
    MESSAGE_GRANT,     /* to the requester: tokens, and data where the owner token is among them */
    MESSAGE_FLUSH,   /* home to core: write back what shares a place of the filter with the block */
    MESSAGE_FLUSHED, /* core to home: done */

    MESSAGE_FETCH,   /* home to memory: data and all tokens to the requester */
    MESSAGE_STORE,   /* home to memory: data, and tokens under token */
    MESSAGE_COMMAND, /* to a controller, `to` being its number: a command to its chips is due */

    MESSAGE_PERSIST,  /* to memory: a block to write; to a home: to keep in its non-volatile bank */
    MESSAGE_LOG_READ, /* to memory: a block of the log to read */
    MESSAGE_PERSISTED, /* the answer to these, when it is done; `version` is the question's */

    MESSAGE_STARVE,     /* requester to home: a persistent request (token) */
    MESSAGE_FED,        /* requester to home: it is satisfied */
    MESSAGE_ACTIVATE,   /* home to all: all that comes to you goes to the requester */
    MESSAGE_DEACTIVATE, /* home to all: no longer */
};

struct message {
    struct message *next;
    uint64_t time;
    uint64_t block;
    uint64_t place;   /* FETCH: the block of memory that has the data, 0: `block` */
    uint64_t version; /* of the data, for the checker */
    uint64_t cores;   /* UNBLOCK: who answered, a bit a core; a multicast: to whom it goes */
    uint16_t from, to;
    uint16_t requester; /* the core on whose behalf it is sent */
    uint16_t tokens;
    uint32_t generation; /* TIMER */
    uint8_t mshr;        /* TIMER */
    uint8_t type;
    bool owner;  /* the owner token is among the tokens */
    bool data;   /* it carries the block */
    bool dirty;  /* memory has an older one */
    bool report; /* ASK_READ: answer the home, too; ACTIVATE: for a writer */
    bool answer; /* PUT: the answer to a RECALL */
    bool evict;  /* PUT: the block leaves its bank, too */
    bool sent;   /* on its way to the receiver; before, it waits at its sender */
    bool multicast, to_home, to_memory; /* to `cores`, and to these of the block */
};

#endif
