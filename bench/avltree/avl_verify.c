/*
 * SPDX-License-Identifier: MIT
 *
 * The verifier; see avl_verify.h. It recurses, unlike the tree: never deeper than DEPTH_MOST.
 */
#include "avltree/avl_verify.h"

/* An AVL tree of height 93 has at least 2^64 nodes. */
enum { DEPTH_MOST = 93 };

struct walk {
    avl_compare *compare;
    avl_accept *accept;
    void *argument;
    const struct avl_node *previous;
    size_t seen;
    enum avl_defect defect; /* the first one, with at */
    const struct avl_node *at;
};

static int found(struct walk *walk, enum avl_defect defect, const struct avl_node *at)
{
    walk->defect = defect;
    walk->at = at;
    return 0;
}

/* The height of the subtree; meaningless once walk->defect is set. */
static int height(struct walk *walk, const struct avl_node *node, const struct avl_node *parent,
                  int depth)
{
    if (node == NULL)
        return 0;
    if (depth > DEPTH_MOST)
        return found(walk, AVL_TOO_DEEP, node);
    if (avl_parent(node) != parent)
        return found(walk, AVL_WRONG_PARENT, node);

    int before = height(walk, node->child[AVL_BEFORE], node, depth + 1);
    if (walk->defect != AVL_SOUND)
        return 0;
    if (walk->previous != NULL && walk->compare(walk->previous, node) >= 0)
        return found(walk, AVL_WRONG_ORDER, node);
    walk->previous = node;
    walk->seen++;
    if (walk->accept != NULL && !walk->accept(node, walk->argument))
        return found(walk, AVL_WRONG_CONTENT, node);
    int after = height(walk, node->child[AVL_AFTER], node, depth + 1);
    if (walk->defect != AVL_SOUND)
        return 0;
    if (after - before != avl_balance(node) || avl_balance(node) > 1)
        return found(walk, AVL_WRONG_BALANCE, node);
    return 1 + (after > before ? after : before);
}

enum avl_defect avl_verify(const struct avl_tree *tree, avl_accept *accept, void *argument,
                           const struct avl_node **at)
{
    struct walk walk = {.compare = tree->compare, .accept = accept, .argument = argument};

    height(&walk, tree->root, NULL, 1);
    if (walk.defect == AVL_SOUND && walk.seen != tree->count)
        found(&walk, AVL_WRONG_COUNT, NULL);
    if (at != NULL)
        *at = walk.at;
    return walk.defect;
}

const char *avl_defect_text(enum avl_defect defect)
{
    switch (defect) {
    case AVL_SOUND:
        return "the tree is sound";
    case AVL_WRONG_PARENT:
        return "a parent link does not lead back";
    case AVL_WRONG_BALANCE:
        return "a balance is wrong";
    case AVL_WRONG_ORDER:
        return "two nodes are out of order";
    case AVL_WRONG_COUNT:
        return "the count is not the number of nodes";
    case AVL_WRONG_CONTENT:
        return "the content of a node was refused";
    case AVL_TOO_DEEP:
        return "a branch is too deep";
    }
    return "unknown";
}
