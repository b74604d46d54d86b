/*
 * SPDX-License-Identifier: MIT
 *
 * Growing sequences of bytes that a block's content is put together from.
 */
#ifndef TRACE_COLUMNS_H
#define TRACE_COLUMNS_H

#include "trace/format.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT_BYTES_MOST = 10 };

struct column {
    uint8_t *bytes;
    size_t used, room;
};

struct columns {
    struct column column[COLUMNS];
};

/* Makes room for so many more bytes: only then may they be appended. False: out of memory. */
static inline bool column_reserve(struct column *column, size_t length)
{
    if (column->room - column->used < length) {
        size_t room = 2 * column->room + length;
        uint8_t *grown = realloc(column->bytes, room);
        if (grown == NULL)
            return false;
        column->bytes = grown;
        column->room = room;
    }
    return true;
}

static inline void column_free(struct column *column)
{
    free(column->bytes);
}

static inline void column_byte(struct column *column, uint8_t byte)
{
    column->bytes[column->used++] = byte;
}

static inline void column_bytes(struct column *column, const void *bytes, size_t length)
{
    memcpy(column->bytes + column->used, bytes, length);
    column->used += length;
}

static inline void column_zeroes(struct column *column, size_t length)
{
    memset(column->bytes + column->used, 0, length);
    column->used += length;
}

/* Seven bits a byte, the lowest first; all bytes but the last have the highest bit set. */
static inline void column_varint(struct column *column, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        column_byte(column, (uint8_t)(number | 0x80));
    column_byte(column, (uint8_t)number);
}

/* Makes room for so many more bytes in each of them. */
static inline bool columns_reserve(struct columns *columns, size_t length)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!column_reserve(&columns->column[i], length))
            return false;
    }
    return true;
}

/* Bytes of the content that they make. */
static inline size_t columns_bytes(const struct columns *columns)
{
    size_t bytes = 4 * COLUMNS;

    for (unsigned i = 0; i < COLUMNS; i++)
        bytes += columns->column[i].used;
    return bytes;
}

/* Writes lengths and columns; returns how many bytes these are. */
static inline size_t columns_join(const struct columns *columns, uint8_t *to)
{
    uint8_t *at = to + 4 * COLUMNS;

    for (unsigned i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns->column[i];
        trace_put32(to + 4 * i, (uint32_t)column->used);
        if (column->used > 0)
            memcpy(at, column->bytes, column->used);
        at += column->used;
    }
    return (size_t)(at - to);
}

static inline void columns_clear(struct columns *columns)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        columns->column[i].used = 0;
}

static inline void columns_free(struct columns *columns)
{
    for (unsigned i = 0; i < COLUMNS; i++)
        column_free(&columns->column[i]);
}

#endif
