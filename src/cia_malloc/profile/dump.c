/*
 * SPDX-License-Identifier: MIT
 *
 * See dump.h. The numbers of fields are those of
 * https://github.com/google/pprof/blob/main/proto/profile.proto.
 */
#include "cia_malloc/profile/dump.h"

#include "base/clock.h"
#include "base/elf_functions.h"
#include "base/pages.h"
#include "base/process_maps.h"
#include "base/text/decimal.h"
#include "cia_malloc/profile/calls.h"
#include "cia_malloc/profile/gzip.h"
#include "cia_malloc/profile/protobuf.h"
#include "cia_malloc/profile/sites.h"
#include "cia_malloc/profile/stack_walk.h"
#include "cia_malloc/profile/stacks.h"

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

/* The table of strings begins with these, in this order; names of files follow. */
enum {
    STRING_EMPTY,
    STRING_ALLOC_OBJECTS,
    STRING_ALLOC_SPACE,
    STRING_INUSE_OBJECTS,
    STRING_INUSE_SPACE,
    STRING_COUNT,
    STRING_BYTES,
    STRING_SPACE,
    STRING_CLASS,
    STRING_SET,
    STRING_DROP,
    STRINGS,
};

static const char *const strings[STRINGS] = {
    [STRING_EMPTY] = "",
    [STRING_ALLOC_OBJECTS] = "alloc_objects",
    [STRING_ALLOC_SPACE] = "alloc_space",
    [STRING_INUSE_OBJECTS] = "inuse_objects",
    [STRING_INUSE_SPACE] = "inuse_space",
    [STRING_COUNT] = "count",
    [STRING_BYTES] = "bytes",
    [STRING_SPACE] = "space",
    [STRING_CLASS] = "class",
    [STRING_SET] = "l1_set",
    /* What allocates for others is no site. */
    [STRING_DROP] = "operator new.*|_Zn[wa].*|strn?dup|reallocarray",
};

static struct gzip stream;
static struct protobuf head, message, inner;
static struct process_maps maps;
static struct process_mapping mapping;
static uint64_t strings_put, mappings_put, functions_put;

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

/* Returns its number. */
static uint64_t put_string(const char *text)
{
    put_bytes(PROFILE_STRING, text, strlen(text));
    return strings_put++;
}

static void put_type(uint32_t field, uint64_t name, uint64_t unit)
{
    protobuf_begin(&message);
    protobuf_number(&message, TYPE_NAME, name);
    protobuf_number(&message, TYPE_UNIT, unit);
    put_bytes(field, message.bytes, message.length);
}

/* "name=value" */
static void put_comment(const char *name, uint64_t value)
{
    enum { NAME_MOST = 32 };
    char text[NAME_MOST + 1 + DECIMAL_DIGITS + 1];
    char *at = text + sizeof text;

    *--at = '\0';
    at = decimal_before(at, value);
    *--at = '=';
    at -= strlen(name);
    memcpy(at, name, strlen(name));
    put_number(PROFILE_COMMENT, put_string(at));
}

static void put_head(const struct dump_facts *facts)
{
    struct timespec now;

    clock_read(CLOCK_REALTIME, &now);
    strings_put = mappings_put = functions_put = 0;
    for (int i = 0; i < STRINGS; i++)
        (void)put_string(strings[i]);
    put_comment("interval", facts->interval);
    put_comment("seed", facts->seed);
    put_comment("samples lost for want of memory", facts->lost);
    put_type(PROFILE_SAMPLE_TYPE, STRING_ALLOC_OBJECTS, STRING_COUNT);
    put_type(PROFILE_SAMPLE_TYPE, STRING_ALLOC_SPACE, STRING_BYTES);
    put_type(PROFILE_SAMPLE_TYPE, STRING_INUSE_OBJECTS, STRING_COUNT);
    put_type(PROFILE_SAMPLE_TYPE, STRING_INUSE_SPACE, STRING_BYTES);
    put_type(PROFILE_PERIOD_TYPE, STRING_SPACE, STRING_BYTES);
    put_number(PROFILE_PERIOD, facts->interval);
    put_number(PROFILE_DEFAULT_TYPE, STRING_INUSE_SPACE);
    put_number(PROFILE_DROP_FRAMES, STRING_DROP);
    put_number(PROFILE_TIME, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* ---- functions and locations ---- */

/* Room for a name; a longer one is cut. */
enum { NAME_ROOM = 1024 };

/* FILE+0xADDRESS, where no symbol says more: what addr2line -e FILE takes. */
static void name_by_address(uint64_t address, char name[NAME_ROOM])
{
    enum { HEXADECIMAL_DIGITS = 16 };
    const char *slash = strrchr(mapping.path, '/');
    size_t length = strlen(slash + 1);
    char digits[HEXADECIMAL_DIGITS + 1];
    char *at = digits + sizeof digits;

    *--at = '\0';
    do
        *--at = "0123456789abcdef"[address % 16];
    while ((address /= 16) != 0);
    if (length > NAME_ROOM - sizeof "+0x" - HEXADECIMAL_DIGITS)
        length = NAME_ROOM - sizeof "+0x" - HEXADECIMAL_DIGITS;
    memcpy(name, slash + 1, length);
    strcpy(name + length, "+0x");
    strcat(name, at);
}

/* pprof demangles names of C++ that are the same twice. Returns the function's id. */
static uint64_t put_function(const char *name)
{
    uint64_t string = put_string(name);

    protobuf_begin(&message);
    protobuf_number(&message, FUNCTION_ID, ++functions_put);
    protobuf_number(&message, FUNCTION_NAME, string);
    protobuf_number(&message, FUNCTION_SYSTEM_NAME, string);
    put_bytes(PROFILE_FUNCTION, message.bytes, message.length);
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
    put_bytes(PROFILE_LOCATION, message.bytes, message.length);
}

/* The locations of calls in the mapping, with their functions. False where its file cannot be
 * read: they have none, then. */
static bool put_named_locations(const uint64_t *address, uint64_t count, struct elf_place *places)
{
    static char name[NAME_ROOM];
    struct elf_file file;
    uint64_t function = 0;

    if (count == 0 || !elf_open_mapped(&file, &mapping, ""))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t offset = address[i] - 1 - mapping.start + mapping.file_offset;

        if (!elf_place_at(&file, offset, &places[i]))
            places[i].address = offset;
    }
    elf_find_functions(&file, places, count);
    for (uint64_t i = 0; i < count; i++) {
        bool is_same = i > 0 && places[i].name != 0 && places[i].name == places[i - 1].name &&
                       places[i].start == places[i - 1].start;

        if (!is_same) {
            if (!elf_read_name(&file, &places[i], name, sizeof name))
                name_by_address(places[i].address, name);
            function = put_function(name);
        }
        put_location(address[i], mappings_put + 1, function);
    }
    elf_close(&file);
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
    put_bytes(PROFILE_MAPPING, message.bytes, message.length);
}

/* How many of the ascending addresses belong to calls before the end. */
static uint64_t calls_before(const uint64_t *address, uint64_t count, uint64_t end)
{
    uint64_t i = 0;

    while (i < count && address[i] - 1 < end)
        i++;
    return i;
}

static void put_locations(const uint64_t *address, uint64_t count, uint64_t mapping_id)
{
    for (uint64_t i = 0; i < count; i++)
        put_location(address[i], mapping_id, 0);
}

/* Mappings and calls both ascend. */
static void put_mappings(const struct calls *calls, struct elf_place *places)
{
    const uint64_t *address = calls->address;
    uint64_t left = calls->count;

    if (process_maps_open(&maps, "/proc/self/maps")) {
        while (process_maps_next(&maps, &mapping)) {
            if (!mapping.executable || mapping.path[0] != '/')
                continue;
            uint64_t before = calls_before(address, left, mapping.start);
            put_locations(address, before, 0);
            address += before;
            left -= before;
            uint64_t here = calls_before(address, left, mapping.end);
            bool has_functions = put_named_locations(address, here, places);
            if (!has_functions)
                put_locations(address, here, mappings_put + 1);
            put_mapping(has_functions);
            address += here;
            left -= here;
        }
        process_maps_close(&maps);
    }
    put_locations(address, left, 0);
}

/* ---- samples ---- */

static void add_label(uint64_t key, uint64_t value, uint64_t unit)
{
    protobuf_begin(&inner);
    protobuf_number(&inner, LABEL_KEY, key);
    protobuf_number(&inner, LABEL_NUMBER, value);
    if (unit != STRING_EMPTY)
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

static void put_site(const struct site *site)
{
    /* Those freed first: so there are never more of them. */
    uint64_t freed = read_sum(&site->freed.parts), freed_bytes = read_sum(&site->freed.bytes);
    uint64_t parts = read_sum(&site->allocated.parts), bytes = read_sum(&site->allocated.bytes);

    if (parts == 0)
        return;
    protobuf_begin(&inner);
    for (uint32_t i = 0; i < site->stack->depth; i++)
        protobuf_varint(&inner, site->stack->address[i]);
    protobuf_begin(&message);
    protobuf_message(&message, SAMPLE_LOCATIONS, &inner);
    protobuf_begin(&inner);
    protobuf_varint(&inner, objects(parts));
    protobuf_varint(&inner, bytes);
    protobuf_varint(&inner, objects(parts - freed));
    protobuf_varint(&inner, bytes - freed_bytes);
    protobuf_message(&message, SAMPLE_VALUES, &inner);
    add_label(STRING_CLASS, site->class_bytes, STRING_BYTES);
    add_label(STRING_SET, site->colour, STRING_EMPTY);
    put_bytes(PROFILE_SAMPLE, message.bytes, message.length);
}

static uint64_t count_addresses(void)
{
    uint64_t addresses = STACK_MOST;

    for (const struct stack *s = stack_next(NULL); s != NULL; s = stack_next(s))
        addresses += s->depth;
    return addresses;
}

/* Sites of stacks that came since the room was made may be left out. */
static void put_sites(struct calls *calls)
{
    for (const struct site *site = site_next(NULL);
         site != NULL && calls_have_room(calls, STACK_MOST); site = site_next(site)) {
        for (uint32_t i = 0; i < site->stack->depth; i++)
            calls_add(calls, site->stack->address[i]);
        put_site(site);
    }
}

bool dump_write(int fd, const struct dump_facts *facts)
{
    struct calls calls;

    if (!calls_make(&calls, count_addresses()))
        return false;
    gzip_open(&stream, fd);
    put_head(facts);
    put_sites(&calls);
    calls_sort(&calls);
    size_t bytes = (calls.count + 1) * sizeof(struct elf_place);
    struct elf_place *places = pages_map(bytes, MAP_NORESERVE);
    if (places != NULL) {
        put_mappings(&calls, places);
        pages_unmap(places, bytes);
    }
    calls_drop(&calls);
    return gzip_close(&stream) && places != NULL;
}
