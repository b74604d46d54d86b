/*
 * SPDX-License-Identifier: MIT
 *
 * What the tool sends to the writer: messages through a pipe, each a header and its content. Both
 * ends are of one build, so this is no format that anybody else may rely on.
 *
 * The code of the program is told in pieces: what is executed from the first to the last
 * instruction or not at all. A piece that was executed is its number and, for each of its accesses,
 * the address and, with values, what was stored.
 */
#ifndef MEMTRACE_WIRE_H
#define MEMTRACE_WIRE_H

#include <stdint.h>

enum wire_message {
    WIRE_BEGIN = 1,   /* number: WIRE_VERSION; content: 1 byte, with values or not */
    WIRE_SITE,        /* number: the site; content: its name */
    WIRE_STACK,       /* number: the stack; content: the numbers of its sites, 32 bits each */
    WIRE_PIECE,       /* number: the piece; content: struct wire_piece, its accesses, its effects */
    WIRE_EVENTS,      /* number: the thread; content: words */
    WIRE_THREAD_ENDS, /* number: the thread */
    WIRE_CUT,         /* the capture was to stop here */
    WIRE_END,         /* unless more comes, all is told: the trace is complete */
};

enum { WIRE_VERSION = 1 };

struct wire_header {
    uint32_t message, number, bytes, unused;
};

struct wire_piece {
    uint16_t accesses, effects;
    uint16_t instructions;
    uint16_t is_first; /* of its block of code: the registers are as it began */
};

/* General registers by number, then the flags. */
enum { WIRE_REGISTERS = 17, WIRE_FLAGS = 16 };

struct wire_access {
    uint8_t kind, what; /* as in struct trace_event; a fence has no address */
    uint8_t dependent;  /* on a load of the same block */
    uint8_t unused;
    uint16_t size;
    uint16_t instruction; /* how many of the piece were executed then, its own included */
    uint32_t site;
    uint32_t registers; /* that the address was computed from, as they were at the block's begin */
};

/* What a register holds after the piece. */
struct wire_effect {
    uint16_t target;
    uint16_t is_loaded; /* or computed from a load of the block */
    uint32_t registers; /* what else it was computed from, as above */
};

/* The highest byte of the first word of what is in the content of WIRE_EVENTS. */
enum { WIRE_WORD_PIECE = 0, WIRE_WORD_EVENT = 1 };

#define WIRE_TAG(tag) ((uint64_t)(tag) << 56)

/* An event that is not of a piece. */
struct wire_event {
    uint32_t kind_what_shared; /* a byte each, from the lowest on */
    uint32_t tag;              /* WIRE_TAG as the upper half of a word */
    uint64_t address, value;
    uint32_t site, stack;
    uint64_t thread;
};

#endif
