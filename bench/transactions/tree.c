/*
 * SPDX-License-Identifier: MIT
 *
 * A treap of up to 64 K keys, half of them there. A node's priority follows from its key, so the
 * keys alone decide the shape of the tree.
 */
#include "workload.h"

#include "harness/random.h"

#include <stdbool.h>
#include <stdlib.h>

/* No child's priority is above its parent's. */
struct node {
    uint64_t key;
    struct node *left, *right;
};

enum { KEYS = 65536, DEEPEST = 256 };

static struct node *root;

__attribute__((transaction_safe)) static uint64_t priority(uint64_t key)
{
    return random_next(&key);
}

__attribute__((transaction_safe)) static int insert(uint64_t key)
{
    struct node **link = &root, *node, *rest;

    for (; (node = *link) != NULL && priority(node->key) > priority(key);
         link = key < node->key ? &node->left : &node->right)
        ;
    /* A key that is there has the same priority, so it has not been passed. */
    if (node != NULL && node->key == key)
        return 0;
    rest = node;
    node = malloc(sizeof *node);
    node->key = key;
    *link = node;

    /* Divides the nodes below between its two sides. */
    struct node **smaller = &node->left, **greater = &node->right;

    while (rest != NULL) {
        if (rest->key < key) {
            *smaller = rest;
            smaller = &rest->right;
            rest = *smaller;
        } else {
            *greater = rest;
            greater = &rest->left;
            rest = *greater;
        }
    }
    *smaller = *greater = NULL;
    return 1;
}

__attribute__((transaction_safe)) static struct node **place_of(uint64_t key)
{
    struct node **link = &root, *node;

    while ((node = *link) != NULL && node->key != key)
        link = key < node->key ? &node->left : &node->right;
    return link;
}

__attribute__((transaction_safe)) static int take_out(uint64_t key)
{
    struct node **link = place_of(key), *node = *link;

    if (node == NULL)
        return 0;
    /* Its two sides become one tree in its place. */
    struct node *left = node->left, *right = node->right;

    while (left != NULL && right != NULL) {
        if (priority(left->key) > priority(right->key)) {
            *link = left;
            link = &left->right;
            left = *link;
        } else {
            *link = right;
            link = &right->left;
            right = *link;
        }
    }
    *link = left != NULL ? left : right;
    free(node);
    return -1;
}

static int64_t create(uint64_t seed)
{
    int64_t size = 0;

    while (size < KEYS / 2)
        size += insert(random_below(&seed, KEYS));
    return size;
}

/* What a look-up found must be used, or the compiler leaves it out. */
static _Thread_local bool found;

static int operate(uint64_t key, unsigned percent)
{
    int change = 0;

    if (percent < INSERTS) {
        __transaction_atomic
        {
            change = insert(key);
        }
    } else if (percent < INSERTS + REMOVALS) {
        __transaction_atomic
        {
            change = take_out(key);
        }
    } else {
        bool is_there;

        __transaction_atomic
        {
            is_there = *place_of(key) != NULL;
        }
        found = is_there;
    }
    return change;
}

/* The number of nodes with keys from least to greatest, or -1 where the order is wrong. */
static int64_t count(const struct node *node, int64_t least, int64_t greatest, unsigned depth)
{
    if (node == NULL)
        return 0;

    int64_t key = (int64_t)node->key, left, right;

    if (key < least || key > greatest || depth > DEEPEST)
        return -1;
    if ((node->left != NULL && priority(node->left->key) > priority(node->key)) ||
        (node->right != NULL && priority(node->right->key) > priority(node->key)))
        return -1;
    left = count(node->left, least, key - 1, depth + 1);
    right = count(node->right, key + 1, greatest, depth + 1);
    return left < 0 || right < 0 ? -1 : left + right + 1;
}

static const char *check(int64_t size)
{
    int64_t nodes = count(root, 0, KEYS - 1, 0);

    if (nodes < 0)
        return "the tree is out of order";
    return nodes == size ? NULL : "a node was lost or is there twice";
}

const struct workload workload_tree = {
    .name = "tree", .keys = KEYS, .create = create, .operate = operate, .check = check};
