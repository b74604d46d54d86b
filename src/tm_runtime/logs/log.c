/*
 * SPDX-License-Identifier: MIT
 *
 * See log.h. Grows by doubling; mremap moves the pages and not the bytes.
 */
#include "tm_runtime/logs/log.h"

#include "base/pages.h"

enum { FIRST_ROOM = 16384 };

bool log_grow(struct log *log, size_t more)
{
    size_t room = log->room == 0 ? FIRST_ROOM : log->room;
    long moved;

    while (room - log->used < more) {
        if (room > (size_t)-1 / 2)
            return false;
        room *= 2;
    }
    if (log->bytes == NULL) {
        log->bytes = pages_map(room, 0);
        if (log->bytes == NULL)
            return false;
    } else {
        moved = system_call_6(SYS_mremap, (long)log->bytes, (long)log->room, (long)room,
                              MREMAP_MAYMOVE, 0, 0);
        if (moved < 0 && moved > -4096)
            return false;
        log->bytes = (char *)moved;
    }
    log->room = room;
    return true;
}

void log_destroy(struct log *log)
{
    if (log->bytes != NULL)
        pages_unmap(log->bytes, log->room);
    *log = (struct log){.bytes = NULL};
}
