/*
 * SPDX-License-Identifier: MIT
 *
 * See arena.h. A piece that gets memory is mapped anew, so that it is zero and the process's own
 * whatever it was before.
 */
#include "bank_malloc/memory/arena.h"

#include "bank_malloc/memory/tables.h"

#include <signal.h>
#include <string.h>

enum {
    PIECE_CHUNKS = 512,       /* that are read at once */
    CAPACITY_LEAST = 1 << 12, /* of the tables, in chunks */
};

struct arena arena;

void arena_lock(void)
{
    static const uint64_t all = UINT64_MAX;
    uint64_t before = 0;

    (void)system_call_6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before,
                        0, 0);
    bank_lock(&arena.lock);
    arena.signals = before;
}

void arena_unlock(void)
{
    uint64_t before = arena.signals;

    bank_unlock(&arena.lock);
    (void)system_call_6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

static bool frames_matter(void)
{
    return arena.frames.knowledge == FRAMES_KNOWN || arena.frames.knowledge == FRAMES_RELATIVE;
}

enum mapping_answer arena_map(char *from, size_t bytes)
{
    return mapping_open(from, bytes, false, frames_matter());
}

/* The colours of chunks that have memory. */
static void read_colours(uint32_t first, uint32_t count, bool are_told, uint16_t *colours)
{
    if (are_told)
        frames_colours(&arena.frames, arena_address(first), first, count, arena.shift, colours);
    else
        memset(colours, 0xff, count * sizeof *colours); /* FRAMES_NO_COLOUR */
}

/* The chunks from first on have memory: into the pool with them. */
static void add_chunks(uint32_t first, uint32_t count)
{
    uint16_t colours[PIECE_CHUNKS];
    bool are_told = arena.frames.knowledge != FRAMES_RELATIVE ||
                    frames_are_huge(arena_address(first), (size_t)count << arena.shift);

    for (uint32_t done = 0, now = PIECE_CHUNKS; done < count; done += now) {
        if (now > count - done)
            now = count - done;
        read_colours(first + done, now, are_told, colours);
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
                    (size_t)count << arena.shift);
    arena.owned += count;
}

/* The chunks without memory from first on that follow each other, up to `most`. */
static uint32_t unread_run(uint32_t first, uint32_t most)
{
    uint32_t n = 1;

    while (n < most && first + n < arena.pool.capacity && bit_index_has(&arena.unread, first + n))
        n++;
    return n;
}

/* Chunks that only whole huge pages are good for: in others each page would be of another bank. */
static uint32_t chunks_in_step(void)
{
    bool need_huge = arena.frames.knowledge == FRAMES_RELATIVE ||
                     (arena.frames.knowledge == FRAMES_KNOWN && arena.shift > FRAME_SHIFT);

    return need_huge && !arena.has_holes ? 1u << (HUGE_PAGE_SHIFT - arena.shift) : 1;
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

/* Memory for n chunks that are alike and without it; what became of that. */
static enum mapping_answer open_chunks(uint32_t first, uint32_t n)
{
    bool were_holes = is_hole(first);
    enum mapping_answer answer =
        mapping_open(arena_address(first), (size_t)n << arena.shift, !were_holes, frames_matter());
    bool are_holes = answer != MAPPING_OPEN && answer != MAPPING_STUCK;

    if (are_holes != were_holes)
        set_holes(first, n, are_holes);
    if (answer == MAPPING_OPEN)
        add_chunks(first, n);
    return answer;
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
    uint32_t step = chunks_in_step(), added = 0, first = 0, at_once = POOL_NONE;

    chunks = (chunks + step - 1) & ~(step - 1);
    while (chunks > 0) {
        uint32_t n = next_unread(&first, chunks < at_once ? chunks : at_once, step);

        if (n == 0) {
            first = arena.pool.capacity;
            if (!make_room(chunks))
                break;
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
        enum mapping_answer answer = open_chunks(first, same);
        if (answer == MAPPING_OPEN) {
            added += same;
            chunks -= same;
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

/* A free chunk is one without memory. */
static void take_out(uint32_t chunk)
{
    arena.mixed -= !arena_is_colour(arena.pool.colour[chunk]);
    pool_remove(&arena.pool, chunk, true);
    bit_index_add(&arena.unread, chunk);
    arena.owned--;
}

static void discard(uint32_t chunk)
{
    take_out(chunk);
    mapping_empty(arena_address(chunk), (size_t)1 << arena.shift);
}

bool arena_discard(uint32_t chunks)
{
    enum { SHARE = 8 }; /* of each bank's free chunks go in turn */
    uint32_t colours = arena.frames.controllers * arena.frames.banks, all = 0;

    for (uint32_t colour = 0; colour <= colours; colour++)
        all += arena.pool.bank[colour].free;
    if (all < chunks)
        return false;
    arena.has_holes = true;
    for (uint32_t colour = colours; chunks > 0; colour = colour == 0 ? colours : colour - 1) {
        const struct pool_bank *bank = &arena.pool.bank[colour];

        for (uint32_t n = (bank->free + SHARE - 1) / SHARE; n > 0 && chunks > 0; n--, chunks--)
            discard(bank->first - 1);
    }
    return true;
}

/* How many chunks of up to `most` from first on are free. */
static uint32_t free_run(uint32_t first, uint32_t most)
{
    uint32_t n = 0;

    while (n < most && pool_is_free(&arena.pool, first + n))
        n++;
    return n;
}

uint32_t arena_trim(void)
{
    uint32_t step = chunks_in_step(), given = 0;

    for (uint32_t chunk = 0, n; chunk + step <= arena.top; chunk += n != 0 ? n : step) {
        n = free_run(chunk, arena.top - chunk) & ~(step - 1);
        for (uint32_t i = 0; i < n; i++)
            take_out(chunk + i);
        if (n != 0)
            mapping_empty(arena_address(chunk), (size_t)n << arena.shift);
        given += n;
    }
    return given;
}

/* No block is on the chunk any more. Whether it is in the pool: an inherited one is not. */
static bool leave(uint32_t chunk)
{
    struct chunk *record = arena_chunk(chunk);
    bool was_inherited = record->is_inherited;

    atomic_store(&record->kind, CHUNK_UNUSED);
    record->is_inherited = false;
    arena.inherited -= was_inherited;
    return !was_inherited;
}

void arena_release(uint32_t chunk)
{
    if (leave(chunk))
        pool_give(&arena.pool, chunk);
    else
        bit_index_add(&arena.unread, chunk);
}

void arena_forget(uint32_t chunk)
{
    if (leave(chunk)) {
        arena.mixed -= !arena_is_colour(arena.pool.colour[chunk]);
        pool_remove(&arena.pool, chunk, false);
        arena.owned--;
    }
    bit_index_add(&arena.unread, chunk);
}

static void inherit(uint32_t chunk)
{
    struct chunk *record = arena_chunk(chunk);

    record->is_inherited = record->kind != CHUNK_UNUSED;
    arena.inherited += record->is_inherited;
}

void arena_start_child(void)
{
    arena.lock = (struct bank_lock){.word = LOCK_FREE};
    mapping_table_start_child(&arena.chunks);
    arena.owned = arena.mixed = arena.inherited = 0;
    arena.generation++;
    tables_start_child(arena.tables, &arena.pool, &arena.unread, inherit);
}

uint32_t arena_count_moved(const char *(*where)(uint32_t chunk))
{
    uint32_t moved = 0;
    uint16_t colour;

    for (uint32_t chunk = 0; chunk < arena.top; chunk++) {
        const struct chunk *record = arena_chunk(chunk);
        bool is_used = record->kind != CHUNK_UNUSED && !record->is_inherited;

        if ((!is_used && !pool_is_free(&arena.pool, chunk)) ||
            !arena_is_colour(arena.pool.colour[chunk]))
            continue;
        frames_colours(&arena.frames, where(chunk), chunk, 1, arena.shift, &colour);
        moved += colour != arena.pool.colour[chunk];
    }
    return moved;
}

/* --- the start --- */

/* What is known of each chunk. */
static bool make_records(void)
{
    size_t stride;

    arena.words = (1u << arena.shift) / BLOCK_ALIGNMENT / 64;
    stride = sizeof(struct chunk) + 2 * arena.words * sizeof(uint64_t);
    arena.stride_shift = 64 - (unsigned)__builtin_clzl(stride - 1);
    arena.chunks.base = mapping_far((size_t)arena.most << arena.stride_shift);
    arena.recorded = 0;
    return arena.chunks.base != NULL;
}

static unsigned longest_chunk(const struct frames *frames)
{
    unsigned lowest = dram_map_lowest_bit(&frames->map);

    if (frames->knowledge == FRAMES_UNKNOWN)
        return FRAME_SHIFT;
    return lowest < FRAME_SHIFT        ? FRAME_SHIFT
           : lowest < CHUNK_SHIFT_MOST ? lowest
                                       : CHUNK_SHIFT_MOST;
}

/*
 * Whether fresh memory comes in pieces of that length of one bank each; with pages that lie anyhow
 * a chunk is a page. Tried with one huge page, which goes again.
 */
static bool chunks_are_whole(const struct frames *frames, char *trial, unsigned shift)
{
    uint16_t colours[PIECE_CHUNKS];
    uint32_t count = HUGE_PAGE_BYTES >> shift;

    if (arena_map(trial, HUGE_PAGE_BYTES) != MAPPING_OPEN)
        return false;
    bool are_whole = frames->knowledge == FRAMES_KNOWN || frames_are_huge(trial, HUGE_PAGE_BYTES);
    for (uint32_t done = 0; are_whole && done < count; done += PIECE_CHUNKS) {
        uint32_t now = count - done < PIECE_CHUNKS ? count - done : (uint32_t)PIECE_CHUNKS;

        frames_colours(frames, trial + ((size_t)done << shift), 0, now, shift, colours);
        for (uint32_t i = 0; i < now; i++)
            are_whole = are_whole && colours[i] != FRAMES_NO_COLOUR;
    }
    (void)mapping_close(trial, HUGE_PAGE_BYTES);
    return are_whole;
}

bool arena_start(const struct frames *frames, size_t bytes)
{
    unsigned shift = longest_chunk(frames);

    arena.frames = *frames;
    bytes = (bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
    char *base = mapping_far(bytes);
    if (base == NULL)
        return false;
    if (frames->knowledge == FRAMES_RELATIVE && !chunks_are_whole(frames, base, shift))
        return false;
    if (frames->knowledge == FRAMES_KNOWN && !chunks_are_whole(frames, base, shift))
        shift = FRAME_SHIFT;
    arena.shift = shift;
    if (bytes >> shift >= POOL_NONE)
        bytes = (size_t)(POOL_NONE - 1) >> (HUGE_PAGE_SHIFT - shift) << HUGE_PAGE_SHIFT;
    arena.most = (uint32_t)(bytes >> shift);
    if (!make_records())
        return false;
    arena.tables = tables_make(arena.most < CAPACITY_LEAST ? arena.most : (uint32_t)CAPACITY_LEAST,
                               frames->controllers, frames->banks, &arena.pool, &arena.unread);
    if (arena.tables == NULL)
        return false;
    arena.generation = 1;
    arena.base = base;
    return true;
}
