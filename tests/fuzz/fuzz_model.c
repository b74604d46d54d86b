/*
 * SPDX-License-Identifier: MIT
 *
 * See fuzz_model.h.
 */
#include "fuzz_model.h"

#include "fuzz.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slot model_slots[MODEL_SLOTS];
size_t model_live_charge, model_live_usable;

struct fuzz_position fuzz_position;

static struct avl_tree live;

_Noreturn void model_fail(const struct slot *slot, const char *wrong)
{
    dprintf(STDERR_FILENO,
            "fuzz: seed %llu input %llu operation %llu (%s): %s: block %p, %zu bytes, usable %zu, "
            "alignment %zu\n",
            (unsigned long long)fuzz_position.seed, (unsigned long long)fuzz_position.input,
            (unsigned long long)fuzz_position.operation, fuzz_position.name, wrong,
            slot != NULL ? (void *)slot->block : NULL, slot != NULL ? slot->bytes : 0,
            slot != NULL ? slot->usable : 0, slot != NULL ? slot->alignment : 0);
    abort();
}

static const struct slot *slot_of(const struct avl_node *node)
{
    return (const struct slot *)((const char *)node - offsetof(struct slot, node));
}

static int compare_addresses(const struct avl_node *left, const struct avl_node *right)
{
    const unsigned char *a = slot_of(left)->block, *b = slot_of(right)->block;

    return (a > b) - (a < b);
}

/* A block of no usable bytes still is one address that nobody else may have. */
static size_t extent(const struct slot *slot)
{
    return slot->usable > 0 ? slot->usable : 1;
}

static void insert(struct slot *slot)
{
    struct avl_place place;
    const struct avl_node *before, *after;

    if (live.compare == NULL)
        avl_init(&live, compare_addresses);
    if (avl_find(&live, &slot->node, &place) != NULL)
        model_fail(slot, "a live block was handed out again");
    before = avl_nearest(&place, AVL_BEFORE);
    if (before != NULL && slot_of(before)->block + extent(slot_of(before)) > slot->block)
        model_fail(slot, "begins inside a live block");
    after = avl_nearest(&place, AVL_AFTER);
    if (after != NULL && slot->block + extent(slot) > slot_of(after)->block)
        model_fail(slot, "ends inside a live block");
    avl_insert(&live, &slot->node, &place);
    model_live_charge += slot->charge;
    model_live_usable += slot->usable;
}

/*
 * The pattern: words that depend on the tag and on their place. Every word of the first pages is
 * written and checked, of longer blocks the beginning of each page, of very long ones of each
 * sixteenth, and the last bytes; else the fuzzer would do nothing but touch memory. Which words of
 * a block's inside are covered depends on the offset alone, so that a block that realloc moved can
 * be checked at its new length.
 */
enum { WORD = sizeof(uint64_t), TAIL = 256, WHOLE = 8192, SPARSE = 1 << 18 };

static uint64_t pattern(uint64_t tag, size_t offset)
{
    return (tag | 1) * 0x9e3779b97f4a7c15u + offset * 0xff51afd7ed558ccdu;
}

static size_t next_covered(size_t offset)
{
    if (offset < WHOLE)
        return offset;
    size_t step = offset < SPARSE ? 4096 : 65536;
    return offset % step < 32 ? offset : offset - offset % step + step;
}

static void write_word(unsigned char *block, size_t offset, uint64_t tag)
{
    uint64_t word = pattern(tag, offset);

    memcpy(block + offset, &word, sizeof word);
}

static bool holds_word(const unsigned char *block, size_t offset, uint64_t tag)
{
    uint64_t word = pattern(tag, offset), found;

    memcpy(&found, block + offset, sizeof found);
    return found == word;
}

/* The bytes behind the last whole word. */
static void write_rest(unsigned char *block, size_t bytes, uint64_t tag)
{
    size_t offset = bytes / WORD * WORD;
    uint64_t word = pattern(tag, offset);

    memcpy(block + offset, &word, bytes - offset);
}

static bool holds_rest(const unsigned char *block, size_t bytes, uint64_t tag)
{
    size_t offset = bytes / WORD * WORD;
    uint64_t word = pattern(tag, offset);

    return memcmp(block + offset, &word, bytes - offset) == 0;
}

static size_t tail_begin(size_t bytes)
{
    return bytes > TAIL ? (bytes - TAIL) / WORD * WORD : 0;
}

static void fill(unsigned char *block, size_t bytes, uint64_t tag)
{
    size_t offset;

    for (offset = 0; offset + WORD <= bytes; offset = next_covered(offset + WORD))
        write_word(block, offset, tag);
    if (bytes > WHOLE)
        for (offset = tail_begin(bytes); offset + WORD <= bytes; offset += WORD)
            write_word(block, offset, tag);
    write_rest(block, bytes, tag);
}

/* Whether the first bytes of a block that was filled to its end hold the pattern. */
static bool holds(const unsigned char *block, size_t bytes, size_t filled, uint64_t tag)
{
    size_t offset;

    for (offset = 0; offset + WORD <= bytes; offset = next_covered(offset + WORD))
        if (!holds_word(block, offset, tag))
            return false;
    if (bytes < filled)
        return bytes > WHOLE || holds_rest(block, bytes, tag);
    if (bytes > WHOLE)
        for (offset = tail_begin(bytes); offset + WORD <= bytes; offset += WORD)
            if (!holds_word(block, offset, tag))
                return false;
    return holds_rest(block, bytes, tag);
}

void model_add(struct slot *slot, void *block, size_t bytes, size_t charge, size_t alignment)
{
    static uint64_t last_tag;

    slot->block = block;
    slot->bytes = bytes;
    slot->charge = charge;
    slot->alignment = alignment > 16 ? alignment : 16;
    slot->usable = malloc_usable_size(block);
    slot->tag = ++last_tag;
    if ((uintptr_t)block % slot->alignment != 0)
        model_fail(slot, "not aligned as asked");
    if (slot->usable < bytes)
        model_fail(slot, "shorter than asked");
    insert(slot);
    fill(slot->block, slot->usable, slot->tag);
}

void model_check(const struct slot *slot)
{
    if (malloc_usable_size(slot->block) != slot->usable)
        model_fail(slot, "the usable size changed");
    if (!holds(slot->block, slot->usable, slot->usable, slot->tag))
        model_fail(slot, "lost what was written to it");
}

static void forget(struct slot *slot)
{
    avl_remove(&live, &slot->node);
    model_live_charge -= slot->charge;
    model_live_usable -= slot->usable;
}

void model_remove(struct slot *slot)
{
    model_check(slot);
    forget(slot);
}

void model_clear(struct slot *slot)
{
    slot->block = NULL;
}

void model_check_moved(const struct slot *old, const void *block, size_t bytes)
{
    size_t kept = bytes < old->usable ? bytes : old->usable;

    if (!holds(block, kept, old->usable, old->tag))
        model_fail(old, "realloc lost what was in it");
}

void model_check_zero(const struct slot *slot, const void *block, size_t bytes)
{
    const unsigned char *byte = block;

    if (bytes > 0 && (byte[0] != 0 || memcmp(byte, byte + 1, bytes - 1) != 0))
        model_fail(slot, "calloc's block is not zero");
}

void model_moved(struct slot *slot, void *block, size_t bytes)
{
    forget(slot);
    model_check_moved(slot, block, bytes);
    model_add(slot, block, bytes, bytes, 0);
}
