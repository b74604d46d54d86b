/*
 * SPDX-License-Identifier: MIT
 *
 * See window.h.
 */
#include "chip/persistence/window.h"

#include "chip/engine/allocation.h"

bool window_begin(struct persistence *persistence)
{
    if (persistence->window.closing)
        return false;
    if (persistence->live < TX_TABLE)
        return true;
    if (persistence->window.count > 0)
        persistence->protocol->close_window(persistence);
    else if (persistence->first != NULL)
        persistence->protocol->checkpoint(persistence, TX_TABLE);
    return persistence->first == NULL; /* there are more open transactions than entries */
}

void window_add(struct persistence *persistence, struct tx *tx, uint32_t degree)
{
    if (persistence->window.count == persistence->window.room) {
        persistence->window.room =
            persistence->window.room == 0 ? 32 : 2 * persistence->window.room;
        persistence->window.tx = allocation_checked(realloc(
            persistence->window.tx, persistence->window.room * sizeof *persistence->window.tx));
    }
    persistence->window.tx[persistence->window.count++] = tx;
    persistence_close(persistence, tx);
    if (persistence->window.count >= degree)
        persistence->protocol->close_window(persistence);
}

bool window_flush(struct persistence *persistence, uint32_t thread)
{
    for (uint32_t i = 0; i < persistence->window.count; i++) {
        if (persistence->window.tx[i]->thread != thread)
            continue;
        if (!persistence->window.closing)
            persistence->protocol->close_window(persistence);
        return !persistence->window.closing; /* nothing was under way any more */
    }
    return true;
}

bool window_drain(struct persistence *persistence)
{
    if (persistence->window.count > 0 && !persistence->window.closing)
        persistence->protocol->close_window(persistence);
    else if (persistence->window.count == 0)
        persistence->protocol->checkpoint(persistence, UINT32_MAX);
    return persistence->first != NULL;
}
