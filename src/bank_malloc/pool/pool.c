/*
 * SPDX-License-Identifier: MIT
 *
 * See pool.h.
 */
#include "bank_malloc/pool/pool.h"

#include "bank_malloc/pool/mutant.h"

#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t bank_bytes(uint32_t controllers, uint32_t banks)
{
    return aligned(((size_t)controllers * banks + 1) * sizeof(struct pool_bank));
}

static size_t controller_bytes(uint32_t controllers)
{
    return aligned(((size_t)controllers + 1) * sizeof(uint32_t));
}

size_t pool_bytes(uint32_t capacity, uint32_t controllers, uint32_t banks)
{
    return bank_bytes(controllers, banks) + controller_bytes(controllers) +
           2 * aligned(capacity * sizeof(uint32_t)) + aligned(capacity * sizeof(uint16_t)) +
           runs_bytes(capacity);
}

/* All but the runs. */
static void lay_out(struct pool *pool, uint32_t capacity, char *at)
{
    pool->capacity = capacity;
    pool->bank = (struct pool_bank *)(void *)at;
    at += bank_bytes(pool->controllers, pool->banks);
    pool->controller_free = (uint32_t *)(void *)at;
    at += controller_bytes(pool->controllers);
    pool->next = (uint32_t *)(void *)at;
    at += aligned(capacity * sizeof(uint32_t));
    pool->previous = (uint32_t *)(void *)at;
    at += aligned(capacity * sizeof(uint32_t));
    pool->colour = (uint16_t *)(void *)at;
}

/* The runs' memory in the pool's. */
static char *behind_colours(const struct pool *pool)
{
    return (char *)pool->colour + aligned(pool->capacity * sizeof(uint16_t));
}

void pool_init(struct pool *pool, uint32_t capacity, uint32_t controllers, uint32_t banks,
               void *used, void *zeroed)
{
    pool->controllers = controllers;
    pool->banks = banks;
    lay_out(pool, capacity, zeroed);
    runs_init(&pool->runs, capacity, used, behind_colours(pool));
}

void pool_extend(struct pool *pool, uint32_t capacity, void *used, void *zeroed)
{
    struct pool before = *pool;

    lay_out(pool, capacity, zeroed);
    memcpy(pool->bank, before.bank, bank_bytes(pool->controllers, pool->banks));
    memcpy(pool->controller_free, before.controller_free, controller_bytes(pool->controllers));
    memcpy(pool->next, before.next, before.capacity * sizeof *pool->next);
    memcpy(pool->previous, before.previous, before.capacity * sizeof *pool->previous);
    memcpy(pool->colour, before.colour, before.capacity * sizeof *pool->colour);
    runs_extend(&pool->runs, capacity, used, behind_colours(pool));
}

static uint32_t controller_of(const struct pool *pool, uint32_t chunk)
{
    return pool->colour[chunk] / pool->banks;
}

/* Into its bank's list; the runs are the caller's business. */
static void link_chunk(struct pool *pool, uint32_t chunk)
{
    struct pool_bank *bank = &pool->bank[pool->colour[chunk]];

    pool->next[chunk] = bank->first;
    pool->previous[chunk] = 0;
    if (bank->first != 0)
        pool->previous[bank->first - 1] = chunk + 1;
    bank->first = chunk + 1;
    bank->free++;
    pool->controller_free[controller_of(pool, chunk)]++;
}

static void unlink_chunk(struct pool *pool, uint32_t chunk)
{
    struct pool_bank *bank = &pool->bank[pool->colour[chunk]];
    uint32_t next = pool->next[chunk], previous = pool->previous[chunk];

    if (next != 0)
        pool->previous[next - 1] = previous;
    if (previous != 0)
        pool->next[previous - 1] = next;
    else
        bank->first = next;
    bank->free--;
    if (!MUTANT(CONTROLLER_KEEPS_COUNT))
        pool->controller_free[controller_of(pool, chunk)]--;
}

void pool_give(struct pool *pool, uint32_t chunk)
{
    link_chunk(pool, chunk);
    runs_give(&pool->runs, chunk, 1);
}

void pool_add(struct pool *pool, uint32_t chunk, uint32_t controller, uint32_t bank)
{
    pool->colour[chunk] = (uint16_t)pool_colour(pool, controller, bank);
    pool->bank[pool->colour[chunk]].owned++;
    pool_give(pool, chunk);
}

void pool_remove(struct pool *pool, uint32_t chunk, bool is_free)
{
    if (is_free) {
        unlink_chunk(pool, chunk);
        runs_take_at(&pool->runs, chunk, 1);
    }
    pool->bank[pool->colour[chunk]].owned--;
}

/* n chunks of one bank, linked by next; POOL_NONE if it has not so many. */
static uint32_t take_from_bank(struct pool *pool, uint32_t colour,
                               const struct pool_request *wanted)
{
    struct pool_bank *bank = &pool->bank[colour];
    uint32_t taken = 0; /* the chunks so far, from the last to the first, plus 1 */

    if (bank->free < wanted->chunks ||
        (wanted->chunks > 1 && !wanted->is_movable && !MUTANT(ALWAYS_MOVABLE)))
        return POOL_NONE;
    for (uint32_t n = 0; n < wanted->chunks; n++) {
        uint32_t chunk = bank->first - 1;

        unlink_chunk(pool, chunk);
        runs_take_at(&pool->runs, chunk, 1);
        pool->next[chunk] = taken;
        taken = chunk + 1;
    }
    return taken - 1;
}

/*
 * The paper asks the banks of a controller in descending order of free memory and takes the first
 * that has the block. A bank has it if enough of its chunks are free, so that only the first one
 * need be asked. Of banks with as much the one of the lowest number is first.
 */
static uint32_t take_from_controller(struct pool *pool, uint32_t controller,
                                     const struct pool_request *wanted)
{
    uint32_t best = controller * pool->banks, end = best + pool->banks;

    for (uint32_t colour = best + 1; colour < end; colour++) {
        if ((pool->bank[colour].free > pool->bank[best].free) != MUTANT(LEAST_FREE_BANK))
            best = colour;
    }
    return take_from_bank(pool, best, wanted);
}

/* Whether controller a comes before b in the descending order of free memory. */
static bool is_before(const struct pool *pool, uint32_t a, uint32_t b)
{
    uint32_t free_a = pool->controller_free[a], free_b = pool->controller_free[b];

    return (free_a > free_b && !MUTANT(CONTROLLERS_BY_NUMBER)) ||
           ((free_a == free_b || MUTANT(CONTROLLERS_BY_NUMBER)) && a < b);
}

/* The controller that follows `after` in that order; at first after is POOL_NONE. */
static uint32_t next_controller(const struct pool *pool, uint32_t after)
{
    uint32_t best = POOL_NONE;

    for (uint32_t c = 0; c < pool->controllers; c++) {
        if ((after == POOL_NONE || is_before(pool, after, c)) &&
            (best == POOL_NONE || is_before(pool, c, best)))
            best = c;
    }
    return best;
}

static uint32_t take_from_elsewhere(struct pool *pool, const struct pool_request *wanted)
{
    uint32_t chunk = POOL_NONE;

    for (uint32_t c = next_controller(pool, POOL_NONE); c != POOL_NONE && chunk == POOL_NONE;
         c = next_controller(pool, c))
        chunk = take_from_controller(pool, c, wanted);
    return chunk;
}

uint32_t pool_take_run(struct pool *pool, uint32_t n)
{
    uint32_t first = runs_take(&pool->runs, n);

    for (uint32_t chunk = first; first != POOL_NONE && chunk < first + n; chunk++)
        unlink_chunk(pool, chunk);
    return first;
}

struct pool_block pool_take(struct pool *pool, const struct pool_request *request)
{
    struct pool_block block = {.source = POOL_FROM_BANK};
    uint32_t colour = pool_colour(pool, request->controller, request->bank);

    block.first = take_from_bank(pool, colour, request);
    if (block.first == POOL_NONE && (request->modes & POOL_RESTRICTED) != 0) {
        block.source = POOL_FROM_CONTROLLER;
        block.first = take_from_controller(pool, request->controller, request);
    }
    if (block.first == POOL_NONE && (request->modes & POOL_UNRESTRICTED) != 0) {
        block.source = POOL_FROM_ELSEWHERE;
        block.first = take_from_elsewhere(pool, request);
    }
    if (block.first == POOL_NONE && ((request->modes & POOL_SPLIT) != 0 || MUTANT(SPLIT_UNASKED))) {
        block.source = POOL_FROM_RUN;
        block.first = pool_take_run(pool, request->chunks);
    }
    if (block.first == POOL_NONE)
        block.source = POOL_FULL;
    return block;
}
