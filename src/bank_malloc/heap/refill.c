/*
 * SPDX-License-Identifier: MIT
 *
 * See refill.h.
 */
#include "bank_malloc/heap/refill.h"

#include "bank_malloc/memory/growth.h"
#include "bank_malloc/memory/kept.h"
#include "bank_malloc/memory/together.h"
#include "base/report.h"

#include <string.h>

struct refill_counts refill_counts[POOL_COLOURS_MOST];
void (*refill_sweep)(bool orphans_only);

enum { GROWTH_LEAST = HUGE_PAGE_BYTES };

static uint32_t all_colours(void)
{
    return arena.frames.controllers * arena.frames.banks;
}

/* What is wanted, and how it can be had. */
struct wanted {
    struct colour_set set;
    uint32_t turn;              /* which of the set's colours is asked first */
    uint32_t chunks, alignment; /* both in chunks */
    unsigned modes;
    bool can_gather; /* chunks of a bank can be made a block, wherever they are */
};

/* Kept blocks go if they are why not. */
static bool can_move(uint32_t chunks)
{
    return together_can(chunks) ||
           (chunks <= together.pieces_most && kept_shed() && together_can(chunks));
}

static struct wanted wanted_of(struct colour_set set, uint32_t turn, uint32_t chunks,
                               uint32_t alignment, unsigned modes)
{
    bool is_one_colour = all_colours() == 1;

    return (struct wanted){
        .set = set,
        .turn = turn,
        .chunks = chunks,
        .alignment = alignment,
        .modes = is_one_colour ? POOL_SPLIT : modes, /* any run is of the only colour */
        /* A single chunk of the only colour, too, is had from the shortest run: the bank's list
           begins with the chunks of the block that was freed last, and that hole would be cut. */
        .can_gather =
            !is_one_colour && ((chunks == 1 && alignment == 1) || can_move(chunks + alignment - 1)),
    };
}

/* Algorithm 1 up to its last step. */
static struct pool_block gather(const struct wanted *wanted, uint32_t turn, unsigned modes)
{
    uint32_t colour = wanted->set.colour[turn % wanted->set.count];
    struct pool_request request = {
        .controller = colour / arena.frames.banks,
        .bank = colour % arena.frames.banks,
        .chunks = wanted->chunks,
        .modes = modes & ~(unsigned)POOL_SPLIT,
        .is_movable = true,
    };

    return pool_take(&arena.pool, &request);
}

/* Its last step: a run, and what its alignment may cost. */
static struct pool_block take_run(const struct wanted *wanted)
{
    uint32_t first = pool_take_run(&arena.pool, wanted->chunks + wanted->alignment - 1);

    return (struct pool_block){
        .source = first != POOL_NONE ? POOL_FROM_RUN : POOL_FULL,
        .first = first,
    };
}

/* Of the set's colours the first that has the block, from turn on. */
static struct pool_block gather_own(const struct wanted *wanted)
{
    struct pool_block block = {.source = POOL_FULL, .first = POOL_NONE};

    for (uint32_t i = 0; i < wanted->set.count && block.source == POOL_FULL; i++)
        block = gather(wanted, wanted->turn + i, 0);
    return block;
}

/*
 * What new memory had of each colour. The kernel gives memory of some banks for a while and then of
 * others, and of some never: the machine may have no such memory, or none left.
 */
static struct {
    uint32_t before; /* chunks of the colour that the pool had before it grew last */
    uint64_t missed; /* chunks that were new since the colour was wanted, all of other colours */
} yield[POOL_COLOURS_MOST];

/* More memory, by half of what there is, so that asking costs little; returns how many chunks. */
static uint32_t grow(uint64_t wanted)
{
    uint64_t step = arena.owned / 2, least = GROWTH_LEAST >> arena.shift, room = arena_room();

    if (step < least)
        step = least;
    if (step < wanted)
        step = wanted;
    if (room == 0)
        return 0;
    for (uint32_t colour = 0; colour < all_colours(); colour++)
        yield[colour].before = arena.pool.bank[colour].owned;
    uint32_t chunks = arena_grow((uint32_t)(step < room ? step : room));
    if (chunks == 0 && wanted < step && wanted <= room) /* so much is refused, less may not be */
        chunks = arena_grow((uint32_t)wanted);
    for (uint32_t colour = 0; colour < all_colours(); colour++) {
        if (arena.pool.bank[colour].owned != yield[colour].before)
            yield[colour].missed = 0;
    }
    return chunks;
}

void refill_forget_yield(void)
{
    memset(yield, 0, sizeof yield);
}

/*
 * Whether new memory is not asked for any more for these colours. Where huge pages are of one bank
 * each, eight in a row for each of n banks leave one out by chance in one case of 3000.
 */
static bool is_absent(struct colour_set set)
{
    uint64_t most = (uint64_t)8 * all_colours() * (HUGE_PAGE_BYTES >> arena.shift);

    for (uint32_t i = 0; i < set.count; i++) {
        if (yield[set.colour[i]].missed < most)
            return false;
    }
    return true;
}

static void report_absent(uint32_t colour)
{
    static bool is_said;

    if (is_said)
        return;
    is_said = true;
    report_line("mplace: libbank_malloc.so: %luM of new memory had nothing of controller %u, bank "
                "%u: the machine may have no such memory; BANK_MODE says what its threads get",
                yield[colour].missed << arena.shift >> 20, colour / arena.frames.banks,
                colour % arena.frames.banks);
}

/* More memory, for the set's colours; false: there is none, or none of these colours. */
static bool grow_own(const struct wanted *wanted)
{
    uint64_t all = (uint64_t)wanted->chunks * all_colours() / wanted->set.count;
    uint32_t chunks = is_absent(wanted->set) ? 0 : grow(all);

    if (chunks == 0)
        return false;
    for (uint32_t i = 0; i < wanted->set.count; i++) {
        uint32_t colour = wanted->set.colour[i];

        if (arena.pool.bank[colour].owned == yield[colour].before)
            yield[colour].missed += chunks;
    }
    if (!is_absent(wanted->set))
        return true;
    report_absent(wanted->set.colour[0]);
    return false;
}

static uint32_t free_chunks(void)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i <= arena.pool.controllers; i++) /* the last: chunks of no one bank */
        sum += arena.pool.controller_free[i];
    return sum;
}

/* Returns how many chunks it gave back. */
static uint32_t sweep(bool orphans_only)
{
    uint32_t before = free_chunks();

    if (refill_sweep != NULL)
        refill_sweep(orphans_only);
    return free_chunks() - before;
}

/*
 * Before the pool grows: what ended threads and threads that sleep hold. It takes time for each
 * slab to which a block of the latter came back, so that a sweep which gave back less than an
 * eighth of the pool is the last one until the pool has grown. Whether it gave anything back.
 */
static bool sweep_pays(void)
{
    static uint32_t poor_at; /* how large the pool was */

    if (poor_at == arena.owned)
        return false;
    uint32_t given = sweep(false);
    poor_at = given < arena.owned / 8 ? arena.owned : 0;
    return given > 0;
}

static struct pool_block find_gathered(const struct wanted *wanted)
{
    struct pool_block block = gather_own(wanted);

    if (block.source == POOL_FULL && kept_shed())
        block = gather_own(wanted);
    if (block.source == POOL_FULL && sweep_pays())
        block = gather_own(wanted);
    while (block.source == POOL_FULL && grow_own(wanted))
        block = gather_own(wanted);
    if (block.source == POOL_FULL && sweep(true) > 0)
        block = gather_own(wanted);
    return block.source == POOL_FULL ? gather(wanted, wanted->turn, wanted->modes) : block;
}

static struct pool_block find_run(const struct wanted *wanted)
{
    struct pool_block block = take_run(wanted);

    if (block.source == POOL_FULL && sweep_pays())
        block = take_run(wanted);
    while (block.source == POOL_FULL && grow((uint64_t)wanted->chunks + wanted->alignment) != 0)
        block = take_run(wanted);
    if (block.source == POOL_FULL && sweep(true) > 0)
        block = take_run(wanted);
    return block;
}

static struct pool_block find_by_modes(const struct wanted *wanted)
{
    struct pool_block block = {.source = POOL_FULL, .first = POOL_NONE};

    if (wanted->can_gather)
        block = find_gathered(wanted);
    if (block.source == POOL_FULL && (wanted->modes & POOL_SPLIT) != 0)
        block = find_run(wanted);
    return block;
}

static struct pool_block find(const struct wanted *wanted)
{
    struct pool_block block = find_by_modes(wanted);

    if (block.source == POOL_FULL && sweep(false) > 0) /* before there is none */
        block = find_by_modes(wanted);
    return block;
}

static void count(struct colour_set set, uint32_t turn, enum pool_source source)
{
    if (all_colours() == 1 && source == POOL_FROM_RUN)
        source = POOL_FROM_BANK;
    refill_counts[set.colour[turn % set.count]].by_source[source]++;
}

uint32_t refill_chunk(struct colour_set set, uint32_t *turn, unsigned modes)
{
    struct wanted wanted = wanted_of(set, (*turn)++, 1, 1, modes);
    struct pool_block block = find(&wanted);

    count(set, wanted.turn, block.source);
    return block.first;
}

/* The run's chunks become a block in its place, without those that only served its alignment. */
static char *use_run(uint32_t first, uint32_t chunks, uint32_t alignment)
{
    uint32_t taken = chunks + alignment - 1;
    size_t place = (uintptr_t)arena_address(first) >> arena.shift;
    uint32_t skip = (uint32_t)(-place & (alignment - 1));

    for (uint32_t i = 0; i < taken; i++) {
        if (i < skip || i >= skip + chunks)
            arena_release(first + i);
        else
            arena_chunk(first + i)->kind = i == skip ? CHUNK_BLOCK : CHUNK_INSIDE;
    }
    arena_chunk(first + skip)->length = chunks;
    return arena_address(first + skip);
}

/* The address of a found block; NULL: the kernel moves nothing more. */
static char *use(const struct wanted *wanted, struct pool_block block)
{
    if (block.source == POOL_FROM_RUN || (wanted->chunks == 1 && wanted->alignment == 1))
        return use_run(block.first, wanted->chunks, wanted->alignment);
    return together_make(block.first, wanted->chunks, wanted->alignment);
}

/* One that was freed; NULL: there is none of the set's colours. */
static char *use_kept(struct colour_set set, uint32_t turn, uint32_t chunks)
{
    char *address = NULL;

    for (uint32_t i = 0; i < set.count && address == NULL; i++)
        address = kept_take(set.colour[(turn + i) % set.count], chunks);
    return address;
}

/*
 * Where free chunks are enough, but lie scattered, and mappings to move them are used up: they go
 * back to the kernel, and the block is as much fresh memory.
 */
static char *use_fresh(const struct wanted *wanted)
{
    uint32_t room;

    if ((wanted->modes & POOL_SPLIT) == 0)
        return NULL;
    (void)kept_shed();
    if (!together_can_fresh(wanted->chunks, wanted->alignment))
        return NULL;
    room = arena_room();
    if (wanted->chunks > room) {
        if (!arena_discard(wanted->chunks - room))
            return NULL;
        refill_forget_yield();
    }
    return together_fresh(wanted->chunks, wanted->alignment);
}

/* Lengths of which kept blocks are found again: eight from one power of two to the next. */
static size_t rounded_length(size_t chunks)
{
    size_t step = chunks < 16 ? 1 : (size_t)1 << (60 - __builtin_clzl(chunks));

    return (chunks + step - 1) & ~(step - 1);
}

char *refill_block(struct colour_set set, uint32_t *turn, size_t chunks, size_t alignment,
                   unsigned modes)
{
    if (chunks > arena.most || alignment > arena.most - chunks + 1)
        return NULL;
    if (all_colours() > 1 && rounded_length(chunks) < together.pieces_most)
        chunks = rounded_length(chunks);
    uint32_t first = (*turn)++;
    char *address = chunks > 1 && alignment == 1 ? use_kept(set, first, (uint32_t)chunks) : NULL;
    if (address != NULL) {
        count(set, first, POOL_FROM_BANK);
        return address;
    }
    struct wanted wanted = wanted_of(set, first, (uint32_t)chunks, (uint32_t)alignment, modes);
    struct pool_block block = find(&wanted);
    address = block.source != POOL_FULL ? use(&wanted, block) : NULL;
    if (address == NULL && block.source != POOL_FULL) {
        wanted.can_gather = false;
        block = find(&wanted);
        address = block.source != POOL_FULL ? use(&wanted, block) : NULL;
    }
    if (address == NULL && (address = use_fresh(&wanted)) != NULL)
        block.source = POOL_FROM_RUN;
    count(set, first, block.source);
    return address;
}

uint32_t refill_length(const void *block)
{
    size_t chunk = arena_find(block), unit = together_find(block);

    if (((uintptr_t)block & (((size_t)1 << arena.shift) - 1)) != 0)
        return 0;
    if (chunk < arena.recorded)
        return arena_chunk((uint32_t)chunk)->kind == CHUNK_BLOCK
                   ? arena_chunk((uint32_t)chunk)->length
                   : 0;
    return unit < together.count ? together_unit(unit)->length : 0;
}

void refill_give_back(void *block)
{
    uint32_t length = refill_length(block);
    size_t chunk = arena_find(block);

    if (chunk >= arena.recorded) {
        kept_put((uint32_t)together_find(block));
        return;
    }
    for (uint32_t i = 0; i < length; i++)
        arena_release((uint32_t)chunk + i);
}
