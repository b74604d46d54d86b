/*
 * SPDX-License-Identifier: MIT
 *
 * See dump.h. The numbers of fields are those of
 * https://github.com/google/pprof/blob/main/proto/profile.proto.
 */
#include "cia_malloc/profile/dump.h"

#include "base/clock.h"
#include "base/code/elf_functions.h"
#include "base/code/process_maps.h"
#include "base/pages.h"
#include "base/report.h"
#include "cia_malloc/profile/calls.h"
#include "cia_malloc/profile/gzip.h"
#include "cia_malloc/profile/protobuf.h"
#include "cia_malloc/profile/sites.h"
#include "cia_malloc/profile/stack_walk.h"

#include <assert.h>
#include <stdatomic.h>

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DROP_FRAMES = 7,
    PROFILE_TIME = 9,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,

    TYPE_NAME = 1,
    TYPE_UNIT = 2,

    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,

    LABEL_KEY = 1,
    LABEL_NUMBER = 3,
    LABEL_UNIT = 4,

    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,

    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,

    LINE_FUNCTION = 1,

    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
};

static struct gzip stream;
static struct protobuf head, message, inner;
static struct process_maps maps;
static struct process_mapping mapping;
static uint64_t strings_put, mappings_put, functions_put;
static uint64_t string_class, string_set, string_bytes; /* what samples name */

static_assert(STACK_MOST * PROTOBUF_LONGEST < PROTOBUF_ROOM / 2, "the longest message fits");

/* ---- fields of the profile itself ---- */

static void put_bytes(uint32_t field, const void *bytes, size_t count)
{
    protobuf_begin(&head);
    protobuf_bytes_head(&head, field, count);
    gzip_write(&stream, head.bytes, head.length);
    gzip_write(&stream, bytes, count);
}

static void put_number(uint32_t field, uint64_t value)
{
    protobuf_begin(&message);
    protobuf_number(&message, field, value);
    gzip_write(&stream, message.bytes, message.length);
}

static void put_message(uint32_t field)
{
    put_bytes(field, message.bytes, message.length);
}

/* Returns its number. */
static uint64_t put_string(const char *text)
{
    put_bytes(PROFILE_STRING, text, strlen(text));
    return strings_put++;
}

/* The same of what was formatted. */
static uint64_t put_text(const struct report *report)
{
    put_bytes(PROFILE_STRING, report->text, report->length);
    return strings_put++;
}

static void put_type(uint32_t field, const char *name, const char *unit)
{
    uint64_t name_string = put_string(name), unit_string = put_string(unit);

    protobuf_begin(&message);
    protobuf_number(&message, TYPE_NAME, name_string);
    protobuf_number(&message, TYPE_UNIT, unit_string);
    put_message(field);
}

static void put_comment(const char *name, uint64_t value)
{
    struct report text;

    report_open(&text, -1);
    report_format(&text, "%s=%lu", name, value);
    put_number(PROFILE_COMMENT, put_text(&text));
}

static void put_head(const struct dump_facts *facts)
{
    struct timespec now;

    clock_read(CLOCK_REALTIME, &now);
    strings_put = mappings_put = functions_put = 0;
    (void)put_string(""); /* 0 is that one to all readers */
    string_class = put_string("class");
    string_set = put_string("l1_set");
    string_bytes = put_string("bytes");
    put_comment("interval", facts->interval);
    put_comment("seed", facts->seed);
    put_comment("samples lost for want of memory", facts->lost);
    put_type(PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
    put_type(PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
    put_type(PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
    put_type(PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
    put_type(PROFILE_PERIOD_TYPE, "space", "bytes");
    put_number(PROFILE_PERIOD, facts->interval);
    put_number(PROFILE_DEFAULT_TYPE, put_string("inuse_space"));
    /* What allocates for others is no site. */
    put_number(PROFILE_DROP_FRAMES, put_string("operator new.*|_Zn[wa].*|strn?dup|reallocarray"));
    put_number(PROFILE_TIME, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* ---- functions and locations ---- */

/* FILE+0xADDRESS, where no symbol says more: what addr2line -e FILE takes. */
static uint64_t put_place(uint64_t address)
{
    struct report text;

    report_open(&text, -1);
    report_format(&text, "%s+0x%lx", strrchr(mapping.path, '/') + 1, address);
    return put_text(&text);
}

/* pprof demangles names of C++ that are the same twice. Returns the function's id. */
static uint64_t put_function(uint64_t name)
{
    protobuf_begin(&message);
    protobuf_number(&message, FUNCTION_ID, ++functions_put);
    protobuf_number(&message, FUNCTION_NAME, name);
    protobuf_number(&message, FUNCTION_SYSTEM_NAME, name);
    put_message(PROFILE_FUNCTION);
    return functions_put;
}

/* A location's id is the return address, its address the last byte of the call. mapping_id,
 * function: 0 where there is none. */
static void put_location(uint64_t address, uint64_t mapping_id, uint64_t function)
{
    protobuf_begin(&message);
    protobuf_number(&message, LOCATION_ID, address);
    protobuf_number(&message, LOCATION_MAPPING, mapping_id);
    protobuf_number(&message, LOCATION_ADDRESS, address - 1);
    if (function != 0) {
        protobuf_begin(&inner);
        protobuf_number(&inner, LINE_FUNCTION, function);
        protobuf_message(&message, LOCATION_LINE, &inner);
    }
    put_message(PROFILE_LOCATION);
}

/* Those of the calls before the end, which are taken out. */
static void put_locations(struct calls *calls, uint64_t end, uint64_t mapping_id)
{
    for (; calls->count > 0 && calls->address[0] - 1 < end; calls->count--)
        put_location(*calls->address++, mapping_id, 0);
}

/* The same of calls in the mapping, with their functions. False, and none are taken, where its file
 * cannot be read. */
static bool put_named_locations(struct calls *calls, uint64_t mapping_id)
{
    enum { NAME_ROOM = 1024 }; /* a longer one is cut */
    static char name[NAME_ROOM];
    struct elf_place *places = calls->place;
    struct elf_file file;
    uint64_t count = 0, function = 0;

    if (calls->count == 0 || calls->address[0] - 1 >= mapping.end ||
        !elf_open_mapped(&file, &mapping, ""))
        return false;
    for (; count < calls->count && calls->address[count] - 1 < mapping.end; count++) {
        uint64_t offset = calls->address[count] - 1 - mapping.start + mapping.file_offset;

        if (!elf_place_at(&file, offset, &places[count]))
            places[count].address = offset;
    }
    elf_find_functions(&file, places, count);
    for (uint64_t i = 0; i < count; i++) {
        bool is_same = i > 0 && places[i].name != 0 && places[i].name == places[i - 1].name &&
                       places[i].start == places[i - 1].start;

        if (!is_same) {
            bool is_named = elf_read_name(&file, &places[i], name, sizeof name);

            function = put_function(is_named ? put_string(name) : put_place(places[i].address));
        }
        put_location(calls->address[i], mapping_id, function);
    }
    elf_close(&file);
    calls->address += count;
    calls->count -= count;
    return true;
}

/* With has_functions pprof takes the names as they are; without it looks for some of its own. */
static void put_mapping(bool has_functions)
{
    uint64_t path = put_string(mapping.path);

    protobuf_begin(&message);
    protobuf_number(&message, MAPPING_ID, ++mappings_put);
    protobuf_number(&message, MAPPING_START, mapping.start);
    protobuf_number(&message, MAPPING_LIMIT, mapping.end);
    protobuf_number(&message, MAPPING_OFFSET, mapping.file_offset);
    protobuf_number(&message, MAPPING_FILE, path);
    if (has_functions)
        protobuf_number(&message, MAPPING_HAS_FUNCTIONS, 1);
    put_message(PROFILE_MAPPING);
}

static _Atomic uint64_t progress; /* relaxed: a hint */

uint64_t dump_progress(void)
{
    return atomic_load_explicit(&progress, memory_order_relaxed);
}

static void note_progress(void)
{
    atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

/* Mappings and calls both ascend. */
static void put_mappings(struct calls calls)
{
    if (process_maps_open(&maps, "/proc/self/maps")) {
        while (process_maps_next(&maps, &mapping)) {
            if (!mapping.executable || mapping.path[0] != '/')
                continue;
            put_locations(&calls, mapping.start, 0);
            bool has_functions = put_named_locations(&calls, mappings_put + 1);
            put_locations(&calls, mapping.end, mappings_put + 1);
            put_mapping(has_functions);
            note_progress();
        }
        process_maps_close(&maps);
    }
    put_locations(&calls, UINT64_MAX, 0);
}

/* ---- samples ---- */

/* unit: 0 where there is none. */
static void add_label(uint64_t key, uint64_t value, uint64_t unit)
{
    protobuf_begin(&inner);
    protobuf_number(&inner, LABEL_KEY, key);
    protobuf_number(&inner, LABEL_NUMBER, value);
    if (unit != 0)
        protobuf_number(&inner, LABEL_UNIT, unit);
    protobuf_message(&message, SAMPLE_LABEL, &inner);
}

static uint64_t read_sum(const _Atomic uint64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_acquire);
}

static uint64_t objects(uint64_t parts)
{
    return (parts + SITE_PARTS / 2) / SITE_PARTS;
}

/* False when there is no memory for its calls. */
static bool put_site(const struct site *site)
{
    /* Those freed first: so there are never more of them. */
    uint64_t freed = read_sum(&site->freed.parts), freed_bytes = read_sum(&site->freed.bytes);
    uint64_t parts = read_sum(&site->allocated.parts), bytes = read_sum(&site->allocated.bytes);
    const uint64_t *address = kept_key(site->stack);

    if (parts == 0)
        return true;
    protobuf_begin(&inner);
    for (uint32_t i = 0; i < site->stack->words; i++) {
        if (keep(KEPT_CALL, &address[i], 1, 0) == NULL)
            return false;
        protobuf_varint(&inner, address[i]);
    }
    protobuf_begin(&message);
    protobuf_message(&message, SAMPLE_LOCATIONS, &inner);
    protobuf_begin(&inner);
    protobuf_varint(&inner, objects(parts));
    protobuf_varint(&inner, bytes);
    protobuf_varint(&inner, objects(parts - freed));
    protobuf_varint(&inner, bytes - freed_bytes);
    protobuf_message(&message, SAMPLE_VALUES, &inner);
    add_label(string_class, site->class_bytes, string_bytes);
    add_label(string_set, site->colour, 0);
    put_message(PROFILE_SAMPLE);
    note_progress();
    return true;
}

bool dump_write(int fd, const struct dump_facts *facts)
{
    const struct kept *site = kept_newest(KEPT_SITE);
    struct calls calls;

    gzip_open(&stream, fd);
    put_head(facts);
    while (site != NULL && put_site((const struct site *)site))
        site = site->older;
    if (!calls_make(&calls))
        return false;
    put_mappings(calls);
    calls_drop(&calls);
    return gzip_close(&stream) && site == NULL;
}
