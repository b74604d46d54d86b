/*
 * SPDX-License-Identifier: MIT
 *
 * The cache model against sequences worked out by hand, and against a second model that is written
 * to be obvious: a time stamp a line for true LRU, a recursive walk for the tree.
 */
#include "cache_model/cache_model.h"

#include "base/random.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cache_model_geometry tiny = {.sets = 4, .ways = 2, .line = 64};

static void make(struct cache_model *model, const struct cache_model_geometry *geometry,
                 enum cache_model_replacement replacement)
{
    void *memory = malloc(cache_model_bytes(geometry));

    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xa5, cache_model_bytes(geometry)); /* init must not count on zeroes */
    cache_model_init(model, geometry, replacement, memory);
}

static void unmake(struct cache_model *model)
{
    free(model->sets);
}

/* The address of line number n of a set, some bytes into it. */
static uint64_t line_in(const struct cache_model_geometry *geometry, uint32_t set, uint64_t n)
{
    return ((n * geometry->sets + set) * geometry->line) + 5;
}

/* ---- geometry ---- */

static void expect_geometry(const char *text, uint32_t sets, uint32_t ways, uint32_t line)
{
    struct cache_model_geometry geometry = {0};

    ck_assert_msg(cache_model_parse(text, &geometry), "'%s' is refused", text);
    ck_assert_uint_eq(geometry.sets, sets);
    ck_assert_uint_eq(geometry.ways, ways);
    ck_assert_uint_eq(geometry.line, line);
}

START_TEST(a_geometry_is_sets_times_ways_times_line_or_the_name_of_a_processor)
{
    expect_geometry("64x8x64", 64, 8, 64);
    expect_geometry("64x12", 64, 12, 64);
    expect_geometry("1x1x16", 1, 1, 16);
    expect_geometry("1048576x64x4096", 1048576, 64, 4096);
    expect_geometry("haswell", 64, 8, 64);
    expect_geometry("icelake", 64, 12, 64);
}
END_TEST

START_TEST(anything_else_is_no_geometry_and_leaves_the_result_alone)
{
    static const char *const bad[] = {
        "",
        "64",
        "64x",
        "x8",
        "64x8x",
        "64x8x64x",
        "64x8x64 ",
        " 64x8",
        "64X8",
        "64x-8",
        "0x8",
        "64x0",
        "63x8",
        "64x65",
        "64x8x63",
        "64x8x8",
        "2097152x8",
        "64x8x8192",
        "haswel",
        "haswell2",
        "Haswell",
        "64x8x64y",
        "4294967360x8x64",
        "64x4294967304",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cache_model_geometry geometry = {.sets = 7, .ways = 7, .line = 7};

        ck_assert_msg(!cache_model_parse(bad[i], &geometry), "'%s' is taken", bad[i]);
        ck_assert_uint_eq(geometry.sets + geometry.ways + geometry.line, 21);
    }
}
END_TEST

/* ---- by hand ---- */

START_TEST(a_set_holds_as_many_lines_as_it_has_ways_and_then_loses_the_oldest)
{
    struct cache_model model;
    struct cache_model_access access;

    make(&model, &tiny, CACHE_MODEL_LRU);
    ck_assert(!cache_model_access(&model, line_in(&tiny, 1, 0), 0).hit);
    ck_assert(!cache_model_access(&model, line_in(&tiny, 1, 1), 0).evicted);
    ck_assert(cache_model_access(&model, line_in(&tiny, 1, 0), 0).hit);
    access = cache_model_access(&model, line_in(&tiny, 1, 2), 0);
    ck_assert(!access.hit);
    ck_assert(access.evicted);
    ck_assert_uint_eq(access.evicted_line, line_in(&tiny, 1, 1) - 5);
    unmake(&model);
}
END_TEST

START_TEST(lines_of_other_sets_evict_nothing)
{
    struct cache_model model;

    make(&model, &tiny, CACHE_MODEL_LRU);
    for (uint32_t set = 0; set < tiny.sets; set++) {
        for (uint64_t n = 0; n < tiny.ways; n++)
            ck_assert(!cache_model_access(&model, line_in(&tiny, set, n), 0).evicted);
    }
    for (uint32_t set = 0; set < tiny.sets; set++) {
        for (uint64_t n = 0; n < tiny.ways; n++)
            ck_assert(cache_model_access(&model, line_in(&tiny, set, n), 0).hit);
    }
    unmake(&model);
}
END_TEST

START_TEST(the_write_set_is_the_ways_of_one_set_and_the_next_line_evicts_a_written_one)
{
    static const char *const processors[] = {"haswell", "icelake"};

    for (unsigned p = 0; p < 2; p++) {
        struct cache_model_geometry geometry;
        struct cache_model model;
        struct cache_model_access access;

        ck_assert(cache_model_parse(processors[p], &geometry));
        for (unsigned r = CACHE_MODEL_LRU; r <= CACHE_MODEL_TREE_LRU; r++) {
            make(&model, &geometry, (enum cache_model_replacement)r);
            for (uint64_t n = 0; n < geometry.ways; n++) {
                access = cache_model_access(&model, line_in(&geometry, 17, n), CACHE_MODEL_WRITTEN);
                ck_assert(!access.evicted);
            }
            access = cache_model_access(&model, line_in(&geometry, 17, geometry.ways), 0);
            ck_assert(access.evicted);
            ck_assert_uint_eq(access.evicted_marks, CACHE_MODEL_WRITTEN);
            unmake(&model);
        }
    }
}
END_TEST

START_TEST(lines_from_before_the_transaction_leave_without_marks)
{
    struct cache_model model;
    struct cache_model_access access;

    make(&model, &tiny, CACHE_MODEL_LRU);
    cache_model_access(&model, line_in(&tiny, 0, 0), CACHE_MODEL_WRITTEN);
    cache_model_access(&model, line_in(&tiny, 0, 1), CACHE_MODEL_READ);
    cache_model_clear_marks(&model);
    access = cache_model_access(&model, line_in(&tiny, 0, 2), CACHE_MODEL_WRITTEN);
    ck_assert(access.evicted);
    ck_assert_uint_eq(access.evicted_marks, 0);
    access = cache_model_access(&model, line_in(&tiny, 0, 1), CACHE_MODEL_READ);
    ck_assert(access.hit);
    ck_assert_uint_eq(access.marks_before, 0);
    unmake(&model);
}
END_TEST

START_TEST(marks_add_up_and_a_plain_access_takes_none_away)
{
    struct cache_model model;
    uint64_t line = line_in(&tiny, 2, 3);

    make(&model, &tiny, CACHE_MODEL_LRU);
    ck_assert_uint_eq(cache_model_access(&model, line, CACHE_MODEL_READ).marks_before, 0);
    ck_assert_uint_eq(cache_model_access(&model, line, CACHE_MODEL_WRITTEN).marks_before,
                      CACHE_MODEL_READ);
    ck_assert_uint_eq(cache_model_access(&model, line, 0).marks_before, CACHE_MODEL_MARKS);
    ck_assert_uint_eq(cache_model_access(&model, line, 0).marks_before, CACHE_MODEL_MARKS);
    unmake(&model);
}
END_TEST

START_TEST(an_invalidated_line_makes_room_for_the_next)
{
    for (unsigned r = CACHE_MODEL_LRU; r <= CACHE_MODEL_TREE_LRU; r++) {
        struct cache_model model;

        make(&model, &tiny, (enum cache_model_replacement)r);
        cache_model_access(&model, line_in(&tiny, 3, 0), 0);
        cache_model_access(&model, line_in(&tiny, 3, 1), CACHE_MODEL_WRITTEN);
        cache_model_invalidate(&model, line_in(&tiny, 3, 1));
        cache_model_invalidate(&model, line_in(&tiny, 3, 9)); /* not there: nothing happens */
        ck_assert(!cache_model_access(&model, line_in(&tiny, 3, 2), 0).evicted);
        ck_assert(cache_model_access(&model, line_in(&tiny, 3, 0), 0).hit);
        unmake(&model);
    }
}
END_TEST

START_TEST(an_abort_drops_what_was_written_and_keeps_what_was_read)
{
    struct cache_model model;

    make(&model, &tiny, CACHE_MODEL_LRU);
    cache_model_access(&model, line_in(&tiny, 0, 0), CACHE_MODEL_READ);
    cache_model_access(&model, line_in(&tiny, 0, 1), CACHE_MODEL_WRITTEN);
    cache_model_drop_written(&model);
    ck_assert_uint_eq(cache_model_lines(&model, 0, NULL, NULL), 1);
    ck_assert(cache_model_access(&model, line_in(&tiny, 0, 0), 0).hit);
    ck_assert(!cache_model_access(&model, line_in(&tiny, 0, 1), 0).hit);
    unmake(&model);
}
END_TEST

/*
 * Four ways, A B C D in order; the tree then points at A. Using A sends it to the other half, where
 * C is older: C goes, although B has not been used for longest. True LRU would give B.
 */
START_TEST(tree_pseudo_lru_replaces_what_its_bits_point_at_not_the_oldest)
{
    static const struct cache_model_geometry four = {.sets = 1, .ways = 4, .line = 64};
    struct cache_model model;

    for (unsigned r = CACHE_MODEL_LRU; r <= CACHE_MODEL_TREE_LRU; r++) {
        make(&model, &four, (enum cache_model_replacement)r);
        for (uint64_t n = 0; n < 4; n++)
            cache_model_access(&model, line_in(&four, 0, n), 0);
        cache_model_access(&model, line_in(&four, 0, 0), 0);
        ck_assert_uint_eq(cache_model_access(&model, line_in(&four, 0, 4), 0).evicted_line,
                          line_in(&four, 0, r == CACHE_MODEL_LRU ? 1 : 2) - 5);
        unmake(&model);
    }
}
END_TEST

START_TEST(the_last_used_line_of_a_set_is_found_without_a_search)
{
    struct cache_model model;
    uint64_t line = line_in(&tiny, 1, 4) - 5;

    for (unsigned r = CACHE_MODEL_LRU; r <= CACHE_MODEL_TREE_LRU; r++) {
        make(&model, &tiny, (enum cache_model_replacement)r);
        ck_assert_int_eq(cache_model_touch_recent(&model, line, CACHE_MODEL_READ), -1);
        ck_assert_int_eq(cache_model_touch_recent(&model, 0, 0), -1); /* empty is not line 0 */
        cache_model_access(&model, line, CACHE_MODEL_READ);
        ck_assert_int_eq(cache_model_touch_recent(&model, line, CACHE_MODEL_WRITTEN),
                         CACHE_MODEL_READ);
        ck_assert_int_eq(cache_model_touch_recent(&model, line, CACHE_MODEL_WRITTEN),
                         CACHE_MODEL_MARKS);
        cache_model_access(&model, line_in(&tiny, 1, 5), 0);
        ck_assert_int_eq(cache_model_touch_recent(&model, line, CACHE_MODEL_READ), -1);
        cache_model_access(&model, line, 0);
        cache_model_clear_marks(&model);
        ck_assert_int_eq(cache_model_touch_recent(&model, line, CACHE_MODEL_READ), -1);
        unmake(&model);
    }
}
END_TEST

/* ---- against the obvious model ---- */

enum { REFERENCE_SETS = 8, REFERENCE_WAYS = 16 };

struct reference_line {
    bool valid;
    uint64_t line;
    unsigned marks;
    uint64_t used; /* when, counted in accesses */
};

struct reference {
    struct cache_model_geometry geometry;
    enum cache_model_replacement replacement;
    struct reference_line lines[REFERENCE_SETS][REFERENCE_WAYS];
    bool upper[REFERENCE_SETS][REFERENCE_WAYS]
              [REFERENCE_WAYS + 1]; /* of [first, end): which half */
    uint64_t now;
};

/* Where the tree over the ways [first, end) points; halves are cut as if ways were 2^n. */
static unsigned reference_victim(struct reference *reference, unsigned set, unsigned first,
                                 unsigned end)
{
    unsigned middle = (first + end) / 2;

    if (end - first == 1)
        return first;
    if (reference->upper[set][first][end] && middle < reference->geometry.ways)
        return reference_victim(reference, set, middle, end);
    return reference_victim(reference, set, first, middle);
}

static void reference_used(struct reference *reference, unsigned set, unsigned way)
{
    unsigned first = 0, end = REFERENCE_WAYS;

    while (end / 2 >= reference->geometry.ways)
        end /= 2;
    while (end - first > 1) {
        unsigned middle = (first + end) / 2;

        reference->upper[set][first][end] = way < middle;
        if (way < middle)
            end = middle;
        else
            first = middle;
    }
    reference->lines[set][way].used = ++reference->now;
}

static unsigned reference_place(struct reference *reference, unsigned set)
{
    unsigned oldest = 0, end = REFERENCE_WAYS;

    for (unsigned way = 0; way < reference->geometry.ways; way++) {
        if (!reference->lines[set][way].valid)
            return way;
        if (reference->lines[set][way].used < reference->lines[set][oldest].used)
            oldest = way;
    }
    while (end / 2 >= reference->geometry.ways)
        end /= 2;
    return reference->replacement == CACHE_MODEL_LRU ? oldest
                                                     : reference_victim(reference, set, 0, end);
}

static struct cache_model_access reference_access(struct reference *reference, uint64_t address,
                                                  unsigned marks)
{
    uint64_t line = address / reference->geometry.line * reference->geometry.line;
    unsigned set = (unsigned)(address / reference->geometry.line % reference->geometry.sets);
    struct cache_model_access result = {0};

    for (unsigned way = 0; way < reference->geometry.ways; way++) {
        struct reference_line *at = &reference->lines[set][way];

        if (at->valid && at->line == line) {
            result.hit = true;
            result.marks_before = at->marks;
            at->marks |= marks;
            reference_used(reference, set, way);
            return result;
        }
    }
    unsigned way = reference_place(reference, set);
    struct reference_line *at = &reference->lines[set][way];

    if (at->valid) {
        result.evicted = true;
        result.evicted_line = at->line;
        result.evicted_marks = at->marks;
    }
    *at = (struct reference_line){.valid = true, .line = line, .marks = marks};
    reference_used(reference, set, way);
    return result;
}

/* Calls `change` on every valid line. */
static void reference_each(struct reference *reference,
                           void (*change)(struct reference_line *, uint64_t), uint64_t argument)
{
    for (unsigned set = 0; set < reference->geometry.sets; set++) {
        for (unsigned way = 0; way < reference->geometry.ways; way++) {
            if (reference->lines[set][way].valid)
                change(&reference->lines[set][way], argument);
        }
    }
}

static void clear_one(struct reference_line *line, uint64_t unused)
{
    (void)unused;
    line->marks = 0;
}

static void drop_one(struct reference_line *line, uint64_t unused)
{
    (void)unused;
    line->valid = (line->marks & CACHE_MODEL_WRITTEN) == 0;
    line->marks = 0;
}

static void invalidate_one(struct reference_line *line, uint64_t wanted)
{
    if (line->line == wanted)
        line->valid = false;
}

static void expect_same_lines(const struct cache_model *model, const struct reference *reference,
                              unsigned set)
{
    uint64_t lines[REFERENCE_WAYS];
    unsigned marks[REFERENCE_WAYS];
    unsigned count = cache_model_lines(model, set, lines, marks), expected = 0;

    for (unsigned way = 0; way < reference->geometry.ways; way++) {
        const struct reference_line *at = &reference->lines[set][way];
        unsigned i = 0;

        if (!at->valid)
            continue;
        expected++;
        while (i < count && lines[i] != at->line)
            i++;
        if (i == count || marks[i] != at->marks)
            ck_abort_msg("set %u: line %llx with marks %u differs", set,
                         (unsigned long long)at->line, at->marks);
    }
    ck_assert_uint_eq(count, expected);
}

static bool reference_holds(const struct reference *reference, uint64_t line)
{
    for (unsigned set = 0; set < reference->geometry.sets; set++) {
        for (unsigned way = 0; way < reference->geometry.ways; way++) {
            if (reference->lines[set][way].valid && reference->lines[set][way].line == line)
                return true;
        }
    }
    return false;
}

/* One random operation on both; what they return must be the same. */
static void step(struct cache_model *model, struct reference *reference, uint64_t *random)
{
    /* Twice as many lines as fit, so that hits and evictions are both common. */
    uint32_t lines = 2 * reference->geometry.sets * reference->geometry.ways;
    uint64_t address = (uint64_t)random_below(random, lines) * reference->geometry.line;
    uint32_t what = random_below(random, 1000);
    unsigned marks = random_below(random, 4);

    if (random_below(random, 2))
        address |= 0x00007fff00000000; /* high addresses, too */
    if (cache_model_holds(model, address + 3) != reference_holds(reference, address))
        ck_abort_msg("line %llx: held by one of the two only", (unsigned long long)address);
    if (what < 5) {
        cache_model_clear_marks(model);
        reference_each(reference, clear_one, 0);
    } else if (what < 10) {
        cache_model_drop_written(model);
        reference_each(reference, drop_one, 0);
    } else if (what < 60) {
        cache_model_invalidate(model, address);
        reference_each(reference, invalidate_one, address);
    } else {
        int fast = what < 500 ? cache_model_touch_recent(model, address, marks) : -1;
        struct cache_model_access theirs = reference_access(reference, address, marks);

        if (fast >= 0) {
            ck_assert(theirs.hit && theirs.marks_before == (unsigned)fast);
        } else {
            struct cache_model_access ours =
                cache_model_access(model, address + random_below(random, 16), marks);

            if (ours.hit != theirs.hit || ours.marks_before != theirs.marks_before ||
                ours.evicted != theirs.evicted || ours.evicted_line != theirs.evicted_line ||
                ours.evicted_marks != theirs.evicted_marks)
                ck_abort_msg("line %llx: ours hit %d %u evicted %d %llx %u, "
                             "expected hit %d %u evicted %d %llx %u",
                             (unsigned long long)address, ours.hit, ours.marks_before, ours.evicted,
                             (unsigned long long)ours.evicted_line, ours.evicted_marks, theirs.hit,
                             theirs.marks_before, theirs.evicted,
                             (unsigned long long)theirs.evicted_line, theirs.evicted_marks);
        }
    }
}

START_TEST(millions_of_random_operations_agree_with_the_obvious_model)
{
    static const struct cache_model_geometry geometries[] = {
        {8, 8, 64}, {8, 12, 64}, {4, 1, 64}, {1, 16, 16}, {2, 3, 128}, {1, 2, 64},
    };
    struct cache_model_geometry geometry = geometries[_i / 2];
    enum cache_model_replacement replacement = _i % 2 ? CACHE_MODEL_TREE_LRU : CACHE_MODEL_LRU;
    static struct reference reference;
    struct cache_model model;
    uint64_t random = 20140613 + (uint64_t)_i;

    printf("seed %llu, %ux%ux%u, %s\n", (unsigned long long)random, geometry.sets, geometry.ways,
           geometry.line, replacement == CACHE_MODEL_LRU ? "LRU" : "tree pseudo-LRU");
    memset(&reference, 0, sizeof(reference));
    reference.geometry = geometry;
    reference.replacement = replacement;
    make(&model, &geometry, replacement);
    for (unsigned i = 0; i < 300000; i++) {
        step(&model, &reference, &random);
        if (i % 64 == 0)
            expect_same_lines(&model, &reference, i / 64 % geometry.sets);
    }
    unmake(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_model");
    TCase *by_hand = tcase_create("by hand"), *random = tcase_create("random");

    tcase_add_test(by_hand, a_geometry_is_sets_times_ways_times_line_or_the_name_of_a_processor);
    tcase_add_test(by_hand, anything_else_is_no_geometry_and_leaves_the_result_alone);
    tcase_add_test(by_hand, a_set_holds_as_many_lines_as_it_has_ways_and_then_loses_the_oldest);
    tcase_add_test(by_hand, lines_of_other_sets_evict_nothing);
    tcase_add_test(by_hand,
                   the_write_set_is_the_ways_of_one_set_and_the_next_line_evicts_a_written_one);
    tcase_add_test(by_hand, lines_from_before_the_transaction_leave_without_marks);
    tcase_add_test(by_hand, marks_add_up_and_a_plain_access_takes_none_away);
    tcase_add_test(by_hand, an_invalidated_line_makes_room_for_the_next);
    tcase_add_test(by_hand, an_abort_drops_what_was_written_and_keeps_what_was_read);
    tcase_add_test(by_hand, tree_pseudo_lru_replaces_what_its_bits_point_at_not_the_oldest);
    tcase_add_test(by_hand, the_last_used_line_of_a_set_is_found_without_a_search);
    suite_add_tcase(suite, by_hand);
    tcase_set_timeout(random, 30);
    tcase_add_loop_test(random, millions_of_random_operations_agree_with_the_obvious_model, 0, 12);
    suite_add_tcase(suite, random);
    return run_suite(suite);
}
