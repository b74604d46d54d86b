/*
 * SPDX-License-Identifier: MIT
 *
 * See dump.h. The numbers of fields are those of
 * https://github.com/google/pprof/blob/main/proto/profile.proto.
 */
#include "cia_malloc/profile/dump.h"

#include "base/clock.h"
#include "base/pages.h"
#include "base/process_maps.h"
#include "base/text/decimal.h"
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

    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
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

struct range {
    uint64_t start, end;
};

enum { MAPPINGS_MOST = 4096 };

/* What is needed while a file is written. */
struct scratch {
    struct range mapping[MAPPINGS_MOST]; /* number i has id i + 1 */
    uint32_t mappings;
    uint64_t places, used; /* a power of two; how many addresses are in known */
    uint64_t known[];      /* return addresses whose locations are written; 0: none */
};

static struct gzip stream;
static struct protobuf head, message, inner;
static struct process_maps maps;
static struct process_mapping mapping;

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

static void put_string(const char *text)
{
    put_bytes(PROFILE_STRING, text, strlen(text));
}

static void put_type(uint32_t field, uint64_t name, uint64_t unit)
{
    protobuf_begin(&message);
    protobuf_number(&message, TYPE_NAME, name);
    protobuf_number(&message, TYPE_UNIT, unit);
    put_bytes(field, message.bytes, message.length);
}

/* "name=value", as the string of that number. */
static void put_comment(uint64_t string, const char *name, uint64_t value)
{
    enum { NAME_MOST = 32 };
    char text[NAME_MOST + 1 + DECIMAL_DIGITS];
    char *end = text + sizeof text, *at = decimal_before(end, value);

    *--at = '=';
    at -= strlen(name);
    memcpy(at, name, strlen(name));
    put_bytes(PROFILE_STRING, at, (size_t)(end - at));
    put_number(PROFILE_COMMENT, string);
}

static void put_head(const struct dump_facts *facts)
{
    struct timespec now;

    clock_read(CLOCK_REALTIME, &now);
    for (int i = 0; i < STRINGS; i++)
        put_string(strings[i]);
    put_comment(STRINGS, "interval", facts->interval);
    put_comment(STRINGS + 1, "seed", facts->seed);
    put_comment(STRINGS + 2, "samples lost for want of memory", facts->lost);
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

enum { COMMENTS = 3, FIRST_FILE_STRING = STRINGS + COMMENTS };

/* ---- mappings and locations ---- */

static void put_mappings(struct scratch *scratch)
{
    if (!process_maps_open(&maps, "/proc/self/maps"))
        return; /* addresses alone, then */
    while (scratch->mappings < MAPPINGS_MOST && process_maps_next(&maps, &mapping)) {
        if (!mapping.executable || mapping.path[0] != '/')
            continue;
        put_string(mapping.path);
        protobuf_begin(&message);
        protobuf_number(&message, MAPPING_ID, scratch->mappings + 1);
        protobuf_number(&message, MAPPING_START, mapping.start);
        protobuf_number(&message, MAPPING_LIMIT, mapping.end);
        protobuf_number(&message, MAPPING_OFFSET, mapping.file_offset);
        protobuf_number(&message, MAPPING_FILE, FIRST_FILE_STRING + scratch->mappings);
        put_bytes(PROFILE_MAPPING, message.bytes, message.length);
        scratch->mapping[scratch->mappings++] = (struct range){mapping.start, mapping.end};
    }
    process_maps_close(&maps);
}

static uint32_t mapping_of(const struct scratch *scratch, uint64_t address)
{
    for (uint32_t i = 0; i < scratch->mappings; i++) {
        if (address >= scratch->mapping[i].start && address < scratch->mapping[i].end)
            return i + 1;
    }
    return 0;
}

/* A location's id is the return address, its address the last byte of the call. */
static void put_location(const struct scratch *scratch, uint64_t address)
{
    protobuf_begin(&message);
    protobuf_number(&message, LOCATION_ID, address);
    protobuf_number(&message, LOCATION_MAPPING, mapping_of(scratch, address - 1));
    protobuf_number(&message, LOCATION_ADDRESS, address - 1);
    put_bytes(PROFILE_LOCATION, message.bytes, message.length);
}

/* Each address once. */
static void put_locations(struct scratch *scratch, const struct stack *stack)
{
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint64_t address = stack->address[i];
        uint64_t at = address * 0x9e3779b97f4a7c15u >> 20;

        while (scratch->known[at &= scratch->places - 1] != 0 && scratch->known[at] != address)
            at++;
        if (scratch->known[at] == address)
            continue;
        scratch->known[at] = address;
        scratch->used++;
        put_location(scratch, address);
    }
}

/* Room for the addresses of all stacks, and as many more. NULL: no memory. */
static struct scratch *make_scratch(size_t *bytes)
{
    uint64_t addresses = STACK_MOST, places = 1024;
    struct scratch *scratch;

    for (const struct stack *s = stack_next(NULL); s != NULL; s = stack_next(s))
        addresses += s->depth;
    while (places < 2 * addresses)
        places *= 2;
    *bytes = sizeof *scratch + places * sizeof scratch->known[0];
    scratch = pages_map(*bytes, MAP_NORESERVE);
    if (scratch != NULL)
        scratch->places = places;
    return scratch;
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

bool dump_write(int fd, const struct dump_facts *facts)
{
    size_t bytes;
    struct scratch *scratch = make_scratch(&bytes);

    if (scratch == NULL)
        return false;
    gzip_open(&stream, fd);
    put_head(facts);
    put_mappings(scratch);
    /* Sites of stacks that came since the room was made may be left out. */
    for (const struct site *site = site_next(NULL);
         site != NULL && scratch->used + STACK_MOST < scratch->places; site = site_next(site)) {
        put_locations(scratch, site->stack);
        put_site(site);
    }
    pages_unmap(scratch, bytes);
    return gzip_close(&stream);
}
