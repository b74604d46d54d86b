/*
 * SPDX-License-Identifier: MIT
 *
 * What the verifier of AVL trees promises: it finds each kind of planted fault, wherever it is.
 */
#include "avl_fixture.h"
#include "run_suite.h"

enum { PLANTED = 100 };
static struct item items[PLANTED + 1]; /* the last one is in no tree */

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
    Suite *suite = suite_create("avl_verify");
    TCase *tests = tcase_create("verifier");

    tcase_add_test(tests, a_wrong_balance_is_found_wherever_it_is);
    tcase_add_test(tests, a_subtree_that_is_two_levels_higher_is_found_though_its_balance_says_so);
    tcase_add_test(tests, a_wrong_parent_link_is_found_wherever_it_is);
    tcase_add_test(tests, a_branch_that_leads_back_up_is_found_and_not_followed);
    tcase_add_test(tests, a_wrong_order_is_found_wherever_it_is);
    tcase_add_test(tests, a_wrong_count_and_a_lost_node_are_found);
    tcase_add_test(tests, each_node_is_shown_to_the_callback_in_order_until_it_refuses);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
