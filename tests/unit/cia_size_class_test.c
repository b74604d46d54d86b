/*
 * SPDX-License-Identifier: MIT
 *
 * What the table of size classes promises, and the arithmetic from a line to its block and back.
 */
#include "cia_malloc/heap/size_classes/size_class.h"

#include "run_suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_prime(unsigned n)
{
    for (unsigned d = 2; d * d <= n; d++) {
        if (n % d == 0)
            return false;
    }
    return n > 1;
}

/* The colour of a slot, see struct class_layout. */
static uint32_t colour_of_slot(unsigned size_class, uint32_t slot)
{
    const struct class_layout *layout = &class_layouts[size_class];

    if (layout->even_shift != 0) /* slots of type 0 are the multiples of n in order, and so on */
        return (slot % layout->span_blocks) * layout->units + slot / layout->span_blocks;
    if (size_class_is_compact(size_class))
        return slot * layout->units % GRANULES_PER_PAGE / (LINE_BYTES / GRANULE_BYTES);
    return (slot * layout->units) & (colours - 1);
}

START_TEST(a_class_is_one_line_a_prime_or_one_of_the_four_named_numbers)
{
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        unsigned lines = (size_class_bytes(i) / LINE_BYTES);

        ck_assert_msg(lines == 1 || lines == 4 || lines == 9 || lines == 15 || lines == 33 ||
                          is_prime(lines),
                      "%u lines", lines);
        if (i > 0)
            ck_assert_uint_gt(lines, (size_class_bytes(i - 1) / LINE_BYTES));
    }
}
END_TEST

START_TEST(every_prime_up_to_31_lines_is_a_class)
{
    for (unsigned n = 2; n <= 31; n++) {
        if (is_prime(n))
            ck_assert_uint_eq((size_class_bytes(size_class_by_lines[n]) / LINE_BYTES), n);
    }
}
END_TEST

START_TEST(a_request_gets_the_smallest_class_that_holds_it)
{
    for (size_t bytes = 0; bytes <= SIZE_CLASS_LARGEST; bytes++) {
        unsigned size_class = size_class_of(bytes);

        bool fits = size_class < EXCLUSIVE_CLASSES && size_class_bytes(size_class) >= bytes;
        bool smallest = size_class == 0 || size_class_bytes(size_class - 1) < bytes;

        if (!fits || !smallest) /* ck_assert would tell its parent process 65,985 times */
            ck_abort_msg("%zu bytes get class %u", bytes, size_class);
    }
}
END_TEST

START_TEST(rounding_wastes_at_most_an_eighth_of_the_block_beyond_2_KiB)
{
    for (size_t bytes = 2049; bytes <= SIZE_CLASS_LARGEST; bytes++) {
        size_t block = size_class_bytes(size_class_of(bytes));

        if ((block - bytes) * 8 > block)
            ck_abort_msg("%zu bytes in a block of %zu", bytes, block);
    }
}
END_TEST

/* Loop index: the number of L1 sets is 64 << i. */
START_TEST(locating_a_unit_is_the_inverse_of_placing_a_block)
{
    size_class_initialise(64u << _i);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        const struct class_layout *layout = &class_layouts[i];

        for (uint32_t span = 0; span < layout->run_spans; span++) {
            for (uint32_t block = 0; block < layout->span_blocks; block++) {
                uint32_t first = span * layout->span_units + block * layout->units;

                for (uint32_t line = first; line < first + layout->units; line++) {
                    struct block_position at = class_layout_locate(layout, line);

                    ck_assert_uint_eq(at.span, span);
                    ck_assert_uint_eq(at.block, block);
                }
            }
        }
    }
}
END_TEST

/* A block's line modulo the colours must be what its slot says, for every type a run begins with.
 */
START_TEST(a_slot_has_one_colour)
{
    size_class_initialise(64u << _i);
    ck_assert_uint_eq(colours, 64u << _i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        const struct class_layout *layout = &class_layouts[i];

        for (uint32_t run_type = 0; run_type < layout->types; run_type++) {
            uint32_t offset = class_layout_run_offset(layout, run_type);

            for (uint32_t span = 0; span < layout->run_spans; span++) {
                uint32_t type = (run_type + span) & (layout->types - 1u);
                uint32_t phase = span_phase(layout, run_type, span);

                for (uint32_t block = 0; block < layout->span_blocks; block++) {
                    uint32_t line = offset + span * layout->span_units + block * layout->units;
                    uint32_t bit = span_bit_of_block(layout, phase, block);
                    uint32_t slot = type << layout->span_shift | bit;

                    ck_assert_uint_eq(line % colours, colour_of_slot(i, slot));
                }
            }
        }
    }
}
END_TEST

START_TEST(a_run_fits_its_pages)
{
    size_class_initialise(64u << _i);
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        const struct class_layout *layout = &class_layouts[i];

        for (uint32_t type = 0; type < layout->types; type++) {
            uint32_t page_units = class_layout_page_units(layout);
            uint32_t offset = class_layout_run_offset(layout, type) % page_units;
            uint32_t pages = class_layout_run_pages(layout, type);
            uint32_t last_span = (layout->run_spans - 1u) * layout->span_units;
            uint32_t end = offset + last_span + (uint32_t)layout->span_blocks * layout->units;

            ck_assert_uint_le(end, pages * page_units);
            ck_assert_uint_le(layout->run_spans, 4 * pages);
            ck_assert_uint_le(pages, 129 + 1);
        }
    }
}
END_TEST

/* Loop index: as above. Whatever type a run begins with, a slot is at one place of a page. */
START_TEST(a_slot_of_a_compact_class_has_one_place_in_a_page)
{
    size_class_initialise(64u << _i);
    for (unsigned i = EXCLUSIVE_CLASSES; i < SIZE_CLASS_COUNT; i++) {
        const struct class_layout *layout = &class_layouts[i];

        for (uint32_t type = 0; type < layout->types; type++) {
            for (uint32_t span = 0; span < layout->run_spans; span++) {
                uint32_t of_span = (type + span) & (layout->types - 1u);

                for (uint32_t block = 0; block < 64; block++) {
                    uint32_t unit =
                        class_layout_run_offset(layout, type) + (span * 64 + block) * layout->units;

                    ck_assert_uint_eq(unit % 256, (of_span * 64 + block) * layout->units % 256);
                    ck_assert_uint_eq(unit % 256 / 4, colour_of_slot(i, of_span * 64 + block));
                }
            }
        }
    }
}
END_TEST

START_TEST(no_compact_class_is_one_that_comes_back_soon_or_an_exclusive_one)
{
    for (unsigned i = EXCLUSIVE_CLASSES; i < SIZE_CLASS_COUNT; i++) {
        ck_assert_uint_ne(size_class_granules[i] % 4, 0);
        ck_assert(i == EXCLUSIVE_CLASSES || size_class_granules[i] > size_class_granules[i - 1]);
    }
}
END_TEST

START_TEST(the_packed_class_is_the_shortest_of_all_that_holds_the_request)
{
    for (size_t bytes = 0; bytes <= SIZE_CLASS_LARGEST; bytes++) {
        unsigned best = size_class_packed(bytes);

        if (size_class_bytes(best) < bytes)
            ck_abort_msg("%zu bytes get class %u", bytes, best);
        for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++)
            if (size_class_bytes(i) >= bytes && size_class_bytes(i) < size_class_bytes(best))
                ck_abort_msg("%zu bytes get class %u, not %u", bytes, best, i);
    }
}
END_TEST

START_TEST(classes_begin_in_different_colours)
{
    bool taken[COLOURS_GREATEST] = {false};

    size_class_initialise(64u << _i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        uint32_t colour = colour_of_slot(i, class_layouts[i].first_slot);

        ck_assert_uint_lt(colour, colours);
        ck_assert_msg(!taken[colour], "class %u begins where another does", i);
        taken[colour] = true;
    }
}
END_TEST

START_TEST(fewer_or_more_sets_than_supported_are_clamped)
{
    size_class_initialise(32);
    ck_assert_uint_eq(colours, 64);
    size_class_initialise(1024);
    ck_assert_uint_eq(colours, 128);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia size classes");
    TCase *tests = tcase_create("size_class");

    tcase_add_test(tests, a_class_is_one_line_a_prime_or_one_of_the_four_named_numbers);
    tcase_add_test(tests, every_prime_up_to_31_lines_is_a_class);
    tcase_add_test(tests, a_request_gets_the_smallest_class_that_holds_it);
    tcase_add_test(tests, rounding_wastes_at_most_an_eighth_of_the_block_beyond_2_KiB);
    tcase_add_loop_test(tests, locating_a_unit_is_the_inverse_of_placing_a_block, 0, 2);
    tcase_add_loop_test(tests, a_slot_has_one_colour, 0, 2);
    tcase_add_loop_test(tests, a_run_fits_its_pages, 0, 2);
    tcase_add_loop_test(tests, a_slot_of_a_compact_class_has_one_place_in_a_page, 0, 2);
    tcase_add_test(tests, no_compact_class_is_one_that_comes_back_soon_or_an_exclusive_one);
    tcase_add_test(tests, the_packed_class_is_the_shortest_of_all_that_holds_the_request);
    tcase_add_loop_test(tests, classes_begin_in_different_colours, 0, 2);
    tcase_add_test(tests, fewer_or_more_sets_than_supported_are_clamped);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
