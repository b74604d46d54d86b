/*
 * SPDX-License-Identifier: MIT
 *
 * See growth.h. A piece that gets memory is mapped anew, so that it is zero and the process's own
 * whatever it was before.
 */
#include "bank_malloc/memory/growth.h"

#include "bank_malloc/memory/tables.h"

#include <string.h>

/* The colours of chunks that have memory; false: the kernel could not be asked this time. */
static bool read_colours(uint32_t first, uint32_t count, bool are_told, uint16_t *colours)
{
    if (are_told)
        return frames_colours(&arena.frames, arena_address(first), first, count, arena.shift,
                              colours);
    memset(colours, 0xff, count * sizeof *colours); /* FRAMES_NO_COLOUR */
    return true;
}

/* The chunks from first on have memory: into the pool with them. Returns how many are in it. */
static uint32_t add_chunks(uint32_t first, uint32_t count)
{
    uint16_t colours[ARENA_READ_AT_ONCE];
    uint32_t done = 0;
    enum frames_answer are_told = FRAMES_YES;

    if (arena.frames.knowledge == FRAMES_RELATIVE)
        are_told = frames_are_huge(arena_address(first), (size_t)count << arena.shift);
    if (are_told == FRAMES_NOT_ASKED)
        return 0;
    for (uint32_t now = ARENA_READ_AT_ONCE; done < count; done += now) {
        if (now > count - done)
            now = count - done;
        if (!read_colours(first + done, now, are_told == FRAMES_YES, colours))
            break;
        for (uint32_t i = 0; i < now; i++) {
            bool is_mixed = colours[i] == FRAMES_NO_COLOUR;
            uint32_t controller = colours[i] / arena.frames.banks;
            uint32_t bank = colours[i] % arena.frames.banks;

            bit_index_remove(&arena.unread, first + done + i);
            pool_add(&arena.pool, first + done + i,
                     is_mixed ? arena.frames.controllers : controller, is_mixed ? 0 : bank);
            arena.mixed += is_mixed;
        }
    }
    frames_announce(&arena.frames, arena_address(first), (uint64_t)first << arena.shift,
                    (size_t)done << arena.shift);
    arena.owned += done;
    return done;
}

/* The chunks without memory from first on that follow each other, up to `most`. */
static uint32_t unread_run(uint32_t first, uint32_t most)
{
    uint32_t n = 1;

    while (n < most && first + n < arena.pool.capacity && bit_index_has(&arena.unread, first + n))
        n++;
    return n;
}

/* Records for the chunks below `end`; false: no memory for them. */
static bool open_records(uint32_t end)
{
    if (end <= arena.recorded)
        return true;
    if (!mapping_table_grow(&arena.chunks, (size_t)end << arena.stride_shift))
        return false;
    arena.recorded = end;
    return true;
}

/* Records behind the top are not looked at: their memory would be used for nothing. */
static bool is_hole(uint32_t chunk)
{
    return chunk >= arena.top || arena_chunk(chunk)->is_hole;
}

/* How many of n chunks from first on are as the first: with a mapping of ours at their place, or
   without. */
static uint32_t alike(uint32_t first, uint32_t n)
{
    uint32_t count = 1;

    if (first >= arena.top)
        return n;
    while (count < n && first + count < arena.top && is_hole(first + count) == is_hole(first))
        count++;
    return count;
}

/* n chunks are holes from now on, or are not. */
static void set_holes(uint32_t first, uint32_t n, bool are_holes)
{
    uint32_t end = first + n < arena.top ? first + n : arena.top;

    for (uint32_t chunk = first; chunk < end; chunk++)
        arena_chunk(chunk)->is_hole = are_holes;
    arena.has_unread_holes |= are_holes;
    if (!are_holes && arena.top < first + n)
        arena.top = first + n;
}

/* A mapping of ours at the place of each of n chunks; false: the kernel refused one. */
static bool claim_holes(uint32_t first, uint32_t n)
{
    for (uint32_t chunk = first; chunk < first + n; chunk++) {
        if (is_hole(chunk) &&
            mapping_claim(arena_address(chunk), (size_t)1 << arena.shift) != MAPPING_OPEN)
            return false;
        set_holes(chunk, 1, false);
    }
    return true;
}

/* Another's mapping is somewhere there; the chunks are never asked for again. */
static void give_up(uint32_t first, uint32_t n)
{
    for (uint32_t chunk = first; chunk < first + n; chunk++)
        bit_index_remove(&arena.unread, chunk);
    arena.lost += n;
}

/* Memory for n chunks that are alike and without it; what became of that, and for how many of them.
   What the kernel cannot be asked about is refused: it would be of no bank for ever. */
static enum mapping_answer open_chunks(uint32_t first, uint32_t n, uint32_t *added)
{
    bool were_holes = is_hole(first);
    enum mapping_answer answer = mapping_open(arena_address(first), (size_t)n << arena.shift,
                                              !were_holes, arena_frames_matter());
    bool are_holes = answer != MAPPING_OPEN && answer != MAPPING_STUCK;

    if (are_holes != were_holes)
        set_holes(first, n, are_holes);
    *added = answer == MAPPING_OPEN ? add_chunks(first, n) : 0;
    if (answer != MAPPING_OPEN || *added == n)
        return answer;
    mapping_empty(arena_address(first + *added), (size_t)(n - *added) << arena.shift);
    return MAPPING_STUCK;
}

/* The next up to `most` chunks without memory, from *first on, in whole steps; 0: there are none.
 */
static uint32_t next_unread(uint32_t *first, uint32_t most, uint32_t step)
{
    while (*first < arena.pool.capacity &&
           (*first = bit_index_next(&arena.unread, *first)) != BIT_INDEX_NONE) {
        uint32_t skip = -*first & (step - 1), run = unread_run(*first, skip + most);

        if (run >= skip + step) {
            *first += skip;
            return (run - skip) & ~(step - 1);
        }
        *first += run;
    }
    return 0;
}

/* Room for that many chunks more, or for all that there may be; false: there is none, or no memory
   for the tables. */
static bool make_room(uint32_t chunks)
{
    uint32_t before = arena.pool.capacity, left = arena.most - before;
    uint32_t more = chunks > before ? chunks : before;

    return left != 0 && tables_extend(before + (more < left ? more : left), &arena.tables,
                                      &arena.pool, &arena.unread);
}

uint32_t arena_grow(uint32_t chunks)
{
    uint32_t step = arena_step(), added = 0, first = 0, at_once = POOL_NONE;

    chunks = (chunks + step - 1) & ~(step - 1);
    while (chunks > 0) {
        uint32_t n = next_unread(&first, chunks < at_once ? chunks : at_once, step);

        if (n == 0) {
            first = arena.pool.capacity;
            if (make_room(chunks))
                continue;
            if (step == 1 || arena.pool.capacity < arena.most)
                break;
            /* Each huge page has a chunk that is in use, from the parent of a fork as a rule. */
            arena.has_holes = true;
            step = 1;
            first = 0;
            continue;
        }
        if (!open_records(first + n))
            break;
        uint32_t same = alike(first, n) & ~(step - 1);
        if (same == 0 && !claim_holes(first, step)) {
            first += step;
            continue;
        }
        same = same != 0 ? same : step;
        uint32_t now;
        enum mapping_answer answer = open_chunks(first, same, &now);
        added += now;
        chunks -= now;
        if (answer == MAPPING_OPEN) {
            at_once = POOL_NONE;
        } else if (answer == MAPPING_TAKEN && same > step) {
            at_once = (same / 2 + step - 1) & ~(step - 1); /* find where */
            continue;
        } else if (answer == MAPPING_TAKEN) {
            give_up(first, same);
        } else {
            break;
        }
        first += same;
    }
    return added;
}

uint32_t arena_room(void)
{
    uint32_t taken = arena.owned + arena.lost + arena.inherited + arena.elsewhere;

    return arena.most > taken ? arena.most - taken : 0;
}
