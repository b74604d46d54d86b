/*
 * SPDX-License-Identifier: MIT
 *
 * See arena.h.
 */
#include "bank_malloc/memory/arena.h"

#include "base/pages.h"
#include "base/spin.h"
#include "bank_malloc/memory/tables.h"

#include <signal.h>
#include <string.h>

enum { CAPACITY_LEAST = 1 << 12 /* of the tables, in chunks */ };

struct arena arena;

void (*arena_child_begins)(void);

/*
 * In a page of its own that the child of a fork finds zeroed. CHILD_NEW: that is this process, and
 * nothing has been put in order; CHILD_BEGINS: a thread does. NULL: the kernel cannot do that
 * (before Linux 4.14).
 */
enum { CHILD_NEW, CHILD_BEGINS, IN_ORDER };
static atomic_int *child_state;

static void watch_for_forks(void)
{
    void *page = child_state == NULL ? pages_map(FRAME_BYTES, 0) : NULL;

    if (page == NULL)
        return;
    /* One that takes any advice follows none. */
    if (system_call_6(SYS_madvise, (long)page, FRAME_BYTES, -1, 0, 0, 0) == 0 ||
        system_call_6(SYS_madvise, (long)page, FRAME_BYTES, MADV_WIPEONFORK, 0, 0, 0) != 0) {
        pages_unmap(page, FRAME_BYTES);
        return;
    }
    atomic_store((atomic_int *)page, IN_ORDER);
    child_state = page;
}

/* Puts the child in order, or waits for the thread that does. Signals are blocked: a handler
   of that thread would wait for ever. */
static void begin_child(void)
{
    int expected = CHILD_NEW;

    if (atomic_compare_exchange_strong(child_state, &expected, CHILD_BEGINS)) {
        arena_child_begins();
        atomic_store(child_state, IN_ORDER);
    }
    while (atomic_load(child_state) != IN_ORDER)
        spin_pause();
}

void arena_lock(void)
{
    static const uint64_t all = UINT64_MAX;
    uint64_t before = 0;

    (void)system_call_6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before,
                        0, 0);
    if (__builtin_expect(child_state != NULL && atomic_load(child_state) != IN_ORDER, 0))
        begin_child();
    bank_lock(&arena.lock);
    arena.signals = before;
}

void arena_after_fork(void)
{
    if (child_state == NULL) {
        arena_child_begins();
        return;
    }
    arena_lock();
    arena_unlock();
}

void arena_unlock(void)
{
    uint64_t before = arena.signals;

    bank_unlock(&arena.lock);
    (void)system_call_6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

bool arena_frames_matter(void)
{
    return arena.frames.knowledge == FRAMES_KNOWN || arena.frames.knowledge == FRAMES_RELATIVE;
}

uint32_t arena_step(void)
{
    bool need_huge = arena.frames.knowledge == FRAMES_RELATIVE ||
                     (arena.frames.knowledge == FRAMES_KNOWN && arena.shift > FRAME_SHIFT);

    return need_huge && !arena.has_holes ? 1u << (HUGE_PAGE_SHIFT - arena.shift) : 1;
}

enum mapping_answer arena_map(char *from, size_t bytes)
{
    return mapping_open(from, bytes, false, arena_frames_matter());
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
    uint32_t step = arena_step(), given = 0;

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
    arena.has_unread_holes |= arena_chunk(chunk)->is_hole;
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

/* How many chunks from an unread one on are unread too, up to the top; all are holes, or none. */
static uint32_t unread_alike(uint32_t first)
{
    uint32_t n = 1;

    while (
        first + n < arena.top && bit_index_has(&arena.unread, first + n) &&
        (!arena.has_unread_holes || arena_chunk(first + n)->is_hole == arena_chunk(first)->is_hole))
        n++;
    return n;
}

/*
 * The pages of chunks that were free go at once, in whole steps: as long as the child has a part of
 * a huge page or a page too, the parent gets another frame for it, of any bank, when it writes.
 */
static void drop_free(void)
{
    uint32_t step = arena_step(), chunk = 0;

    while (chunk < arena.top && (chunk = bit_index_next(&arena.unread, chunk)) < arena.top) {
        uint32_t n = unread_alike(chunk), skip = -chunk & (step - 1);
        uint32_t whole = n > skip ? (n - skip) & ~(step - 1) : 0;

        if (whole > 0 && !(arena.has_unread_holes && arena_chunk(chunk)->is_hole))
            mapping_drop_shared(arena_address(chunk + skip), (size_t)whole << arena.shift);
        chunk += n;
    }
}

void arena_start_child(void)
{
    arena.lock = (struct bank_lock){.word = LOCK_FREE};
    mapping_table_start_child(&arena.chunks);
    arena.owned = arena.mixed = arena.inherited = 0;
    arena.generation++;
    tables_start_child(arena.tables, &arena.pool, &arena.unread, inherit);
    if (arena_frames_matter())
        drop_free();
}

int64_t arena_count_moved(const char *(*where)(uint32_t chunk))
{
    int64_t moved = 0;
    uint16_t colour;

    for (uint32_t chunk = 0; chunk < arena.top; chunk++) {
        const struct chunk *record = arena_chunk(chunk);
        bool is_used = record->kind != CHUNK_UNUSED && !record->is_inherited;

        if ((!is_used && !pool_is_free(&arena.pool, chunk)) ||
            !arena_is_colour(arena.pool.colour[chunk]))
            continue;
        if (!frames_colours(&arena.frames, where(chunk), chunk, 1, arena.shift, &colour))
            return -1;
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
 * Whether fresh memory comes in pieces of that length of one bank each; where its pages are
 * scattered, a chunk is a page. Tried with one huge page, which goes again.
 */
static bool chunks_are_whole(const struct frames *frames, char *trial, unsigned shift)
{
    uint16_t colours[ARENA_READ_AT_ONCE];
    uint32_t count = HUGE_PAGE_BYTES >> shift;

    if (arena_map(trial, HUGE_PAGE_BYTES) != MAPPING_OPEN)
        return false;
    bool are_whole =
        frames->knowledge == FRAMES_KNOWN || frames_are_huge(trial, HUGE_PAGE_BYTES) == FRAMES_YES;
    for (uint32_t done = 0; are_whole && done < count; done += ARENA_READ_AT_ONCE) {
        uint32_t now =
            count - done < ARENA_READ_AT_ONCE ? count - done : (uint32_t)ARENA_READ_AT_ONCE;

        are_whole = frames_colours(frames, trial + ((size_t)done << shift), 0, now, shift, colours);
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
    watch_for_forks();
    arena.generation = 1;
    arena.base = base;
    return true;
}
