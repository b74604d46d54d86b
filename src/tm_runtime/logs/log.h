/*
 * SPDX-License-Identifier: MIT
 *
 * A growing array of bytes in pages of its own: a transaction's logs. One thread uses it; nothing
 * here calls malloc, for a transaction may run inside one.
 */
#ifndef TM_RUNTIME_LOGS_LOG_H
#define TM_RUNTIME_LOGS_LOG_H

#include <stdbool.h>
#include <stddef.h>

struct log {
    char *bytes;
    size_t used, room;
};

/* Makes room for more bytes; entries may move. False: no memory, and nothing changed. */
bool log_grow(struct log *log, size_t more);

/* False: no memory. */
static inline bool log_reserve(struct log *log, size_t more)
{
    return __builtin_expect(log->room - log->used >= more, 1) || log_grow(log, more);
}

/* Appends room for an entry, which log_reserve has made sure of. */
static inline void *log_append(struct log *log, size_t size)
{
    void *entry = log->bytes + log->used;

    log->used += size;
    return entry;
}

/* What a log of a thread may keep between transactions. Rooms are powers of two. */
enum { LOG_KEPT = 4 << 20 };

/* Gives the pages back. */
void log_destroy(struct log *log);

#define LOG_COUNT(log, type)  ((log)->used / sizeof(type))
#define LOG_AT(log, type, at) (&((type *)(void *)(log)->bytes)[at])

#endif
