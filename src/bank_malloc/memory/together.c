/*
 * SPDX-License-Identifier: MIT
 *
 * See together.h. mremap leaves nothing where the pages were, and takes whatever is at the
 * addresses that they go to: these are claimed before by a mapping without access, which another's
 * mapping there refuses.
 */
#include "bank_malloc/memory/together.h"

#include "bank_malloc/memory/mapping.h"
#include "base/pages.h"
#include "base/short_file.h"

struct together together;

/* vm.max_map_count; the kernel's default if it does not say. */
static uint32_t read_mappings_most(void)
{
    char text[16] = {0};
    uint32_t number = 0;

    (void)short_file_read("/proc/sys/vm/max_map_count", text, sizeof text - 1);
    for (const char *at = text; *at >= '0' && *at <= '9' && number < UINT32_MAX / 16; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    return number != 0 ? number : 65530;
}

/* --- units: as many as are needed at once, and no more of them have memory --- */

enum { HEAD_BYTES = 64, UNITS_LEAST = 1 << 10 };

/* As arena.tables: a head with the count, the set of used units up to a page's end, the rest. */
static size_t used_bytes(uint32_t count)
{
    return (HEAD_BYTES + runs_used_bytes(count) + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
}

static size_t rest_bytes(uint32_t count)
{
    return (runs_bytes(count) + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
}

/* Room for a run of n; false: there is none, or no memory for the tables. */
static bool extend(uint32_t n)
{
    uint32_t before = together.count, left = together.most - before;
    uint32_t more = n > before ? n : before;
    char *tables_before = together.tables, *tables;

    more = more > UNITS_LEAST ? more : (uint32_t)UNITS_LEAST;
    more = more < left ? more : left;
    if (n > more)
        return false;
    uint32_t count = before + more;
    if (!mapping_table_grow(&together.units, count * sizeof(struct together_unit)) ||
        (tables = pages_map(used_bytes(count) + rest_bytes(count), MAP_NORESERVE)) == NULL)
        return false;
    *(uint32_t *)(void *)tables = count;
    runs_extend(&together.runs, count, tables + HEAD_BYTES, tables + used_bytes(count));
    /* A child of fork has the old ones or the new ones, whole. */
    __atomic_store_n(&together.tables, tables, __ATOMIC_RELEASE);
    if (tables_before != NULL)
        pages_unmap(tables_before, used_bytes(before) + rest_bytes(before));
    together.count = count;
    runs_give(&together.runs, before, more);
    return true;
}

void together_start(void)
{
    enum {
        MAPPINGS_A_PIECE = 3,
        SPARE = 4, /* addresses for each chunk that can be moved */
        PIECES_MOST = 1 << 18,
    };
    uint32_t may = read_mappings_most() / 2 / MAPPINGS_A_PIECE;
    uint32_t pieces = may < PIECES_MOST ? may : PIECES_MOST, most = pieces * SPARE;

    if (arena.frames.knowledge == FRAMES_UNKNOWN)
        return; /* any run is of the only colour */
    if (arena.most < RUNS_NONE / 2)
        most += arena.most;
    together.base = mapping_far((size_t)most << arena.shift);
    together.units.base = mapping_far(most * sizeof(struct together_unit));
    if (together.base == NULL || together.units.base == NULL)
        return;
    together.most = most;
    together.pieces_most = pieces;
}

static bool has_run(uint32_t n)
{
    return runs_fit(&together.runs, n) != 0 || extend(n);
}

bool together_can(uint32_t n)
{
    return n <= together.pieces_most - together.pieces && has_run(n);
}

bool together_can_fresh(uint32_t n, uint32_t alignment)
{
    return together.fresh < together.pieces_most / 2 && has_run(n + alignment - 1);
}

/* Whether the chunk's pages are at that unit, and not only were to come there. */
static bool is_at(uint32_t chunk, uint32_t unit)
{
    const struct chunk *record = arena_chunk(chunk);

    return record->kind == CHUNK_MOVED && record->unit == unit;
}

/* Units without a block, up to `end`. */
static void abandon(uint32_t first, uint32_t end)
{
    for (uint32_t unit = first; unit < end; unit++) {
        uint32_t chunk = together_unit(unit)->chunk;

        if (chunk != POOL_NONE && is_at(chunk, unit))
            arena_forget(chunk);
    }
    if (mapping_close(together_address(first), (size_t)(end - first) << arena.shift))
        runs_give(&together.runs, first, end - first);
}

/* Counts the block that begins there, which stays the process's. */
static void count_block(uint32_t first)
{
    uint32_t length = together_unit(first)->length;

    if (together_unit(first)->chunk == POOL_NONE) {
        together.fresh++;
        arena.elsewhere += length;
        return;
    }
    for (uint32_t unit = first; unit < first + length; unit++)
        together.pieces += arena_chunk(together_unit(unit)->chunk)->begins_piece;
}

void together_start_child(void)
{
    char *tables = together.tables;

    if (tables == NULL)
        return;
    uint32_t count = *(uint32_t *)(void *)tables, unit = 0;
    pages_clear(tables + used_bytes(count), rest_bytes(count));
    runs_restore(&together.runs, count, tables + HEAD_BYTES, tables + used_bytes(count));
    together.count = count;
    together.pieces = together.fresh = arena.elsewhere = 0;
    mapping_table_start_child(&together.units);
    while (unit < count && (unit = bit_index_next(&together.runs.used, unit)) != BIT_INDEX_NONE) {
        uint32_t end = unit;

        while (end < count && !runs_is_free(&together.runs, end) && together_unit(end)->length == 0)
            end++;
        if (end > unit) {
            abandon(unit, end);
            unit = end;
        } else {
            count_block(unit);
            unit += together_unit(unit)->length;
        }
    }
}

/* Moves n chunks, which follow each other, back to their own addresses; false: they stay. */
static bool return_pages(uint32_t unit, uint32_t chunk, uint32_t n)
{
    size_t bytes = (size_t)n << arena.shift;
    char *place = arena_address(chunk);

    if (mapping_claim(place, bytes) != MAPPING_OPEN)
        return false;
    if (mapping_move(together_address(unit), place, bytes))
        return true;
    (void)mapping_close(place, bytes);
    return false;
}

/* One unit's pages, which the kernel does not move, go to it. */
static void drop_pages(uint32_t unit)
{
    size_t bytes = (size_t)1 << arena.shift;

    arena_forget(together_unit(unit)->chunk);
    if (mapping_close(together_address(unit), bytes))
        runs_give(&together.runs, unit, 1);
    else
        mapping_empty(together_address(unit), bytes); /* the addresses are lost */
}

/* The pages of the first of n units, whose chunks follow each other too, go back, as many at once
   as the kernel moves, and the units are free. Returns how many. */
static uint32_t move_back(uint32_t unit, uint32_t n)
{
    uint32_t chunk = together_unit(unit)->chunk;
    bool are_back = return_pages(unit, chunk, n);

    for (; !are_back && n > 1; are_back = return_pages(unit, chunk, n))
        n /= 2;
    for (uint32_t i = 0; i < n; i++) {
        struct chunk *record = arena_chunk(chunk + i);

        together.pieces -= record->begins_piece;
        record->begins_piece = false;
        record->is_hole = !are_back;
    }
    if (!are_back) {
        drop_pages(unit);
        return n;
    }
    for (uint32_t i = 0; i < n; i++)
        arena_release(chunk + i);
    frames_announce(&arena.frames, arena_address(chunk), (uint64_t)chunk << arena.shift,
                    (size_t)n << arena.shift);
    runs_give(&together.runs, unit, n);
    return n;
}

/* How many units from `unit` up to `end` hold chunks that follow each other: they move at once. */
static uint32_t piece_of(uint32_t unit, uint32_t end)
{
    uint32_t n = 1, chunk = together_unit(unit)->chunk;

    while (unit + n < end && together_unit(unit + n)->chunk == chunk + n)
        n++;
    return n;
}

static void undo(uint32_t unit, uint32_t end)
{
    while (unit < end)
        unit += move_back(unit, piece_of(unit, end));
}

/* Fresh memory goes back to the kernel. */
static void drop_fresh(uint32_t unit, uint32_t n)
{
    size_t bytes = (size_t)n << arena.shift;

    together.fresh--;
    arena.elsewhere -= n;
    if (mapping_close(together_address(unit), bytes))
        runs_give(&together.runs, unit, n);
    else
        mapping_empty(together_address(unit), bytes); /* the addresses are lost */
}

void together_undo(uint32_t unit)
{
    uint32_t length = together_unit(unit)->length;

    together_unit(unit)->length = 0;
    if (together_unit(unit)->chunk == POOL_NONE)
        drop_fresh(unit, length);
    else
        undo(unit, unit + length);
}

/* Units at a multiple of alignment units' bytes; RUNS_NONE: there are none. */
static uint32_t take_units(uint32_t n, uint32_t alignment)
{
    if (!has_run(n + alignment - 1))
        return RUNS_NONE;
    uint32_t first = runs_take(&together.runs, n + alignment - 1);
    if (alignment == 1)
        return first;
    size_t place = (uintptr_t)together_address(first) >> arena.shift;
    uint32_t skip = (uint32_t)(-place & (alignment - 1));
    if (skip > 0)
        runs_give(&together.runs, first, skip);
    if (skip < alignment - 1)
        runs_give(&together.runs, first + skip + n, alignment - 1 - skip);
    return first + skip;
}

/*
 * Moves n units' chunks, which follow each other, from their places, or the first of them. Before
 * Linux 6.17 mremap moves no pages of two mappings at once, and memory from two growths may be two:
 * so half as many are tried, and again half. Returns how many were moved; 0: the kernel refused.
 */
static uint32_t move_piece(uint32_t unit, uint32_t n)
{
    uint32_t chunk = together_unit(unit)->chunk;

    while (!mapping_move(arena_address(chunk), together_address(unit), (size_t)n << arena.shift)) {
        if (n == 1)
            return 0;
        n /= 2;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct chunk *record = arena_chunk(chunk + i);

        record->kind = CHUNK_MOVED;
        record->unit = unit + i;
        record->is_hole = true;
        record->begins_piece = i == 0;
    }
    frames_announce(&arena.frames, together_address(unit), (uint64_t)chunk << arena.shift,
                    (size_t)n << arena.shift);
    together.pieces++;
    return n;
}

/* Back as it was, after the piece at `failed` was refused. */
static void take_back(uint32_t begin, uint32_t failed, uint32_t end)
{
    undo(begin, failed);
    for (uint32_t unit = failed; unit < end; unit++)
        arena_release(together_unit(unit)->chunk);
    if (mapping_close(together_address(failed), (size_t)(end - failed) << arena.shift))
        runs_give(&together.runs, failed, end - failed);
}

/* The chunks linked from first on go back to the pool. */
static void release_all(uint32_t first)
{
    for (uint32_t next; first != POOL_NONE; first = next) {
        next = pool_next(&arena.pool, first);
        arena_release(first);
    }
}

/* Units with fresh memory, or whose addresses are claimed; RUNS_NONE: there are none. Where
   another's mapping is they stay used, and others are tried. */
static uint32_t open_units(uint32_t n, uint32_t alignment, bool are_fresh)
{
    enum mapping_answer answer = MAPPING_TAKEN;
    uint32_t begin = RUNS_NONE;

    while (answer == MAPPING_TAKEN) {
        begin = take_units(n, alignment);
        if (begin == RUNS_NONE)
            return RUNS_NONE;
        char *address = together_address(begin);
        size_t bytes = (size_t)n << arena.shift;
        answer = are_fresh ? arena_map(address, bytes) : mapping_claim(address, bytes);
    }
    if (answer == MAPPING_REFUSED)
        runs_give(&together.runs, begin, n);
    return answer == MAPPING_OPEN ? begin : (uint32_t)RUNS_NONE;
}

char *together_make(uint32_t first, uint32_t n, uint32_t alignment)
{
    uint32_t begin = open_units(n, alignment, false), chunk = first;

    if (begin == RUNS_NONE) {
        release_all(first);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        *together_unit(begin + i) = (struct together_unit){.chunk = chunk};
        chunk = pool_next(&arena.pool, chunk);
    }
    for (uint32_t unit = begin, piece; unit < begin + n; unit += piece) {
        piece = move_piece(unit, piece_of(unit, begin + n));
        if (piece == 0) {
            take_back(begin, unit, begin + n);
            return NULL;
        }
    }
    together_unit(begin)->length = n;
    return together_address(begin);
}

char *together_fresh(uint32_t n, uint32_t alignment)
{
    uint32_t begin =
        together_can_fresh(n, alignment) ? open_units(n, alignment, true) : (uint32_t)RUNS_NONE;

    if (begin == RUNS_NONE)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        *together_unit(begin + i) = (struct together_unit){.chunk = POOL_NONE};
    together_unit(begin)->length = n;
    together.fresh++;
    arena.elsewhere += n;
    return together_address(begin);
}

const char *together_where(uint32_t chunk)
{
    const struct chunk *record = arena_chunk(chunk);

    return record->kind == CHUNK_MOVED ? together_address(record->unit) : arena_address(chunk);
}
