/*
 * SPDX-License-Identifier: MIT
 *
 * See together.h. mremap leaves a hole where the pages were, which is closed at once by a mapping
 * without access. In between, another thread's mmap may take the place: then the chunk, once its
 * block goes, has nowhere to go back to, and is given up.
 */
#include "bank_malloc/memory/together.h"

#include "bank_malloc/memory/mapping.h"
#include "base/pages.h"

#include <fcntl.h>

struct together together;

/* vm.max_map_count; the kernel's default if it does not say. */
static uint32_t read_mappings_most(void)
{
    char text[16] = {0};
    uint32_t number = 0;
    int file =
        (int)system_call(SYS_openat, AT_FDCWD, "/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);

    if (file >= 0) {
        (void)system_call(SYS_read, file, text, sizeof text - 1);
        system_call(SYS_close, file, NULL, 0);
    }
    for (const char *at = text; *at >= '0' && *at <= '9' && number < UINT32_MAX / 16; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    return number != 0 ? number : 65530;
}

static size_t table_bytes(uint32_t count)
{
    return (runs_bytes(count) + FRAME_BYTES - 1) & ~(size_t)(FRAME_BYTES - 1);
}

/* Addresses for that many units, and tables of them; false: there are none. */
static bool start(uint32_t count)
{
    size_t bytes = (size_t)count << arena.shift, unit_bytes = count * sizeof *together.units;
    long base =
        system_call_6(SYS_mmap, 0, (long)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *units, *tables;

    if (base < 0 && base > -4096)
        return false;
    units = pages_map(unit_bytes, MAP_NORESERVE);
    tables = units != NULL ? pages_map(2 * table_bytes(count), MAP_NORESERVE) : NULL;
    if (tables == NULL) {
        pages_unmap((void *)base, bytes);
        if (units != NULL)
            pages_unmap(units, unit_bytes);
        return false;
    }
    together.units = (struct together_unit *)(void *)units;
    runs_init(&together.runs, count, tables);
    together.tables = tables;
    together.spare_tables = tables + table_bytes(count); /* a child's */
    together.base = (char *)base + (-(uintptr_t)base & (((size_t)1 << arena.shift) - 1));
    together.count = count - 1; /* the last one may be cut by that */
    runs_give(&together.runs, 0, together.count);
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
    uint32_t pieces = may < PIECES_MOST ? may : PIECES_MOST, count = pieces * SPARE;

    if (arena.frames.knowledge == FRAMES_UNKNOWN)
        return; /* any run is of the only colour */
    if (mapping_limit() != UINT64_MAX)
        count = arena.capacity / 2;
    if ((mapping_limit() == UINT64_MAX && arena.capacity < RUNS_NONE / 2 &&
         start(count + arena.capacity)) ||
        start(count))
        together.pieces_most = pieces;
}

void together_start_child(void)
{
    uint32_t count = together.runs.count;
    char *before = together.tables;

    if (together.count == 0)
        return;
    together.tables = together.spare_tables;
    together.spare_tables = before;
    runs_init_used(&together.runs, count, together.tables, together.runs.used.level[0]);
    pages_clear(before, table_bytes(count));
}

bool together_can(uint32_t n)
{
    return n <= together.pieces_most - together.pieces && runs_fit(&together.runs, n) != 0;
}

/* Whether the chunk's own place is still ours: it was closed when the pages went. */
static bool has_place(uint32_t chunk)
{
    return arena_chunk(chunk)->length == 0;
}

/* The pages of n units, whose chunks follow each other too, go home, and the units are closed. */
static void move_home(uint32_t unit, uint32_t n)
{
    size_t bytes = (size_t)n << arena.shift;
    uint32_t chunk = together.units[unit].chunk;

    if (has_place(chunk) && mapping_move(together_address(unit), arena_address(chunk), bytes)) {
        frames_announce(&arena.frames, arena_address(chunk), (uint64_t)chunk << arena.shift, bytes);
        for (uint32_t i = 0; i < n; i++)
            arena_release(chunk + i);
    } else {
        pages_unmap(together_address(unit), bytes);
        for (uint32_t i = 0; i < n; i++)
            arena_lose(chunk + i);
    }
    together.pieces--;
    if (mapping_close_hole(together_address(unit), bytes))
        runs_give(&together.runs, unit, n);
}

/* How many units from `unit` up to `end` hold chunks that follow each other: they move at once. */
static uint32_t piece_of(uint32_t unit, uint32_t end)
{
    uint32_t n = 1, chunk = together.units[unit].chunk;

    while (unit + n < end && together.units[unit + n].chunk == chunk + n &&
           has_place(chunk + n) == has_place(chunk))
        n++;
    return n;
}

static void undo(uint32_t unit, uint32_t end)
{
    for (uint32_t n; unit < end; unit += n) {
        n = piece_of(unit, end);
        move_home(unit, n);
    }
}

/* Fresh memory goes back to the kernel. */
static void drop_fresh(uint32_t unit, uint32_t n)
{
    together.fresh--;
    arena.elsewhere -= n;
    if (mapping_close(together_address(unit), (size_t)n << arena.shift))
        runs_give(&together.runs, unit, n);
}

void together_undo(uint32_t unit)
{
    uint32_t length = together.units[unit].length;

    together.units[unit].length = 0;
    if (together.units[unit].chunk == POOL_NONE)
        drop_fresh(unit, length);
    else
        undo(unit, unit + length);
}

/* Units at a multiple of alignment units' bytes. */
static uint32_t take_units(uint32_t n, uint32_t alignment)
{
    uint32_t first = runs_take(&together.runs, n + alignment - 1);

    if (first == RUNS_NONE || alignment == 1)
        return first;
    size_t place = (uintptr_t)together_address(first) >> arena.shift;
    uint32_t skip = (uint32_t)(-place & (alignment - 1));
    if (skip > 0)
        runs_give(&together.runs, first, skip);
    if (skip < alignment - 1)
        runs_give(&together.runs, first + skip + n, alignment - 1 - skip);
    return first + skip;
}

/* Moves n units' chunks, which follow each other, from their places. False: the kernel refused. */
static bool move_piece(uint32_t unit, uint32_t n)
{
    uint32_t chunk = together.units[unit].chunk;
    size_t bytes = (size_t)n << arena.shift;

    if (!mapping_move(arena_address(chunk), together_address(unit), bytes))
        return false;
    bool is_closed = mapping_close_hole(arena_address(chunk), bytes);
    for (uint32_t i = 0; i < n; i++) {
        struct chunk *record = arena_chunk(chunk + i);

        record->kind = CHUNK_MOVED;
        record->unit = unit + i;
        record->length = !is_closed;
    }
    frames_announce(&arena.frames, together_address(unit), (uint64_t)chunk << arena.shift, bytes);
    together.pieces++;
    return true;
}

/* Back as it was, after the piece at `failed` was refused. The addresses that it should have got
   may be open: nothing is put there any more. */
static void take_back(uint32_t begin, uint32_t failed, uint32_t piece, uint32_t end)
{
    undo(begin, failed);
    for (uint32_t unit = failed; unit < end; unit++)
        arena_release(together.units[unit].chunk);
    if (failed + piece < end)
        runs_give(&together.runs, failed + piece, end - failed - piece);
}

char *together_make(uint32_t first, uint32_t n, uint32_t alignment)
{
    uint32_t begin = take_units(n, alignment), chunk = first;

    if (begin == RUNS_NONE) {
        for (uint32_t next; chunk != POOL_NONE; chunk = next) {
            next = pool_next(&arena.pool, chunk);
            arena_release(chunk);
        }
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        together.units[begin + i] = (struct together_unit){.chunk = chunk};
        arena_chunk(chunk)->length = 0;
        chunk = pool_next(&arena.pool, chunk);
    }
    for (uint32_t unit = begin, piece; unit < begin + n; unit += piece) {
        piece = piece_of(unit, begin + n);
        if (!move_piece(unit, piece)) {
            take_back(begin, unit, piece, begin + n);
            return NULL;
        }
    }
    together.units[begin].length = n;
    return together_address(begin);
}

char *together_fresh(uint32_t n, uint32_t alignment)
{
    uint32_t begin =
        together.fresh < together.pieces_most / 2 ? take_units(n, alignment) : (uint32_t)RUNS_NONE;

    if (begin == RUNS_NONE)
        return NULL;
    if (!arena_map(together_address(begin), (size_t)n << arena.shift)) {
        runs_give(&together.runs, begin, n);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        together.units[begin + i] = (struct together_unit){.chunk = POOL_NONE};
    together.units[begin].length = n;
    together.fresh++;
    arena.elsewhere += n;
    return together_address(begin);
}

const char *together_where(uint32_t chunk)
{
    const struct chunk *record = arena_chunk(chunk);

    return record->kind == CHUNK_MOVED ? together_address(record->unit) : arena_address(chunk);
}
