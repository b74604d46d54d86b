/*
 * SPDX-License-Identifier: MIT
 *
 * The AVL tree; see avl.h. A change of height is carried upwards from where it happened until a
 * node absorbs it. A node is written only where one of its values changes: in a transaction each
 * needless store would put one more line into the write set.
 */
#include "avltree/avl.h"

/* What one level more on a side adds to the balance. */
static int weight(enum avl_side side)
{
    return side == AVL_AFTER ? 1 : -1;
}

static enum avl_side opposite(enum avl_side side)
{
    return side == AVL_AFTER ? AVL_BEFORE : AVL_AFTER;
}

static enum avl_side side_of(const struct avl_node *parent, const struct avl_node *child)
{
    return parent->child[AVL_AFTER] == child ? AVL_AFTER : AVL_BEFORE;
}

static void set_parent(struct avl_node *node, struct avl_node *parent)
{
    node->parent_and_balance = (uintptr_t)parent | (node->parent_and_balance & AVL_BALANCE_BITS);
}

static void set_balance(struct avl_node *node, int balance)
{
    node->parent_and_balance =
        (node->parent_and_balance & ~(uintptr_t)AVL_BALANCE_BITS) | (uintptr_t)(balance + 1);
}

static void set_both(struct avl_node *node, struct avl_node *parent, int balance)
{
    node->parent_and_balance = (uintptr_t)parent | (uintptr_t)(balance + 1);
}

/* A child may be missing; then nobody has to be told who its parent is. */
static void adopt(struct avl_node *parent, enum avl_side side, struct avl_node *child)
{
    parent->child[side] = child;
    if (child != NULL)
        set_parent(child, parent);
}

/* What held the old node holds the new one; the new one's own parent link is the caller's task. */
static void replace(struct avl_tree *tree, struct avl_node *parent, const struct avl_node *old,
                    struct avl_node *new)
{
    if (parent == NULL)
        tree->root = new;
    else
        parent->child[side_of(parent, old)] = new;
}

void avl_init(struct avl_tree *tree, avl_compare *compare)
{
    tree->root = NULL;
    tree->compare = compare;
    tree->count = 0;
}

struct avl_node *avl_find(const struct avl_tree *tree, const struct avl_node *probe,
                          struct avl_place *place)
{
    struct avl_node *node = tree->root, *parent = NULL;
    enum avl_side side = AVL_BEFORE;

    while (node != NULL) {
        int order = tree->compare(probe, node);

        if (order == 0)
            return node;
        side = order > 0 ? AVL_AFTER : AVL_BEFORE;
        parent = node;
        node = node->child[side];
    }
    if (place != NULL)
        *place = (struct avl_place){.parent = parent, .side = side};
    return NULL;
}

struct avl_node *avl_nearest(const struct avl_place *place, enum avl_side side)
{
    /* A place on the left of its parent has that parent as its neighbour on the right. */
    if (place->parent == NULL || place->side != side)
        return place->parent;
    return avl_step(place->parent, side);
}

static struct avl_node *farthest(struct avl_node *node, enum avl_side side)
{
    while (node->child[side] != NULL)
        node = node->child[side];
    return node;
}

struct avl_node *avl_end(const struct avl_tree *tree, enum avl_side side)
{
    return tree->root == NULL ? NULL : farthest(tree->root, side);
}

struct avl_node *avl_step(const struct avl_node *node, enum avl_side side)
{
    if (node->child[side] != NULL)
        return farthest(node->child[side], opposite(side));
    /* The first ancestor that this node is on the other side of. */
    struct avl_node *parent = avl_parent(node);
    while (parent != NULL && parent->child[side] == node) {
        node = parent;
        parent = avl_parent(node);
    }
    return parent;
}

/*
 * Puts right a node whose subtree on that side is two levels higher than the other one; its stored
 * balance is still what it was before. Returns whether the whole subtree lost a level.
 *
 *   single:   top               heavy          double:  top                  middle
 *            /   \              /   \                  /   \                /      \
 *           a    heavy   ->   top    c                a    heavy    ->    top      heavy
 *                /   \       /   \                         /   \         /   \    /    \
 *               b     c     a     b                   middle    d       a     b  c      d
 *                                                      /  \
 *                                                     b    c
 */
static int rotate(struct avl_tree *tree, struct avl_node *top, enum avl_side side)
{
    enum avl_side other = opposite(side);
    int high = weight(side);
    struct avl_node *parent = avl_parent(top), *heavy = top->child[side];
    int balance = avl_balance(heavy);

    if (balance == -high) {
        struct avl_node *middle = heavy->child[other];
        int lean = avl_balance(middle);

        adopt(top, side, middle->child[other]);
        adopt(heavy, other, middle->child[side]);
        middle->child[other] = top;
        middle->child[side] = heavy;
        /* The shorter one of b and c leaves its new parent leaning away from it. */
        set_both(top, middle, lean == high ? -high : 0);
        set_both(heavy, middle, lean == -high ? high : 0);
        replace(tree, parent, top, middle);
        set_both(middle, parent, 0);
        return 1;
    }
    adopt(top, side, heavy->child[other]);
    heavy->child[other] = top;
    replace(tree, parent, top, heavy);
    /* b as high as c, which only a removal leaves behind: the height stays. */
    set_both(top, heavy, balance == 0 ? high : 0);
    set_both(heavy, parent, balance == 0 ? -high : 0);
    return balance != 0;
}

void avl_link(struct avl_tree *tree, struct avl_node *node, const struct avl_place *place)
{
    struct avl_node *parent = place->parent;
    enum avl_side side = place->side;

    node->child[AVL_BEFORE] = node->child[AVL_AFTER] = NULL;
    set_both(node, parent, 0);
    if (parent == NULL) {
        tree->root = node;
        return;
    }
    parent->child[side] = node;

    /* That side of parent has become one level higher. */
    for (;;) {
        int balance = avl_balance(parent);

        if (balance == weight(side)) {
            rotate(tree, parent, side); /* which takes the level away again */
            return;
        }
        set_balance(parent, balance + weight(side));
        if (balance != 0)
            return; /* the shorter side was filled up */
        node = parent;
        parent = avl_parent(node);
        if (parent == NULL)
            return;
        side = side_of(parent, node);
    }
}

/*
 * Takes out a node with two children: its neighbour on the higher side, which has one child at
 * most, gets its place. Returns where a side has become one level lower.
 */
static struct avl_place unlink_inner(struct avl_tree *tree, struct avl_node *node)
{
    enum avl_side side = avl_balance(node) > 0 ? AVL_AFTER : AVL_BEFORE;
    enum avl_side other = opposite(side);
    struct avl_node *heir = farthest(node->child[side], other);
    struct avl_node *parent = avl_parent(heir);
    struct avl_place lower = {.parent = heir, .side = side};

    if (parent != node) {
        lower = (struct avl_place){.parent = parent, .side = other};
        adopt(parent, other, heir->child[side]);
        adopt(heir, side, node->child[side]);
    }
    adopt(heir, other, node->child[other]);
    replace(tree, avl_parent(node), node, heir);
    heir->parent_and_balance = node->parent_and_balance;
    return lower;
}

/* The same for a node with one child or none. */
static struct avl_place unlink_outer(struct avl_tree *tree, struct avl_node *node)
{
    struct avl_node *parent = avl_parent(node);
    struct avl_node *orphan = node->child[node->child[AVL_BEFORE] != NULL ? AVL_BEFORE : AVL_AFTER];
    struct avl_place lower = {.parent = parent, .side = AVL_BEFORE};

    if (parent != NULL)
        lower.side = side_of(parent, node);
    replace(tree, parent, node, orphan);
    if (orphan != NULL)
        set_parent(orphan, parent);
    return lower;
}

void avl_unlink(struct avl_tree *tree, struct avl_node *node)
{
    int is_inner = node->child[AVL_BEFORE] != NULL && node->child[AVL_AFTER] != NULL;
    struct avl_place lower = is_inner ? unlink_inner(tree, node) : unlink_outer(tree, node);

    while (lower.parent != NULL) {
        struct avl_node *at = lower.parent;
        int balance = avl_balance(at);

        /* Before a rotation puts another node in its place. */
        lower.parent = avl_parent(at);
        enum avl_side above = lower.parent != NULL ? side_of(lower.parent, at) : AVL_BEFORE;
        if (balance == -weight(lower.side)) {
            if (!rotate(tree, at, opposite(lower.side)))
                return;
        } else {
            set_balance(at, balance - weight(lower.side));
            if (balance == 0)
                return; /* the other side still has the height */
        }
        lower.side = above;
    }
}
