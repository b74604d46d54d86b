/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See section_table.h.
 */
#include "rtmgrind/counts/section_table.h"

#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/heap_blocks.h"

#include "pub_tool_wordfm.h"
#include "pub_tool_xarray.h"

/* A program that conflicts all over its memory has as many stops as lines. */
enum { STOPS_MOST = 1 << 14 };

static XArray *sections, *stops; /* of pointers, in order of age */
static WordFM *section_by_key, *stop_by_key;

static Word compare_words(UWord a, UWord b)
{
    return a < b ? -1 : a > b;
}

static Word compare_data(const struct data_name *a, const struct data_name *b)
{
    Word order = compare_words(a->address, b->address);

    if (order == 0)
        order = compare_words((UWord)a->origin, (UWord)b->origin);
    if (order == 0)
        order = compare_words(a->size, b->size);
    return order != 0 ? order : compare_words((UWord)a->offset, (UWord)b->offset);
}

static Word compare_sections(UWord left, UWord right)
{
    const struct section *a = (const struct section *)left, *b = (const struct section *)right;
    Word order = compare_words((UWord)a->locked, (UWord)b->locked);

    return order != 0 ? order : compare_data(&a->lock, &b->lock);
}

static Word compare_stops(UWord left, UWord right)
{
    const struct stop *a = (const struct stop *)left, *b = (const struct stop *)right;
    Word order = compare_words((UWord)a->section, (UWord)b->section);

    if (order == 0)
        order = compare_words(a->kind, b->kind);
    if (order == 0)
        order = compare_words(a->detail, b->detail);
    if (order == 0)
        order = compare_words((UWord)a->stack, (UWord)b->stack);
    if (order == 0)
        order = compare_words(a->instruction, b->instruction);
    if (order == 0)
        order = compare_words(a->requester, b->requester);
    if (order == 0)
        order = compare_words((UWord)a->other, (UWord)b->other);
    return order != 0 ? order : compare_data(&a->data, &b->data);
}

void section_table_init(void)
{
    sections = VG_(newXA)(VG_(malloc), "rtm.sections", VG_(free), sizeof(struct section *));
    stops = VG_(newXA)(VG_(malloc), "rtm.stops", VG_(free), sizeof(struct stop *));
    section_by_key = VG_(newFM)(VG_(malloc), "rtm.sections", VG_(free), compare_sections);
    stop_by_key = VG_(newFM)(VG_(malloc), "rtm.stops", VG_(free), compare_stops);
}

static void forget(XArray *list, WordFM *by_key)
{
    for (Word i = 0; i < VG_(sizeXA)(list); i++) {
        void *entry = *(void **)VG_(indexXA)(list, i);
        VG_(delFromFM)(by_key, NULL, NULL, (UWord)entry);
        VG_(free)(entry);
    }
    VG_(dropTailXA)(list, VG_(sizeXA)(list));
}

void section_table_reset(void)
{
    forget(stops, stop_by_key);
    forget(sections, section_by_key);
}

struct data_name section_table_name(Addr data)
{
    const struct heap_block *block;

    if (data == 0)
        return (struct data_name){0};
    block = heap_block_at(data);
    if (block == NULL)
        return (struct data_name){.address = data};
    return (struct data_name){
        .origin = block->origin,
        .size = block->size,
        .offset = block->size <= WHOLE_BLOCK_BYTES ? (PtrdiffT)(data - block->start) : 0,
    };
}

struct section *section_table_find(ExeContext *locked, Addr lock)
{
    struct section key = {.locked = locked, .lock = section_table_name(lock)}, *section;
    UWord found, nothing;

    if (VG_(lookupFM)(section_by_key, &found, &nothing, (UWord)&key))
        return (struct section *)found;
    section = VG_(malloc)("rtm.section", sizeof *section);
    *section = key;
    section->of_c_library = describe_is_called_by_c_library(locked);
    section->number = (UInt)VG_(addToXA)(sections, &section);
    VG_(addToFM)(section_by_key, (UWord)section, 0);
    return section;
}

static struct stop *find_stop(const struct stop *key)
{
    UWord found, nothing;

    return VG_(lookupFM)(stop_by_key, &found, &nothing, (UWord)key) ? (struct stop *)found : NULL;
}

struct stop *section_table_stop(const struct stop *key)
{
    struct stop *stop = find_stop(key);
    struct stop coarse = {.section = key->section, .kind = key->kind};

    if (stop == NULL && VG_(sizeXA)(stops) >= STOPS_MOST) {
        key = &coarse;
        stop = find_stop(key);
    }
    if (stop != NULL)
        return stop;
    stop = VG_(malloc)("rtm.stop", sizeof *stop);
    *stop = *key;
    VG_(addToXA)(stops, &stop);
    VG_(addToFM)(stop_by_key, (UWord)stop, 0);
    return stop;
}

static void count_line(struct stop *stop, const struct heap_block *block)
{
    ExeContext *origin = block == NULL ? NULL : block->origin;

    for (UInt i = 0; i < STOP_FILLERS_MOST; i++) {
        struct stop_filler *filler = &stop->filler[i];
        if (filler->lines != 0 && filler->origin != origin)
            continue;
        filler->origin = origin;
        filler->lines++;
        if (block != NULL && block->size > filler->size)
            filler->size = block->size;
        return;
    }
}

void section_table_blame(struct stop *stop, const struct transaction *transaction, Addr data)
{
    const struct cache_model *cache = &transaction->footprint.l1d;
    uint64_t lines[CACHE_MODEL_WAYS_MOST];
    unsigned marks[CACHE_MODEL_WAYS_MOST];
    UInt count = cache_model_lines(cache, cache_model_set_of(cache, data), lines, marks);

    for (UInt i = 0; i < count; i++) {
        if (marks[i] != 0)
            count_line(stop, heap_block_in_line(lines[i]));
    }
}

UInt section_table_sections(void)
{
    return (UInt)VG_(sizeXA)(sections);
}

struct section *section_table_section(UInt index)
{
    return *(struct section **)VG_(indexXA)(sections, index);
}

UInt section_table_stops(void)
{
    return (UInt)VG_(sizeXA)(stops);
}

struct stop *section_table_stop_at(UInt index)
{
    return *(struct stop **)VG_(indexXA)(stops, index);
}
