/*
 * SPDX-License-Identifier: MIT
 *
 * rbtree: a red-black tree, a node a block, after Cormen, Leiserson, Rivest and Stein,
 * "Introduction to Algorithms", chapter 13. Offset 0 is the black leaf below all nodes; where the
 * book asks for its parent, that is passed along.
 */
#include "workload.h"

enum { LEFT, RIGHT, RED = 1 };

struct node {
    uint64_t key, value;
    uint64_t child[2]; /* LEFT: smaller keys */
    uint64_t parent, red;
};

struct tree {
    uint64_t top;
};

static struct node *at(const struct session *session, uint64_t offset)
{
    return store_at(session, offset);
}

static struct tree *tree_of(const struct session *session)
{
    return store_at(session, session->root);
}

static uint64_t create(struct session *session, uint64_t keys)
{
    uint64_t root;

    (void)keys;
    store_begin(session);
    root = store_alloc(session, sizeof(struct tree));
    store_u64(session, &((struct tree *)store_at(session, root))->top, 0);
    store_commit(session, true);
    return root;
}

static bool is_red(const struct session *session, uint64_t node)
{
    return node != 0 && at(session, node)->red == RED;
}

static void set_red(struct session *session, uint64_t node, uint64_t red)
{
    if (node != 0 && at(session, node)->red != red)
        store_u64(session, &at(session, node)->red, red);
}

static int side_of(const struct session *session, uint64_t parent, uint64_t node)
{
    return at(session, parent)->child[RIGHT] == node ? RIGHT : LEFT;
}

/* Puts a node, or 0, where another was below that one's parent. */
static void replace(struct session *session, uint64_t old, uint64_t new)
{
    uint64_t parent = at(session, old)->parent;

    if (parent == 0)
        store_u64(session, &tree_of(session)->top, new);
    else
        store_u64(session, &at(session, parent)->child[side_of(session, parent, old)], new);
    if (new != 0)
        store_u64(session, &at(session, new)->parent, parent);
}

/* The node goes down to that side; its child on the other side takes its place. */
static void rotate(struct session *session, uint64_t node, int side)
{
    uint64_t up = at(session, node)->child[!side], inner = at(session, up)->child[side];

    store_u64(session, &at(session, node)->child[!side], inner);
    if (inner != 0)
        store_u64(session, &at(session, inner)->parent, node);
    replace(session, node, up);
    store_u64(session, &at(session, up)->child[side], node);
    store_u64(session, &at(session, node)->parent, up);
}

static void repair_insertion(struct session *session, uint64_t node)
{
    while (is_red(session, at(session, node)->parent)) {
        uint64_t parent = at(session, node)->parent, grandparent = at(session, parent)->parent;
        int side = side_of(session, grandparent, parent);
        uint64_t uncle = at(session, grandparent)->child[!side];

        if (is_red(session, uncle)) {
            set_red(session, parent, 0);
            set_red(session, uncle, 0);
            set_red(session, grandparent, RED);
            node = grandparent;
            continue;
        }
        if (side_of(session, parent, node) != side) {
            rotate(session, parent, side);
            parent = node;
        }
        set_red(session, parent, 0);
        set_red(session, grandparent, RED);
        rotate(session, grandparent, !side);
        break;
    }
    set_red(session, tree_of(session)->top, 0);
}

static void insert(struct session *session, uint64_t parent, uint64_t key)
{
    uint64_t block = store_alloc_node(session, sizeof(struct node));
    struct node node = {key, workload_value(key), {0, 0}, parent, RED};

    store_write(session, at(session, block), &node, sizeof node);
    if (parent == 0)
        store_u64(session, &tree_of(session)->top, block);
    else
        store_u64(session, &at(session, parent)->child[key > at(session, parent)->key], block);
    repair_insertion(session, block);
}

/* The paths through node, a child of parent, have a black node fewer than their sibling's. */
static void repair_deletion(struct session *session, uint64_t parent, uint64_t node)
{
    while (parent != 0 && !is_red(session, node)) {
        int side = side_of(session, parent, node);
        uint64_t sibling = at(session, parent)->child[!side];

        if (is_red(session, sibling)) {
            set_red(session, sibling, 0);
            set_red(session, parent, RED);
            rotate(session, parent, side);
            sibling = at(session, parent)->child[!side];
        }
        if (!is_red(session, at(session, sibling)->child[LEFT]) &&
            !is_red(session, at(session, sibling)->child[RIGHT])) {
            set_red(session, sibling, RED);
            node = parent;
            parent = at(session, node)->parent;
            continue;
        }
        if (!is_red(session, at(session, sibling)->child[!side])) {
            set_red(session, at(session, sibling)->child[side], 0);
            set_red(session, sibling, RED);
            rotate(session, sibling, !side);
            sibling = at(session, parent)->child[!side];
        }
        set_red(session, sibling, at(session, parent)->red);
        set_red(session, parent, 0);
        set_red(session, at(session, sibling)->child[!side], 0);
        rotate(session, parent, side);
        return;
    }
    set_red(session, node, 0);
}

static void erase(struct session *session, uint64_t node)
{
    uint64_t left = at(session, node)->child[LEFT], right = at(session, node)->child[RIGHT];
    uint64_t lost = node, parent, child; /* lost: the node whose colour is missing */
    bool was_red;

    if (left != 0 && right != 0) {
        lost = right;
        while (at(session, lost)->child[LEFT] != 0)
            lost = at(session, lost)->child[LEFT];
    }
    was_red = is_red(session, lost);
    child = at(session, lost)->child[at(session, lost)->child[LEFT] == 0];
    parent = at(session, lost)->parent;
    replace(session, lost, child);
    if (lost != node) {
        /* The successor takes the node's place and colour. */
        parent = parent == node ? lost : parent;
        for (int side = LEFT; side <= RIGHT; side++) {
            uint64_t below = at(session, node)->child[side];

            store_u64(session, &at(session, lost)->child[side], below);
            if (below != 0)
                store_u64(session, &at(session, below)->parent, lost);
        }
        set_red(session, lost, at(session, node)->red);
        replace(session, node, lost);
    }
    if (!was_red)
        repair_deletion(session, parent, child);
    store_free(session, node);
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    uint64_t node = tree_of(session)->top, parent = 0;

    (void)random;
    while (node != 0 && at(session, node)->key != key) {
        parent = node;
        node = at(session, node)->child[key > at(session, node)->key];
    }
    if (node == 0)
        insert(session, parent, key);
    else
        erase(session, node);
}

/* Black nodes on each way down from the node; counts its nodes, or complains. */
static unsigned check_node(const struct session *session, const uint8_t *present, uint64_t node,
                           uint64_t least, uint64_t end, uint64_t *count, const char **complaint)
{
    const struct node *here = at(session, node);
    unsigned blacks[2];

    if (node == 0 || *complaint != NULL)
        return 0;
    if (here->key < least || here->key >= end)
        *complaint = "keys are out of order";
    else if (!(present[here->key] & 1) || here->value != workload_value(here->key))
        *complaint = "a node should not be there, or its value is another one";
    else if (here->red &&
             (is_red(session, here->child[LEFT]) || is_red(session, here->child[RIGHT])))
        *complaint = "a red node has a red child";
    if (*complaint != NULL)
        return 0;
    ++*count;
    for (int side = LEFT; side <= RIGHT; side++) {
        if (here->child[side] != 0 && at(session, here->child[side])->parent != node)
            *complaint = "a node has another parent";
        blacks[side] =
            check_node(session, present, here->child[side], side == LEFT ? least : here->key + 1,
                       side == LEFT ? here->key : end, count, complaint);
    }
    if (*complaint == NULL && blacks[LEFT] != blacks[RIGHT])
        *complaint = "ways down have different numbers of black nodes";
    return blacks[LEFT] + (here->red != RED);
}

static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    const char *complaint = is_red(session, tree_of(session)->top) ? "the top is red" : NULL;
    uint64_t wanted = 0, count = 0;

    check_node(session, present, tree_of(session)->top, 0, keys, &count, &complaint);
    for (uint64_t key = 0; key < keys; key++)
        wanted += present[key] & 1;
    if (complaint == NULL && count != wanted)
        complaint = "nodes are missing";
    return complaint;
}

const struct workload workload_rbtree = {"rbtree", create, operate, check, true, NULL};
