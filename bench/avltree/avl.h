/*
 * SPDX-License-Identifier: MIT
 *
 * An intrusive AVL tree: the links lie in the caller's nodes, so the tree itself never allocates,
 * and nothing here recurses: each operation climbs back along parent links. Callers lock; between
 * two operations of a locked section the tree is consistent, its count apart (see avl_link).
 *
 * A tree is a search tree by compare(), without equal nodes, and at each node
 *     balance = height(child[AVL_AFTER]) - height(child[AVL_BEFORE])   is -1, 0 or 1,
 *     the parent link of each child leads back to the node, that of the root nowhere,
 * and count is the number of nodes. avl_verify.h checks all of it.
 */
#ifndef BENCH_AVLTREE_AVL_H
#define BENCH_AVLTREE_AVL_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

/* Both a side of a node and a direction of walking. */
enum avl_side { AVL_BEFORE, AVL_AFTER };

struct avl_node {
    struct avl_node *child[2]; /* by enum avl_side */
    /* The parent's address; the two low bits, which alignment leaves free, hold balance + 1. So the
     * links are three words, and a node of 32 bytes has 8 left for its key and value. */
    uintptr_t parent_and_balance;
};

/* Below 0, 0, or above 0 as left stands before, equal to, or after right. */
typedef int avl_compare(const struct avl_node *left, const struct avl_node *right);

enum { AVL_SECTOR = 128 }; /* processors fetch lines of 64 bytes in pairs */

struct avl_tree {
    /* Read by each operation, and written when the root changes, which is rare. */
    alignas(AVL_SECTOR) struct avl_node *root;
    avl_compare *compare;
    /* Written by each insertion and removal: alone in its sector, so that a transaction that only
     * searches is not aborted by it. */
    alignas(AVL_SECTOR) size_t count;
};
_Static_assert(offsetof(struct avl_tree, count) == AVL_SECTOR, "the count shares no sector");
_Static_assert(sizeof(struct avl_tree) == 2 * AVL_SECTOR,
               "nothing follows the count in its sector");

/* Where a node that was not found belongs: below parent (NULL in an empty tree), on that side. */
struct avl_place {
    struct avl_node *parent;
    enum avl_side side;
};

void avl_init(struct avl_tree *tree, avl_compare *compare);

/* The node equal to the probe, of which only what compare() reads has to be set; else NULL, and
 * *place is where such a node belongs, until the tree changes. place may be NULL. */
struct avl_node *avl_find(const struct avl_tree *tree, const struct avl_node *probe,
                          struct avl_place *place);

/* The nearest node on that side of a place that avl_find gave; NULL when there is none. */
struct avl_node *avl_nearest(const struct avl_place *place, enum avl_side side);

/* The end of the tree on that side, and the neighbour of a node on that side; NULL where none is.
 */
struct avl_node *avl_end(const struct avl_tree *tree, enum avl_side side);
struct avl_node *avl_step(const struct avl_node *node, enum avl_side side);

static inline struct avl_node *avl_first(const struct avl_tree *tree)
{
    return avl_end(tree, AVL_BEFORE);
}

static inline struct avl_node *avl_last(const struct avl_tree *tree)
{
    return avl_end(tree, AVL_AFTER);
}

static inline struct avl_node *avl_next(const struct avl_node *node)
{
    return avl_step(node, AVL_AFTER);
}

static inline struct avl_node *avl_previous(const struct avl_node *node)
{
    return avl_step(node, AVL_BEFORE);
}

static inline size_t avl_count(const struct avl_tree *tree)
{
    return tree->count;
}

/*
 * The two changes without the count, which the caller then changes by avl_counted as the very last
 * thing in its locked section: all transactions that insert or remove collide on the count, and the
 * later it is written the shorter is the time in which they do.
 */
void avl_link(struct avl_tree *tree, struct avl_node *node, const struct avl_place *place);
void avl_unlink(struct avl_tree *tree, struct avl_node *node);

static inline void avl_counted(struct avl_tree *tree, int change)
{
    /* A compiler that sees through free() could touch the count before it. */
    __asm__ volatile("" ::: "memory");
    tree->count += (size_t)change; /* modulo 2^64, so -1 subtracts */
}

/* A whole insertion at a place from avl_find, and a whole removal of a node that is in the tree. */
static inline void avl_insert(struct avl_tree *tree, struct avl_node *node,
                              const struct avl_place *place)
{
    avl_link(tree, node, place);
    avl_counted(tree, 1);
}

static inline void avl_remove(struct avl_tree *tree, struct avl_node *node)
{
    avl_unlink(tree, node);
    avl_counted(tree, -1);
}

/* The parts of parent_and_balance. */
enum { AVL_BALANCE_BITS = 3 };

static inline struct avl_node *avl_parent(const struct avl_node *node)
{
    return (struct avl_node *)(node->parent_and_balance & ~(uintptr_t)AVL_BALANCE_BITS);
}

static inline int avl_balance(const struct avl_node *node)
{
    return (int)(node->parent_and_balance & AVL_BALANCE_BITS) - 1;
}

#endif
