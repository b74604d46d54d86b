/*
 * SPDX-License-Identifier: MIT
 *
 * The layout of a trace file, for its reader and its writer. docs/trace-format.md describes it.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include "trace/trace.h"

enum {
    TRACE_VERSION = 1,
    TRACE_FLAG_VALUES = 1,

    /* The header of the file: magic, version, flags, length of the command, checksum; the command
     * follows. */
    TRACE_HEADER_BYTES = 24,
    TRACE_COMMAND_MOST = 1 << 20,

    /* The header of a block: magic, stream, number, events, raw, packed, checksum of the content,
     * checksum of the header. */
    TRACE_BLOCK_HEADER_BYTES = 32,
    TRACE_RAW_MOST = 4 << 20,       /* bytes of a block's content, unpacked */
    TRACE_EVENTS_MOST = 1 << 19,    /* in a block */
    TRACE_EVENT_BYTES_MOST = 70000, /* of an event, with the values of the largest access */
    TRACE_THREADS_MOST = 1 << 24,

    TRACE_ACCESS_KINDS = TRACE_NT_STORE + 1, /* the kinds below are accesses */
};

#define TRACE_MAGIC       "mptrace\n"
#define TRACE_BLOCK_MAGIC 0x6b6c426dU /* "mBlk" */

/* What a block has instead of a thread's number. */
#define TRACE_STREAM_DEFINITIONS 0xffffffffU
#define TRACE_STREAM_END         0xfffffffeU

enum trace_definition { TRACE_DEFINE_SITE = 1, TRACE_DEFINE_STACK, TRACE_DEFINE_OPERATION };

/* Flags of an operation. */
enum { TRACE_OPERATION_DEPENDENT = 1, TRACE_OPERATION_SHARED = 2 };

/* What all events of one place in the code have in common. */
struct trace_operation {
    uint8_t kind, what, flags;
    uint16_t size;
    uint32_t site;
};

/* What an access tells besides, unless it tells what it stored. */
struct trace_access {
    uint64_t address;
    uint32_t operation, instructions; /* the operation's number in the file's definitions */
};

/* The columns of a thread's block, in their order. The address column K has byte K of the
 * differences that have one. */
enum {
    COLUMN_TOKENS,
    COLUMN_OPERATIONS,
    COLUMN_INSTRUCTIONS,
    COLUMN_EXTRAS,
    COLUMN_BYTES,
    COLUMN_ADDRESS,
    COLUMNS = COLUMN_ADDRESS + 8,
};

/* A token: how the event's operation, instructions and address are told. */
enum {
    TOKEN_ADDRESS = 0x0f,
    TOKEN_OPERATION = 0x30,
    TOKEN_OPERATION_SHIFT = 4,
    TOKEN_INSTRUCTIONS = 0x40, /* their number differs from what was predicted */
    TOKEN_UNUSED = 0x80,
};

/* What it says of the operation: one of the two that followed the previous one before, one that the
 * block had, one that it had not. */
enum { OPERATION_RECENT, OPERATION_OLDER, OPERATION_KNOWN, OPERATION_NEW };

/* What it says of the address: one of the predictions, or the bytes of a difference. */
enum { ADDRESS_STRIDE, ADDRESS_NEIGHBOUR, ADDRESS_FOLLOWER, ADDRESS_DIFFERENCE };

/* Which kinds have which of the fields that few have. */
static inline bool trace_has_value(unsigned kind, unsigned what)
{
    return kind == TRACE_ALLOC || kind == TRACE_WAIT || kind == TRACE_MARK ||
           (kind == TRACE_FLUSH && what == TRACE_MSYNC);
}

static inline bool trace_has_stack(unsigned kind)
{
    return kind == TRACE_ALLOC || kind == TRACE_FREE;
}

static inline bool trace_has_bytes(unsigned kind)
{
    return kind == TRACE_STORE || kind == TRACE_NT_STORE || kind == TRACE_LOCKED;
}

static inline uint32_t trace_get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static inline void trace_put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* Differences of either sign as numbers that are small where the difference is. */
static inline uint64_t trace_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static inline uint64_t trace_unzigzag(uint64_t number)
{
    return number >> 1 ^ (uint64_t) - (int64_t)(number & 1);
}

/* CRC-32 as in IEEE 802.3, of `length` bytes that follow those of `before` (0: none). */
uint32_t trace_checksum(uint32_t before, const void *bytes, size_t length);

#endif
