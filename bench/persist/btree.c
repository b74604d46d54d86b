/*
 * SPDX-License-Identifier: MIT
 *
 * btree: a B+ tree with nodes of 4 KiB and up to 200 pairs of a key of 8 B and a value of 4 B in a
 * leaf (Lu et al., section V-A). Full nodes are split on the way down. A leaf that becomes empty
 * stays, as in several databases: keys come back to it.
 */
#include "workload.h"

#include <stddef.h>

enum { PAIRS = 200, DEPTH_GREATEST = 16 };

struct node {
    uint32_t is_leaf, count; /* of keys */
    uint64_t keys[PAIRS];
    union {
        uint32_t values[PAIRS];
        uint64_t
            children[PAIRS + 1]; /* children[i] has keys below keys[i], the last one the rest */
    } of;
    uint8_t unused[4096 - 8 - PAIRS * 8 - (PAIRS + 1) * 8];
};
_Static_assert(sizeof(struct node) == 4096, "4 KiB");

struct tree {
    uint64_t top;
};

static uint64_t new_node(struct session *session, uint32_t is_leaf)
{
    uint64_t block = store_alloc(session, sizeof(struct node));
    struct node *node = store_at(session, block);

    store_write(session, &node->is_leaf, &is_leaf, sizeof is_leaf);
    store_write(session, &node->count, &(uint32_t){0}, sizeof node->count);
    return block;
}

static uint64_t create(struct session *session, uint64_t keys)
{
    uint64_t root;
    struct tree *tree;

    (void)keys;
    store_begin(session);
    root = store_alloc(session, sizeof *tree);
    tree = store_at(session, root);
    store_u64(session, &tree->top, new_node(session, 1));
    store_commit(session, true);
    return root;
}

/* The first key of the node that is at least key. */
static uint32_t position(const struct node *node, uint64_t key)
{
    uint32_t low = 0, high = node->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (node->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which child has the key. */
static uint32_t child_of(const struct node *node, uint64_t key)
{
    uint32_t at = position(node, key);

    return at < node->count && node->keys[at] == key ? at + 1 : at;
}

static void set_count(struct session *session, struct node *node, uint32_t count)
{
    store_write(session, &node->count, &count, sizeof count);
}

/* Moves count elements of size bytes from one place of an array to another, which may overlap. */
static void move(struct session *session, void *to, const void *from, uint32_t count, size_t size)
{
    char copy[(PAIRS + 1) * sizeof(uint64_t)];

    memcpy(copy, from, count * size);
    store_write(session, to, copy, count * size);
}

static void insert_child(struct session *session, struct node *node, uint32_t at, uint64_t key,
                         uint64_t child)
{
    move(session, &node->keys[at + 1], &node->keys[at], node->count - at, sizeof(uint64_t));
    move(session, &node->of.children[at + 2], &node->of.children[at + 1], node->count - at,
         sizeof(uint64_t));
    store_u64(session, &node->keys[at], key);
    store_u64(session, &node->of.children[at + 1], child);
    set_count(session, node, node->count + 1);
}

/* Splits the full child number at of parent, which is not full. */
static void split(struct session *session, struct node *parent, uint32_t at)
{
    struct node *left = store_at(session, parent->of.children[at]);
    uint64_t block = new_node(session, left->is_leaf);
    struct node *right = store_at(session, block);
    uint32_t half = PAIRS / 2;
    uint64_t middle = left->keys[half];

    if (left->is_leaf) {
        move(session, right->keys, left->keys + half, PAIRS - half, sizeof(uint64_t));
        move(session, right->of.values, left->of.values + half, PAIRS - half, sizeof(uint32_t));
        set_count(session, right, PAIRS - half);
    } else {
        move(session, right->keys, left->keys + half + 1, PAIRS - half - 1, sizeof(uint64_t));
        move(session, right->of.children, left->of.children + half + 1, PAIRS - half,
             sizeof(uint64_t));
        set_count(session, right, PAIRS - half - 1);
    }
    set_count(session, left, half);
    insert_child(session, parent, at, middle, block);
}

/* The leaf that has the key, or would. Nodes on the way are split if they are full. */
static struct node *descend(struct session *session, uint64_t key)
{
    struct tree *tree = store_at(session, session->root);
    struct node *node = store_at(session, tree->top);

    if (node->count == PAIRS) {
        uint64_t block = new_node(session, 0);

        store_u64(session, &((struct node *)store_at(session, block))->of.children[0], tree->top);
        store_u64(session, &tree->top, block);
        node = store_at(session, block);
        split(session, node, 0);
    }
    while (!node->is_leaf) {
        uint32_t at = child_of(node, key);
        struct node *child = store_at(session, node->of.children[at]);

        if (child->count == PAIRS) {
            split(session, node, at);
            child = store_at(session, node->of.children[child_of(node, key)]);
        }
        node = child;
    }
    return node;
}

static void operate(struct session *session, uint64_t key, uint64_t random)
{
    struct node *leaf = descend(session, key);
    uint32_t at = position(leaf, key), count = leaf->count;
    uint32_t value = (uint32_t)workload_value(key);

    (void)random;
    if (at < count && leaf->keys[at] == key) {
        move(session, &leaf->keys[at], &leaf->keys[at + 1], count - at - 1, sizeof(uint64_t));
        move(session, &leaf->of.values[at], &leaf->of.values[at + 1], count - at - 1,
             sizeof(uint32_t));
        set_count(session, leaf, count - 1);
        return;
    }
    move(session, &leaf->keys[at + 1], &leaf->keys[at], count - at, sizeof(uint64_t));
    move(session, &leaf->of.values[at + 1], &leaf->of.values[at], count - at, sizeof(uint32_t));
    store_u64(session, &leaf->keys[at], key);
    store_write(session, &leaf->of.values[at], &value, sizeof value);
    set_count(session, leaf, count + 1);
}

/* Keys from least to below end; returns how many pairs are below the node, or complains. */
static uint64_t check_node(const struct session *session, const uint8_t *present, uint64_t block,
                           uint64_t least, uint64_t end, unsigned depth, const char **complaint)
{
    const struct node *node = store_at(session, block);
    uint64_t pairs = 0;

    if (depth > DEPTH_GREATEST || node->count > PAIRS) {
        *complaint = "a node is none";
        return 0;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->keys[i] < least || node->keys[i] >= end ||
            (i > 0 && node->keys[i] <= node->keys[i - 1]))
            *complaint = "keys are out of order";
        else if (node->is_leaf && (!(present[node->keys[i]] & 1) ||
                                   node->of.values[i] != (uint32_t)workload_value(node->keys[i])))
            *complaint = "a pair should not be there, or its value is another one";
    }
    if (node->is_leaf || *complaint != NULL)
        return node->count;
    for (uint32_t i = 0; i <= node->count && *complaint == NULL; i++)
        pairs +=
            check_node(session, present, node->of.children[i], i == 0 ? least : node->keys[i - 1],
                       i == node->count ? end : node->keys[i], depth + 1, complaint);
    return pairs;
}

static const char *check(const struct session *session, const uint8_t *present, uint64_t keys)
{
    const struct tree *tree = store_at(session, session->root);
    const char *complaint = NULL;
    uint64_t wanted = 0, found = check_node(session, present, tree->top, 0, keys, 0, &complaint);

    for (uint64_t key = 0; key < keys; key++)
        wanted += present[key] & 1;
    if (complaint == NULL && found != wanted)
        complaint = "pairs are missing";
    return complaint;
}

const struct workload workload_btree = {"btree", create, operate, check, false, NULL};
