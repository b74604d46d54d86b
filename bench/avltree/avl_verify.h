/*
 * SPDX-License-Identifier: MIT
 *
 * Checks every promise of an AVL tree, and by a callback its content: for tests, and for the
 * benchmark after each run. It trusts nothing that it has not checked: a wrong parent link is found
 * before it is followed, and a cycle cannot be entered, for two ways to a node would need two
 * parents.
 */
#ifndef BENCH_AVLTREE_AVL_VERIFY_H
#define BENCH_AVLTREE_AVL_VERIFY_H

#include "avltree/avl.h"

#include <stdbool.h>

enum avl_defect {
    AVL_SOUND,
    AVL_WRONG_PARENT,  /* a parent link does not lead back */
    AVL_WRONG_BALANCE, /* a stored balance is not the difference of the heights, or exceeds 1 */
    AVL_WRONG_ORDER,   /* a node does not stand after the one before it */
    AVL_WRONG_COUNT,   /* the count is not the number of nodes */
    AVL_WRONG_CONTENT, /* the callback refused a node */
    AVL_TOO_DEEP,      /* deeper than a tree of 2^64 nodes can be */
};

/* Called for each node in rising order; false refuses it. */
typedef bool avl_accept(const struct avl_node *node, void *argument);

/* The first defect found in rising order, and *at the node it was found at (NULL for a count; at
 * itself may be NULL). accept may be NULL. */
enum avl_defect avl_verify(const struct avl_tree *tree, avl_accept *accept, void *argument,
                           const struct avl_node **at);

/* "a parent link is wrong", and so on. */
const char *avl_defect_text(enum avl_defect defect);

#endif
