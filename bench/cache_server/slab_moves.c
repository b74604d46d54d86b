/*
 * SPDX-License-Identifier: MIT
 *
 * See slab_moves.h.
 */
#include "slab_moves.h"

#include "slabs.h"

flag_lock rebalance_lock = FLAG_LOCK_INITIALIZER;
struct wake rebalance_wake = WAKE_INITIALIZER;
shared_unsigned rebalance_signal;
shared_unsigned moving_page;
struct slab_move slab_move;

SAFE_FROM_ON_COMMIT void slabs_reassign(unsigned class)
{
    unsigned from = CLASS_NONE;

    if (!flag_trylock(&rebalance_lock))
        return;
    if (shared_get(&rebalance_signal) == SIGNAL_NONE) {
        SECTION(slabs_lock, MAX)
        {
            for (unsigned i = 1; i <= slab_classes_used; i++) {
                if (i != class && slab_classes[i].pages > 1 &&
                    (from == CLASS_NONE || slab_classes[i].pages > slab_classes[from].pages))
                    from = i;
            }
        }
        if (from != CLASS_NONE) {
            slab_move.from = from;
            slab_move.to = class;
            shared_set(&rebalance_signal, SIGNAL_WANTED);
            wake_post(&rebalance_wake);
        }
    }
    flag_unlock(&rebalance_lock);
}

SAFE_FROM_MAX bool rebalance_covers(const struct item *item)
{
    return shared_get(&moving_page) == slabs_page_number(item) + 1;
}

void rebalance_pause(void)
{
    flag_lock_wait(&rebalance_lock);
}

void rebalance_resume(void)
{
    flag_unlock(&rebalance_lock);
}
