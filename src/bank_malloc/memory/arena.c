/*
 * SPDX-License-Identifier: MIT
 *
 * See arena.h. Addresses are reserved without access; a piece that gets memory is mapped anew, so
 * that it is zero and the process's own whatever it was before.
 */
#include "bank_malloc/memory/arena.h"

#include "bank_malloc/memory/mapping.h"
#include "base/pages.h"

#include <signal.h>
#include <string.h>

enum { PIECE_CHUNKS = 512 }; /* that are read at once */

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

bool arena_map(char *from, size_t bytes)
{
    if (mapping_open(from, bytes, true, frames_matter()))
        return true;
    (void)mapping_close(from, bytes);
    return false;
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
    if (arena.top < first + count)
        arena.top = first + count;
    arena.owned += count;
}

/* The chunks without memory from first on that follow each other, up to `most`. */
static uint32_t unread_run(uint32_t first, uint32_t most)
{
    uint32_t n = 1;

    while (n < most && first + n < arena.capacity && bit_index_has(&arena.unread, first + n))
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
    enum { STEP = 1 << 12 };
    uint32_t rounded_end = (end + STEP - 1) & ~(uint32_t)(STEP - 1);
    uint32_t wanted = rounded_end < arena.capacity ? rounded_end : arena.capacity;
    size_t bytes = (size_t)(wanted - arena.recorded) << arena.stride_shift;

    if (end <= arena.recorded)
        return true;
    if (system_call(SYS_mprotect, (long)arena_chunk(arena.recorded), (void *)bytes,
                    PROT_READ | PROT_WRITE) != 0)
        return false;
    arena.recorded = wanted;
    return true;
}

uint32_t arena_grow(uint32_t chunks)
{
    uint32_t step = chunks_in_step(), added = 0, first = 0;

    chunks = (chunks + step - 1) & ~(step - 1);
    while (chunks > 0 && first < arena.capacity) {
        first = bit_index_next(&arena.unread, first);
        if (first == BIT_INDEX_NONE)
            break;
        uint32_t skip = -first & (step - 1), run = unread_run(first, skip + chunks);
        uint32_t n = run > skip ? (run - skip) & ~(step - 1) : 0;
        uint32_t begin = first + skip;

        first += run;
        if (n == 0)
            continue;
        if (!open_records(begin + n) ||
            !mapping_open(arena_address(begin), (size_t)n << arena.shift, begin >= arena.top,
                          frames_matter())) {
            (void)mapping_close(arena_address(begin), (size_t)n << arena.shift);
            break;
        }
        add_chunks(begin, n);
        added += n;
        chunks -= n;
    }
    return added;
}

uint32_t arena_room(void)
{
    uint32_t taken = arena.owned + arena.lost + arena.inherited + arena.elsewhere;

    return arena.capacity > taken ? arena.capacity - taken : 0;
}

static void discard(uint32_t chunk)
{
    size_t bytes = (size_t)1 << arena.shift;

    arena.mixed -= !arena_is_colour(arena.pool.colour[chunk]);
    pool_remove(&arena.pool, chunk, true);
    bit_index_add(&arena.unread, chunk);
    arena.owned--;
    mapping_empty(arena_address(chunk), bytes);
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

void arena_lose(uint32_t chunk)
{
    if (leave(chunk)) {
        pool_remove(&arena.pool, chunk, false);
        arena.owned--;
    }
    arena.lost++;
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

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t pool_table_bytes(void)
{
    return rounded(pool_bytes(arena.capacity, arena.frames.controllers, arena.frames.banks));
}

static size_t table_bytes(void)
{
    size_t bytes = pool_table_bytes() + bit_index_bytes(arena.capacity);

    return (bytes + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
}

/* An empty pool, with every chunk unread, in tables that are all zero. */
static void start_tables(void)
{
    pool_init(&arena.pool, arena.capacity, arena.frames.controllers, arena.frames.banks,
              arena.tables);
    bit_index_init(&arena.unread, arena.capacity, arena.tables + pool_table_bytes());
    bit_index_fill(&arena.unread, arena.capacity);
}

/* Twice the room: a child changes from one half to the other, and has memory for that. */
static bool make_tables(void)
{
    arena.tables = pages_map(2 * table_bytes(), MAP_NORESERVE);
    if (arena.tables == NULL)
        return false;
    arena.spare_tables = arena.tables + table_bytes();
    start_tables();
    return true;
}

void arena_start_child(void)
{
    const uint64_t *used = arena.pool.runs.used.level[0], *unread = arena.unread.level[0];
    char *before = arena.tables;

    arena.lock = (struct bank_lock){.word = LOCK_FREE};
    arena.tables = arena.spare_tables;
    arena.spare_tables = before;
    start_tables();
    arena.owned = arena.mixed = arena.inherited = 0;
    /* What is neither free nor without memory stays as it is: in use, or of no use. */
    for (uint32_t word = 0; word <= arena.top / 64; word++) {
        for (uint64_t left = used[word] & ~unread[word]; left != 0; left &= left - 1) {
            uint32_t chunk = word * 64 + (uint32_t)__builtin_ctzll(left);
            struct chunk *record = arena_chunk(chunk);

            bit_index_remove(&arena.unread, chunk);
            record->is_inherited = record->kind != CHUNK_UNUSED;
            arena.inherited += record->is_inherited;
        }
    }
    pages_clear(before, table_bytes());
}

/* What is known of each chunk. */
static bool make_records(void)
{
    size_t stride;

    arena.words = (1u << arena.shift) / BLOCK_ALIGNMENT / 64;
    stride = sizeof(struct chunk) + 2 * arena.words * sizeof(uint64_t);
    arena.stride_shift = 64 - (unsigned)__builtin_clzl(stride - 1);
    arena.chunks = mapping_reserve((size_t)arena.capacity << arena.stride_shift);
    arena.recorded = 0;
    return arena.chunks != NULL;
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
static bool chunks_are_whole(const struct frames *frames, unsigned shift)
{
    uint16_t colours[PIECE_CHUNKS];
    uint32_t count = HUGE_PAGE_BYTES >> shift;
    char *trial = mapping_reserve(HUGE_PAGE_BYTES);
    bool are_whole = trial != NULL && mapping_open(trial, HUGE_PAGE_BYTES, true, frames_matter()) &&
                     (frames->knowledge == FRAMES_KNOWN || frames_are_huge(trial, HUGE_PAGE_BYTES));

    for (uint32_t done = 0; are_whole && done < count; done += PIECE_CHUNKS) {
        uint32_t now = count - done < PIECE_CHUNKS ? count - done : (uint32_t)PIECE_CHUNKS;

        frames_colours(frames, trial + ((size_t)done << shift), 0, now, shift, colours);
        for (uint32_t i = 0; i < now; i++)
            are_whole = are_whole && colours[i] != FRAMES_NO_COLOUR;
    }
    if (trial != NULL)
        pages_unmap(trial, HUGE_PAGE_BYTES);
    return are_whole;
}

bool arena_start(const struct frames *frames, size_t bytes)
{
    unsigned shift = longest_chunk(frames);

    arena.frames = *frames;
    if (frames->knowledge == FRAMES_RELATIVE && !chunks_are_whole(frames, shift))
        return false;
    if (frames->knowledge == FRAMES_KNOWN && !chunks_are_whole(frames, shift))
        shift = FRAME_SHIFT;
    arena.shift = shift;
    bytes = (bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
    if (bytes >> shift >= POOL_NONE)
        bytes = (size_t)(POOL_NONE - 1) >> (HUGE_PAGE_SHIFT - shift) << HUGE_PAGE_SHIFT;
    arena.capacity = (uint32_t)(bytes >> shift);
    char *base = mapping_reserve(bytes);
    bool has_records = base != NULL && make_records();
    if (!has_records || !make_tables()) {
        if (has_records)
            pages_unmap(arena.chunks, (size_t)arena.capacity << arena.stride_shift);
        if (base != NULL)
            pages_unmap(base, bytes);
        return false;
    }
    arena.base = base;
    return true;
}
