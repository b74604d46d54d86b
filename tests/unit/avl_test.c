/*
 * SPDX-License-Identifier: MIT
 *
 * What the AVL tree promises: after any history it holds what a sorted array holds, in order and
 * in balance. avl_verify_test.c tests the verifier that this relies on.
 */
#include "avl_fixture.h"
#include "harness/random.h"
#include "run_suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- against a sorted array --- */

enum { REFERENCE_MOST = 1 << 16 };
static uint32_t reference[REFERENCE_MOST];
static size_t reference_count;
static struct item items[REFERENCE_MOST]; /* the item of a key is items[key] */

/* Where the key is in the array, or would be. */
static size_t reference_place(uint32_t key)
{
    size_t low = 0, high = reference_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (reference[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct avl_node *reference_node(size_t index)
{
    return index < reference_count ? &items[reference[index]].links : NULL;
}

/* The tree is sound, and walking it both ways meets the array's keys and no other. */
static void expect_same_content(void)
{
    size_t i = 0;

    expect_sound();
    CLAIM(avl_count(&tree) == reference_count);
    for (struct avl_node *node = avl_first(&tree); node != NULL; node = avl_next(node))
        CLAIM(node == reference_node(i++));
    CLAIM(i == reference_count);
    for (struct avl_node *node = avl_last(&tree); node != NULL; node = avl_previous(node))
        CLAIM(node == reference_node(--i));
    CLAIM(i == 0);
}

/* One find, then an insertion or a removal or neither, each result compared. */
static void step(uint64_t *random, uint32_t keys, unsigned insert_percent, unsigned remove_percent)
{
    uint32_t key = (uint32_t)random_below(random, keys);
    unsigned choice = (unsigned)random_below(random, 100);
    size_t index = reference_place(key);
    int there = index < reference_count && reference[index] == key;
    struct avl_place place;
    struct avl_node *node = find(key, &place);

    CLAIM(node == (there ? &items[key].links : NULL));
    if (there) {
        CLAIM(avl_previous(node) == (index > 0 ? reference_node(index - 1) : NULL));
        CLAIM(avl_next(node) == reference_node(index + 1));
    } else {
        CLAIM(avl_nearest(&place, AVL_BEFORE) == (index > 0 ? reference_node(index - 1) : NULL));
        CLAIM(avl_nearest(&place, AVL_AFTER) == reference_node(index));
    }
    if (choice < insert_percent && !there) {
        items[key].key = key;
        avl_insert(&tree, &items[key].links, &place);
        memmove(&reference[index + 1], &reference[index],
                (reference_count++ - index) * sizeof *reference);
        reference[index] = key;
    } else if (choice >= insert_percent && choice < insert_percent + remove_percent && there) {
        avl_remove(&tree, node);
        memset(node, 0x55, sizeof *node); /* whoever still comes here falls over it */
        memmove(&reference[index], &reference[index + 1],
                (--reference_count - index) * sizeof *reference);
    }
    CLAIM(avl_count(&tree) == reference_count);
}

static uint64_t seed;

/* The history of that many steps; growing and shrinking by turns, so that all sizes come up. */
static void history(uint32_t keys, unsigned steps, unsigned verify_each)
{
    uint64_t random = seed + keys;

    printf("avl_test: %u steps on %u keys, seed %llu\n", steps, keys, (unsigned long long)seed);
    avl_init(&tree, by_key);
    reference_count = 0;
    for (unsigned i = 0; i < steps; i++) {
        int grows = i / (keys * 4) % 2 == 0;

        step(&random, keys, grows ? 60 : 20, grows ? 20 : 60);
        if (i % verify_each == 0)
            expect_same_content();
    }
    expect_same_content();
    while (reference_count > 0) {
        uint32_t key = reference[--reference_count];

        avl_remove(&tree, find(key, NULL));
    }
    expect_same_content();
    CLAIM(tree.root == NULL);
}

/* In the sanitized builds everything is 5 to 20 times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 200000 };
#else
enum { STEPS = 2000000 };
#endif

START_TEST(a_long_history_on_few_keys_is_that_of_a_sorted_array)
{
    history(12, STEPS, 1);
}
END_TEST

START_TEST(a_long_history_on_some_keys_is_that_of_a_sorted_array)
{
    history(700, STEPS, 997);
}
END_TEST

START_TEST(a_long_history_on_many_keys_is_that_of_a_sorted_array)
{
    history(REFERENCE_MOST, STEPS, 99991);
}
END_TEST

/* --- every small case --- */

/* Steps to the next arrangement in the order of the alphabet; 0 after the last one. */
static int next_arrangement(unsigned *order, unsigned count)
{
    unsigned i = count - 1, j = count - 1;

    while (i > 0 && order[i - 1] > order[i])
        i--;
    if (i == 0)
        return 0;
    while (order[j] < order[i - 1])
        j--;
    unsigned swapped = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swapped;
    for (j = count - 1; i < j; i++, j--) {
        swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    return 1;
}

static void arrange(unsigned *order, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
}

START_TEST(every_order_of_insertion_and_removal_of_five_keys_is_sound)
{
    unsigned in[5], out[5];

    arrange(in, 5);
    do {
        arrange(out, 5);
        do {
            avl_init(&tree, by_key);
            for (unsigned i = 0; i < 5; i++) {
                insert(&items[in[i]], in[i]);
                expect_sound();
            }
            for (unsigned i = 0; i < 5; i++) {
                avl_remove(&tree, &items[out[i]].links);
                CLAIM(find(out[i], NULL) == NULL);
                expect_sound();
            }
        } while (next_arrangement(out, 5));
    } while (next_arrangement(in, 5));
}
END_TEST

START_TEST(any_key_can_go_first_from_any_tree_of_eight)
{
    unsigned in[8];

    arrange(in, 8);
    do {
        for (unsigned gone = 0; gone < 8; gone++) {
            avl_init(&tree, by_key);
            for (unsigned i = 0; i < 8; i++)
                insert(&items[in[i]], in[i]);
            avl_remove(&tree, &items[gone].links);
            expect_sound();
            CLAIM(avl_count(&tree) == 7);
        }
    } while (next_arrangement(in, 8));
}
END_TEST

/* --- height --- */

static int height_of(const struct avl_node *node)
{
    if (node == NULL)
        return 0;
    int before = height_of(node->child[AVL_BEFORE]), after = height_of(node->child[AVL_AFTER]);
    return 1 + (before > after ? before : after);
}

START_TEST(keys_in_order_give_a_tree_no_higher_than_theory_allows)
{
    enum { COUNT = 10000 };

    for (int falling = 0; falling < 2; falling++) {
        avl_init(&tree, by_key);
        for (uint32_t i = 0; i < COUNT; i++)
            insert(&items[i], falling ? COUNT - i : i);
        expect_sound();
        ck_assert_int_le(height_of(tree.root), (int)(1.4405 * log2(COUNT + 2)));
    }
}
END_TEST

/* --- the ends --- */

START_TEST(an_empty_tree_has_no_ends_and_nothing_near)
{
    struct avl_place place;

    avl_init(&tree, by_key);
    expect_sound();
    ck_assert_ptr_null(avl_first(&tree));
    ck_assert_ptr_null(avl_last(&tree));
    ck_assert_ptr_null(find(1, &place));
    ck_assert_ptr_null(avl_nearest(&place, AVL_BEFORE));
    ck_assert_ptr_null(avl_nearest(&place, AVL_AFTER));
    insert(&items[0], 7);
    ck_assert_ptr_eq(avl_first(&tree), &items[0].links);
    ck_assert_ptr_eq(avl_last(&tree), &items[0].links);
    ck_assert_ptr_null(avl_next(&items[0].links));
    ck_assert_ptr_null(avl_previous(&items[0].links));
}
END_TEST

START_TEST(linking_leaves_the_count_to_the_caller)
{
    struct avl_place place;

    avl_init(&tree, by_key);
    items[0].key = 1;
    ck_assert_ptr_null(find(1, &place));
    avl_link(&tree, &items[0].links, &place);
    ck_assert_uint_eq(avl_count(&tree), 0);
    avl_counted(&tree, 1);
    ck_assert_uint_eq(avl_count(&tree), 1);
    avl_unlink(&tree, &items[0].links);
    ck_assert_uint_eq(avl_count(&tree), 1);
    avl_counted(&tree, -1);
    ck_assert_uint_eq(avl_count(&tree), 0);
    expect_sound();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("avl");
    TCase *tests = tcase_create("tree");
    const char *chosen = getenv("MPLACE_TEST_SEED");

    /* Another history with MPLACE_TEST_SEED; the one that failed is printed. */
    seed = chosen != NULL ? strtoull(chosen, NULL, 10) : 1;
    tcase_set_timeout(tests, 150);
    tcase_add_test(tests, a_long_history_on_few_keys_is_that_of_a_sorted_array);
    tcase_add_test(tests, a_long_history_on_some_keys_is_that_of_a_sorted_array);
    tcase_add_test(tests, a_long_history_on_many_keys_is_that_of_a_sorted_array);
    tcase_add_test(tests, every_order_of_insertion_and_removal_of_five_keys_is_sound);
    tcase_add_test(tests, any_key_can_go_first_from_any_tree_of_eight);
    tcase_add_test(tests, keys_in_order_give_a_tree_no_higher_than_theory_allows);
    tcase_add_test(tests, an_empty_tree_has_no_ends_and_nothing_near);
    tcase_add_test(tests, linking_leaves_the_count_to_the_caller);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
