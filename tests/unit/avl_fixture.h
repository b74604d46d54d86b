/*
 * SPDX-License-Identifier: MIT
 *
 * The tree that the tests of the AVL tree and of its verifier work on.
 */
#ifndef TESTS_UNIT_AVL_FIXTURE_H
#define TESTS_UNIT_AVL_FIXTURE_H

#include "avltree/avl.h"
#include "avltree/avl_verify.h"

#include <check.h>

struct item {
    struct avl_node links;
    uint32_t key;
};

static inline uint32_t key_of(const struct avl_node *node)
{
    return ((const struct item *)node)->key; /* links come first */
}

static inline int by_key(const struct avl_node *left, const struct avl_node *right)
{
    uint32_t a = key_of(left), b = key_of(right);

    return (a > b) - (a < b);
}

static struct avl_tree tree; /* of the test that runs: each is a process of its own */

/* Check writes to a file at each of its assertions: too slow for what is asserted millions of
 * times. */
#define CLAIM(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s", #condition);                                                        \
    } while (0)

static inline struct avl_node *find(uint32_t key, struct avl_place *place)
{
    struct item probe = {.key = key};

    return avl_find(&tree, &probe.links, place);
}

static inline void insert(struct item *item, uint32_t key)
{
    struct avl_place place;

    item->key = key;
    CLAIM(find(key, &place) == NULL);
    avl_insert(&tree, &item->links, &place);
}

static inline void expect_sound(void)
{
    const struct avl_node *at;
    enum avl_defect defect = avl_verify(&tree, NULL, NULL, &at);

    if (defect != AVL_SOUND)
        ck_abort_msg("%s, at key %u", avl_defect_text(defect), at != NULL ? key_of(at) : 0);
}

#endif
