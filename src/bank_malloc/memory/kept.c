/*
 * SPDX-License-Identifier: MIT
 *
 * See kept.h. A ring of slots in the order in which they were filled, and chains by colour and
 * length.
 */
#include "bank_malloc/memory/kept.h"

#include <string.h>

enum { SLOTS = 1024, CHAINS = 256, POOL_SHARE = 4 };

struct slot {
    uint32_t unit, length; /* length 0: empty */
    uint16_t colour;
    uint16_t next, previous; /* in its chain, plus 1 */
};

static struct {
    struct slot slot[SLOTS];
    uint16_t chain[CHAINS];  /* the first slot, plus 1 */
    uint32_t newest, oldest; /* counts: slots oldest to newest - 1, modulo SLOTS, may be full */
    uint32_t chunks;         /* that are kept */
} kept;

static uint16_t *chain_of(uint16_t colour, uint32_t length)
{
    return &kept.chain[(colour * 31u + length) % CHAINS];
}

/* The block is a block again. */
static void empty(struct slot *slot)
{
    if (slot->next != 0)
        kept.slot[slot->next - 1].previous = slot->previous;
    if (slot->previous != 0)
        kept.slot[slot->previous - 1].next = slot->next;
    else
        *chain_of(slot->colour, slot->length) = slot->next;
    together_unit(slot->unit)->length = slot->length;
    kept.chunks -= slot->length;
    slot->length = 0;
}

/* The oldest slot goes; its block too, unless it was taken again. */
static void drop_oldest(void)
{
    struct slot *slot = &kept.slot[kept.oldest++ % SLOTS];

    if (slot->length == 0)
        return;
    empty(slot);
    together_undo(slot->unit);
}

void kept_put(uint32_t unit)
{
    uint32_t length = together_unit(unit)->length, first = together_unit(unit)->chunk;

    if (length > arena.owned / POOL_SHARE || first == POOL_NONE ||
        arena_chunk(first)->is_inherited) {
        together_undo(unit);
        return;
    }
    while (kept.newest - kept.oldest == SLOTS ||
           (kept.oldest != kept.newest && kept.chunks + length > arena.owned / POOL_SHARE))
        drop_oldest();
    struct slot *slot = &kept.slot[kept.newest++ % SLOTS];
    uint16_t number = (uint16_t)(slot - kept.slot + 1), *chain;
    *slot = (struct slot){.unit = unit, .length = length, .colour = arena.pool.colour[first]};
    chain = chain_of(slot->colour, length);
    slot->next = *chain;
    if (*chain != 0)
        kept.slot[*chain - 1].previous = number;
    *chain = number;
    kept.chunks += length;
    together_unit(unit)->length = 0; /* no block begins there */
}

char *kept_take(uint16_t colour, uint32_t n)
{
    for (uint16_t at = *chain_of(colour, n); at != 0; at = kept.slot[at - 1].next) {
        struct slot *slot = &kept.slot[at - 1];

        if (slot->colour == colour && slot->length == n) {
            empty(slot);
            return together_address(slot->unit);
        }
    }
    return NULL;
}

uint32_t kept_blocks(uint32_t *chunks)
{
    uint32_t blocks = 0;

    for (uint32_t at = kept.oldest; at != kept.newest; at++)
        blocks += kept.slot[at % SLOTS].length != 0;
    *chunks = kept.chunks;
    return blocks;
}

bool kept_shed(void)
{
    bool were_any = kept.chunks != 0;

    while (kept.oldest != kept.newest)
        drop_oldest();
    return were_any;
}

void kept_start_child(void)
{
    memset(&kept, 0, sizeof kept);
}
