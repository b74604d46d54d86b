/*
 * SPDX-License-Identifier: MIT
 *
 * What the AVL tree promises: after any history it holds what a sorted array holds, in order and
 * in balance; and what its verifier promises: it finds each kind of planted fault.
 */
#include "avltree/avl.h"
#include "avltree/avl_verify.h"
#include "harness/random.h"

#include "run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    struct avl_node links;
    uint32_t key;
};

static uint32_t key_of(const struct avl_node *node)
{
    return ((const struct item *)node)->key; /* links come first */
}

static int by_key(const struct avl_node *left, const struct avl_node *right)
{
    uint32_t a = key_of(left), b = key_of(right);

    return (a > b) - (a < b);
}

static struct avl_tree tree;

/* Check writes to a file at each of its assertions: too slow for what is asserted millions of
 * times. */
#define CLAIM(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s", #condition);                                                        \
    } while (0)

static struct avl_node *find(uint32_t key, struct avl_place *place)
{
    struct item probe = {.key = key};

    return avl_find(&tree, &probe.links, place);
}

static void insert(struct item *item, uint32_t key)
{
    struct avl_place place;

    item->key = key;
    CLAIM(find(key, &place) == NULL);
    avl_insert(&tree, &item->links, &place);
}

static void expect_sound(void)
{
    const struct avl_node *at;
    enum avl_defect defect = avl_verify(&tree, NULL, NULL, &at);

    if (defect != AVL_SOUND)
        ck_abort_msg("%s, at key %u", avl_defect_text(defect), at != NULL ? key_of(at) : 0);
}

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
    if (!there) {
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

/* --- the verifier --- */

enum { PLANTED = 100 };

/* A sound tree of the keys 100, 110, 120, ... */
static void plant(void)
{
    avl_init(&tree, by_key);
    for (uint32_t i = 0; i < PLANTED; i++)
        insert(&items[i], 100 + 10 * i);
    expect_sound();
}

static void expect_defect(enum avl_defect expected, const struct avl_node *expected_at)
{
    const struct avl_node *at;
    enum avl_defect defect = avl_verify(&tree, NULL, NULL, &at);

    ck_assert_msg(defect == expected, "expected '%s', found '%s'", avl_defect_text(expected),
                  avl_defect_text(defect));
    if (expected_at != NULL)
        ck_assert_ptr_eq(at, expected_at);
}

/* In place of each stored balance, each other one. */
START_TEST(a_wrong_balance_is_found_wherever_it_is)
{
    plant();
    for (unsigned i = 0; i < PLANTED; i++) {
        uintptr_t right = items[i].links.parent_and_balance;

        for (uintptr_t bits = 0; bits <= AVL_BALANCE_BITS; bits++) {
            items[i].links.parent_and_balance = (right & ~(uintptr_t)AVL_BALANCE_BITS) | bits;
            if (items[i].links.parent_and_balance == right)
                expect_sound();
            else
                expect_defect(AVL_WRONG_BALANCE, &items[i].links);
        }
        items[i].links.parent_and_balance = right;
    }
}
END_TEST

START_TEST(a_subtree_that_is_two_levels_higher_is_found_though_its_balance_says_so)
{
    struct avl_place place;

    avl_init(&tree, by_key);
    insert(&items[0], 0);
    insert(&items[1], 10);
    /* By hand below 10, without the rotation that would follow; the balance of 0 cannot say 2. */
    items[2].key = 20;
    ck_assert_ptr_null(find(20, &place));
    items[2].links = (struct avl_node){.parent_and_balance = (uintptr_t)&items[1] | 1};
    items[1].links.child[AVL_AFTER] = &items[2].links;
    items[1].links.parent_and_balance = (uintptr_t)&items[0] | 2;
    items[0].links.parent_and_balance = 3;
    tree.count = 3;
    expect_defect(AVL_WRONG_BALANCE, &items[0].links);
}
END_TEST

START_TEST(a_wrong_parent_link_is_found_wherever_it_is)
{
    plant();
    for (unsigned i = 0; i < PLANTED; i++) {
        uintptr_t right = items[i].links.parent_and_balance;

        items[i].links.parent_and_balance =
            (uintptr_t)&items[PLANTED].links | (right & AVL_BALANCE_BITS);
        expect_defect(AVL_WRONG_PARENT, &items[i].links);
        items[i].links.parent_and_balance = right;
    }
}
END_TEST

START_TEST(a_branch_that_leads_back_up_is_found_and_not_followed)
{
    plant();
    struct avl_node *leaf = avl_first(&tree);
    leaf->child[AVL_BEFORE] = tree.root;
    expect_defect(AVL_WRONG_PARENT, tree.root);
    leaf->child[AVL_BEFORE] = avl_parent(leaf);
    expect_defect(AVL_WRONG_PARENT, avl_parent(leaf));
}
END_TEST

START_TEST(a_wrong_order_is_found_wherever_it_is)
{
    plant();
    for (unsigned i = 0; i < PLANTED; i++) {
        uint32_t right = items[i].key;

        /* Equal to the next one, beyond it, and before the previous one. */
        if (i + 1 < PLANTED) {
            items[i].key = right + 10;
            expect_defect(AVL_WRONG_ORDER, &items[i + 1].links);
            items[i].key = right + 15;
            expect_defect(AVL_WRONG_ORDER, &items[i + 1].links);
        }
        if (i > 0) {
            items[i].key = right - 15;
            expect_defect(AVL_WRONG_ORDER, &items[i].links);
        }
        items[i].key = right;
    }
    /* One node as both children. */
    struct avl_node *root = tree.root, *other = root->child[AVL_AFTER];
    root->child[AVL_AFTER] = root->child[AVL_BEFORE];
    expect_defect(AVL_WRONG_ORDER, NULL);
    root->child[AVL_AFTER] = other;
    expect_sound();
}
END_TEST

START_TEST(a_wrong_count_and_a_lost_node_are_found)
{
    plant();
    tree.count++;
    expect_defect(AVL_WRONG_COUNT, NULL);
    tree.count -= 2;
    expect_defect(AVL_WRONG_COUNT, NULL);
    tree.count++;
    expect_sound();

    /* A lost leaf below a node that has another one: balance or count, the tree is not sound. */
    struct avl_node *leaf = avl_last(&tree), *parent = avl_parent(leaf);
    parent->child[AVL_AFTER] = NULL;
    ck_assert_int_ne(avl_verify(&tree, NULL, NULL, NULL), AVL_SOUND);
}
END_TEST

static bool is_not_870(const struct avl_node *node, void *argument)
{
    (*(unsigned *)argument)++;
    return key_of(node) != 870;
}

START_TEST(each_node_is_shown_to_the_callback_in_order_until_it_refuses)
{
    unsigned shown = 0;
    const struct avl_node *at = NULL;

    plant();
    ck_assert_int_eq(avl_verify(&tree, is_not_870, &shown, &at), AVL_WRONG_CONTENT);
    ck_assert_uint_eq(shown, 78);
    ck_assert_uint_eq(key_of(at), 870);
    items[77].key = 871;
    shown = 0;
    ck_assert_int_eq(avl_verify(&tree, is_not_870, &shown, &at), AVL_SOUND);
    ck_assert_uint_eq(shown, PLANTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("avl");
    TCase *tests = tcase_create("tree"), *verifier = tcase_create("verifier");
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
    tcase_add_test(verifier, a_wrong_balance_is_found_wherever_it_is);
    tcase_add_test(verifier,
                   a_subtree_that_is_two_levels_higher_is_found_though_its_balance_says_so);
    tcase_add_test(verifier, a_wrong_parent_link_is_found_wherever_it_is);
    tcase_add_test(verifier, a_branch_that_leads_back_up_is_found_and_not_followed);
    tcase_add_test(verifier, a_wrong_order_is_found_wherever_it_is);
    tcase_add_test(verifier, a_wrong_count_and_a_lost_node_are_found);
    tcase_add_test(verifier, each_node_is_shown_to_the_callback_in_order_until_it_refuses);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, verifier);

    return run_suite(suite);
}
