/*
 * SPDX-License-Identifier: MIT
 *
 * See undo_log.h.
 */
#include "tm_runtime/logs/undo_log.h"

#include "tm_runtime/memory.h"

/* Byte by byte where an entry reaches into the dead frames: an array may begin in them. */
static void restore(char *address, const char *bytes, size_t size, uintptr_t dead,
                    uintptr_t dead_end)
{
    uintptr_t first = (uintptr_t)address;

    if (first >= dead_end || first + size <= dead) {
        memory_copy(address, bytes, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        if (first + i < dead || first + i >= dead_end)
            memory_store(address + i, (uint8_t)bytes[i], 1);
    }
}

void undo_log_apply(struct log *log, size_t down_to, uintptr_t dead, uintptr_t dead_end)
{
    while (log->used > down_to) {
        const struct undo_tail *tail =
            (const struct undo_tail *)(const void *)(log->bytes + log->used) - 1;
        size_t padded = (tail->size + 7) & ~(size_t)7;

        restore(tail->address, (const char *)tail - padded, tail->size, dead, dead_end);
        log->used -= padded + sizeof *tail;
    }
}
