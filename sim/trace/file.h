/*
 * SPDX-License-Identifier: MIT
 *
 * An open trace file, and how a block is read from it: what trace_file.c and trace_stream.c share.
 */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include "trace/format.h"

enum { PROBLEM_BYTES = 256 };

struct trace {
    int descriptor;
    bool with_values, complete;
    char *command;
    uint64_t begin, end;         /* offset of the first block; behind the last one that is whole */
    char problem[PROBLEM_BYTES]; /* what is wrong at `end`; empty: nothing */
    uint32_t threads;
    uint64_t accesses, cut_at;
    char **sites; /* by number; the first is for 0 */
    uint32_t sites_used, sites_room;
    struct trace_frames {
        uint32_t *sites;
        size_t count;
    } * stacks;
    uint32_t stacks_used, stacks_room;
    struct trace_operation *operations;
    uint32_t operations_used, operations_room;
};

struct trace_block {
    uint32_t stream, number, events, raw, packed, checksum;
    uint64_t content; /* its offset; the next header is `packed` bytes on */
};

/* Reads a header that should have this number. False: none is there, and why, in `problem` of
 * PROBLEM_BYTES. */
bool trace_read_block(const struct trace *trace, uint64_t offset, uint32_t number,
                      struct trace_block *block, char *problem);

/* The buffers and the state of unpacking, which grow as needed. All zero: empty. */
struct trace_unpacker {
    struct ZSTD_DCtx_s *state;
    uint8_t *packed, *raw;
    size_t packed_room, raw_room;
};

/* Reads a block's content into `raw`. False as above. */
bool trace_unpack(const struct trace *trace, const struct trace_block *block,
                  struct trace_unpacker *unpacker, char *problem);
void trace_unpacker_free(struct trace_unpacker *unpacker);

/* Bytes that are read from the front. */
struct trace_bytes {
    const uint8_t *at, *end;
};

static inline bool trace_take_byte(struct trace_bytes *bytes, uint8_t *byte)
{
    if (bytes->at == bytes->end)
        return false;
    *byte = *bytes->at++;
    return true;
}

/* False: it is cut, or has more than 64 bits. */
static inline bool trace_take_varint(struct trace_bytes *bytes, uint64_t *number)
{
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        if (shift == 63 && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number = result;
            return true;
        }
    }
    return false;
}

/* The same for numbers of 32 bits. */
static inline bool trace_take_number(struct trace_bytes *bytes, uint32_t *number)
{
    uint64_t taken;

    if (!trace_take_varint(bytes, &taken) || taken > UINT32_MAX)
        return false;
    *number = (uint32_t)taken;
    return true;
}

#endif
