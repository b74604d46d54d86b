/*
 * SPDX-License-Identifier: MIT
 *
 * The cache model; see cache_model.h. Calls no library function.
 */
#include "cache_model/cache_model.h"

#define MARKS ((uint64_t)CACHE_MODEL_MARKS)

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static bool is_same(const char *text, const char *name)
{
    while (*text != '\0' && *text == *name) {
        text++;
        name++;
    }
    return *text == *name;
}

/* Reads one number of at most 7 digits; returns the first character behind it, or NULL. */
static const char *parse_number(const char *text, uint32_t *value)
{
    const char *at = text;

    *value = 0;
    for (; *at >= '0' && *at <= '9' && at - text < 7; at++)
        *value = *value * 10 + (uint32_t)(*at - '0');
    return at == text ? NULL : at;
}

static bool is_valid(const struct cache_model_geometry *geometry)
{
    return is_power_of_two(geometry->sets) && geometry->sets <= CACHE_MODEL_SETS_MOST &&
           geometry->ways >= 1 && geometry->ways <= CACHE_MODEL_WAYS_MOST &&
           is_power_of_two(geometry->line) && geometry->line >= CACHE_MODEL_LINE_LEAST &&
           geometry->line <= CACHE_MODEL_LINE_MOST;
}

bool cache_model_parse(const char *text, struct cache_model_geometry *geometry)
{
    struct cache_model_geometry parsed = {.sets = 64, .ways = 8, .line = 64};

    if (is_same(text, "haswell")) {
        *geometry = parsed;
        return true;
    }
    if (is_same(text, "icelake")) {
        parsed.ways = 12;
        *geometry = parsed;
        return true;
    }
    text = parse_number(text, &parsed.sets);
    if (text == NULL || *text != 'x')
        return false;
    text = parse_number(text + 1, &parsed.ways);
    if (text != NULL && *text == 'x')
        text = parse_number(text + 1, &parsed.line);
    if (text == NULL || *text != '\0' || !is_valid(&parsed))
        return false;
    *geometry = parsed;
    return true;
}

static size_t bytes_of_set(const struct cache_model_geometry *geometry)
{
    return sizeof(struct cache_model_set) + geometry->ways * sizeof(uint64_t);
}

size_t cache_model_bytes(const struct cache_model_geometry *geometry)
{
    return geometry->sets * bytes_of_set(geometry);
}

void cache_model_init(struct cache_model *model, const struct cache_model_geometry *geometry,
                      enum cache_model_replacement replacement, void *memory)
{
    *model = (struct cache_model){
        .geometry = *geometry,
        .replacement = replacement,
        .leaves = 1,
        .transaction = 1,
        .set_bytes = bytes_of_set(geometry),
        .sets = memory,
    };
    while (1u << model->line_shift < geometry->line)
        model->line_shift++;
    while (model->leaves < geometry->ways)
        model->leaves *= 2;
    for (uint32_t i = 0; i < geometry->sets; i++) {
        struct cache_model_set *set = cache_model_set_at(model, i);

        set->transaction = 0;
        set->tree = 0;
        set->recent = 0;
        set->unused = 0;
        for (uint32_t way = 0; way < geometry->ways; way++)
            set->entry[way] = 0;
    }
}

/* The first access to a set in a new transaction finds the marks of the last one: they go now. */
static void refresh(const struct cache_model *model, struct cache_model_set *set)
{
    uint32_t ways = model->geometry.ways;

    if (set->transaction == model->transaction)
        return;
    set->transaction = model->transaction;
    for (uint32_t way = 0; way < ways; way++)
        set->entry[way] &= ~MARKS;
}

/* The way with this entry, whatever its marks, or the number of ways. 0 finds an empty one. */
static uint32_t find(const struct cache_model *model, const struct cache_model_set *set,
                     uint64_t entry)
{
    uint32_t way = 0;

    while (way < model->geometry.ways && (set->entry[way] & ~MARKS) != entry)
        way++;
    return way;
}

/*
 * Turns every node on the way from the root to this leaf away from it. Node n has the children 2n
 * (lower half of its ways) and 2n + 1; the leaves are numbered from `leaves`.
 */
static void tree_used(const struct cache_model *model, struct cache_model_set *set, uint32_t way)
{
    for (uint32_t node = model->leaves + way; node > 1; node /= 2) {
        uint64_t parent = (uint64_t)1 << (node / 2);

        if (node & 1)
            set->tree &= ~parent;
        else
            set->tree |= parent;
    }
}

/*
 * Follows the nodes from the root to the way to be replaced. Where the ways are no power of two, a
 * node whose upper half has no way at all always leads down its lower one.
 */
static uint32_t tree_victim(const struct cache_model *model, const struct cache_model_set *set)
{
    uint32_t node = 1, first = 0;

    for (uint32_t half = model->leaves / 2; half > 0; half /= 2) {
        bool upper = (set->tree >> node & 1) != 0 && first + half < model->geometry.ways;

        node = 2 * node + upper;
        first += upper ? half : 0;
    }
    return first;
}

/*
 * Puts the line first and moves those in front of its old place back by one, in one pass. Returns
 * what was in the old place: the line itself, what is evicted, or 0 where a place was empty.
 */
static uint64_t use_lru(const struct cache_model *model, struct cache_model_set *set, uint64_t line,
                        unsigned marks)
{
    uint64_t entry = set->entry[0];
    uint32_t ways = model->geometry.ways;

    for (uint32_t way = 1; way < ways && (entry & ~MARKS) != line; way++) {
        uint64_t next = set->entry[way];

        set->entry[way] = entry;
        entry = next;
    }
    set->entry[0] = ((entry & ~MARKS) == line ? entry : line) | marks;
    return entry;
}

/* The same for the tree, where lines stay in their places. */
static uint64_t use_tree(const struct cache_model *model, struct cache_model_set *set,
                         uint64_t line, unsigned marks)
{
    uint32_t way = find(model, set, line);
    uint64_t entry;

    if (way == model->geometry.ways) /* a miss: an empty place if there is one */
        way = find(model, set, 0);
    if (way == model->geometry.ways)
        way = tree_victim(model, set);
    entry = set->entry[way];
    set->entry[way] = ((entry & ~MARKS) == line ? entry : line) | marks;
    set->recent = way;
    tree_used(model, set, way);
    return entry;
}

struct cache_model_access cache_model_access(struct cache_model *model, uint64_t address,
                                             unsigned marks)
{
    uint64_t line = cache_model_line_of(model, address) | CACHE_MODEL_VALID;
    struct cache_model_set *set = cache_model_set_at(model, cache_model_set_of(model, address));
    struct cache_model_access result = {.hit = false};
    uint64_t old;

    refresh(model, set);
    old = model->replacement == CACHE_MODEL_LRU ? use_lru(model, set, line, marks)
                                                : use_tree(model, set, line, marks);
    if ((old & ~MARKS) == line) {
        result.hit = true;
        result.marks_before = (unsigned)(old & MARKS);
    } else if (old != 0) {
        result.evicted = true;
        result.evicted_marks = (unsigned)(old & MARKS);
        result.evicted_line = cache_model_line_of(model, old);
    }
    return result;
}

bool cache_model_holds(const struct cache_model *model, uint64_t address)
{
    const struct cache_model_set *set =
        cache_model_set_at(model, cache_model_set_of(model, address));

    return find(model, set, cache_model_line_of(model, address) | CACHE_MODEL_VALID) <
           model->geometry.ways;
}

static void empty(const struct cache_model *model, struct cache_model_set *set, uint32_t way)
{
    if (model->replacement == CACHE_MODEL_LRU) { /* empty entries are last */
        for (; way + 1 < model->geometry.ways; way++)
            set->entry[way] = set->entry[way + 1];
    }
    set->entry[way] = 0;
}

void cache_model_invalidate(struct cache_model *model, uint64_t address)
{
    struct cache_model_set *set = cache_model_set_at(model, cache_model_set_of(model, address));
    uint32_t way = find(model, set, cache_model_line_of(model, address) | CACHE_MODEL_VALID);

    if (way < model->geometry.ways)
        empty(model, set, way);
}

void cache_model_drop_written(struct cache_model *model)
{
    for (uint32_t i = 0; i < model->geometry.sets; i++) {
        struct cache_model_set *set = cache_model_set_at(model, i);

        if (set->transaction != model->transaction)
            continue; /* its marks are an earlier transaction's */
        for (uint32_t way = model->geometry.ways; way-- > 0;) {
            if (set->entry[way] & CACHE_MODEL_WRITTEN)
                empty(model, set, way);
        }
    }
    cache_model_clear_marks(model);
}

uint32_t cache_model_lines(const struct cache_model *model, uint32_t set_number, uint64_t *lines,
                           unsigned *marks)
{
    const struct cache_model_set *set = cache_model_set_at(model, set_number);
    uint64_t current = set->transaction == model->transaction ? MARKS : 0;
    uint32_t count = 0;

    for (uint32_t way = 0; way < model->geometry.ways; way++) {
        if (set->entry[way] == 0)
            continue;
        if (lines != NULL)
            lines[count] = cache_model_line_of(model, set->entry[way]);
        if (marks != NULL)
            marks[count] = (unsigned)(set->entry[way] & current);
        count++;
    }
    return count;
}
