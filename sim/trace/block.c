/*
 * SPDX-License-Identifier: MIT
 *
 * Reads a block of a trace file: its header and its content, each checked before it is used.
 */
#include "trace/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Fewer bytes than asked for only at the end of the file. -1: errno says why. */
static ssize_t read_at(int descriptor, void *to, size_t length, uint64_t offset)
{
    size_t got = 0;

    while (got < length) {
        ssize_t part = pread(descriptor, (char *)to + got, length - got, (off_t)(offset + got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        got += (size_t)part;
    }
    return (ssize_t)got;
}

static bool tell(char *problem, const char *what, uint64_t offset)
{
    snprintf(problem, PROBLEM_BYTES, "%s at byte %llu", what, (unsigned long long)offset);
    return false;
}

/* Reads all of it or says why not. */
static bool read_whole(const struct trace *trace, void *to, size_t length, uint64_t offset,
                       char *problem)
{
    ssize_t got = read_at(trace->descriptor, to, length, offset);

    if (got < 0)
        return tell(problem, strerror(errno), offset);
    if ((size_t)got < length) {
        /* The block before may be cut itself: the offset is behind the file's end then. */
        off_t end = lseek(trace->descriptor, 0, SEEK_END);

        return tell(problem, "the file is cut", end >= 0 ? (uint64_t)end : offset + (size_t)got);
    }
    return true;
}

bool trace_read_block(const struct trace *trace, uint64_t offset, uint32_t number,
                      struct trace_block *block, char *problem)
{
    uint8_t header[TRACE_BLOCK_HEADER_BYTES];

    if (!read_whole(trace, header, sizeof header, offset, problem))
        return false;
    *block = (struct trace_block){
        .stream = trace_get32(header + 4),
        .number = trace_get32(header + 8),
        .events = trace_get32(header + 12),
        .raw = trace_get32(header + 16),
        .packed = trace_get32(header + 20),
        .checksum = trace_get32(header + 24),
        .content = offset + sizeof header,
    };
    if (trace_get32(header) != TRACE_BLOCK_MAGIC ||
        trace_get32(header + 28) != trace_checksum(0, header, 28))
        return tell(problem, "the header of a block is damaged", offset);
    if (block->number != number)
        return tell(problem, "a block is missing", offset);
    if (block->raw > TRACE_RAW_MOST || block->packed > ZSTD_compressBound(TRACE_RAW_MOST) ||
        block->events > TRACE_RAW_MOST ||
        (block->stream >= TRACE_THREADS_MOST && block->stream < TRACE_STREAM_END))
        return tell(problem, "the header of a block is not of this format", offset);
    return true;
}

static bool grow(uint8_t **bytes, size_t *room, size_t length)
{
    uint8_t *grown;

    if (*room >= length)
        return true;
    grown = realloc(*bytes, length);
    if (grown == NULL)
        return false;
    *bytes = grown;
    *room = length;
    return true;
}

bool trace_unpack(const struct trace *trace, const struct trace_block *block,
                  struct trace_unpacker *unpacker, char *problem)
{
    size_t length;

    if (unpacker->state == NULL)
        unpacker->state = ZSTD_createDCtx();
    if (unpacker->state == NULL ||
        !grow(&unpacker->packed, &unpacker->packed_room, (size_t)block->packed + 1) ||
        !grow(&unpacker->raw, &unpacker->raw_room, (size_t)block->raw + 1))
        return tell(problem, "out of memory for the block", block->content);
    if (!read_whole(trace, unpacker->packed, block->packed, block->content, problem))
        return false;
    if (trace_checksum(0, unpacker->packed, block->packed) != block->checksum)
        return tell(problem, "the content of a block is damaged", block->content);
    length = ZSTD_decompressDCtx(unpacker->state, unpacker->raw, unpacker->raw_room,
                                 unpacker->packed, block->packed);
    if (ZSTD_isError(length) || length != block->raw)
        return tell(problem, "the content of a block cannot be unpacked", block->content);
    return true;
}

void trace_unpacker_free(struct trace_unpacker *unpacker)
{
    ZSTD_freeDCtx(unpacker->state);
    free(unpacker->packed);
    free(unpacker->raw);
}
