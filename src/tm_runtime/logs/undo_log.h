/*
 * SPDX-License-Identifier: MIT
 *
 * The bytes that a transaction overwrote in place, oldest first. An entry is its bytes, padded to
 * 8, then its address and its length, so that it can be read from its end.
 *
 * An entry is complete before the store that it can undo: a fork's child undoes what threads that
 * it does not have left half done.
 */
#ifndef TM_RUNTIME_LOGS_UNDO_LOG_H
#define TM_RUNTIME_LOGS_UNDO_LOG_H

#include "tm_runtime/logs/log.h"

#include <stdint.h>
#include <string.h>

struct undo_tail {
    void *address;
    size_t size;
};

/* Remembers size bytes; constant sizes are inlined. False: no memory. */
static inline __attribute__((always_inline)) bool undo_log_save(struct log *log,
                                                                const void *address, size_t size)
{
    size_t padded = (size + 7) & ~(size_t)7;
    char *entry;

    if (!log_reserve(log, padded + sizeof(struct undo_tail)))
        return false;
    entry = log->bytes + log->used;
    memcpy(entry, address, size);
    *(struct undo_tail *)(void *)(entry + padded) =
        (struct undo_tail){.address = (void *)(uintptr_t)address, .size = size};
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    log->used += padded + sizeof(struct undo_tail);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

/*
 * Restores what was saved since the log was down_to bytes long, newest first, and forgets it.
 * Leaves alone what lies in [dead, dead_end): frames of the stack that no longer count, among them
 * the caller's own.
 */
void undo_log_apply(struct log *log, size_t down_to, uintptr_t dead, uintptr_t dead_end);

#endif
