/*
 * SPDX-License-Identifier: MIT
 *
 * What the fuzzer knows of the live blocks: where each is, which bytes it holds. Answers the three
 * questions that an allocator can get wrong without a crash: do two blocks overlap, does a block
 * still hold what was written to it, is it as long and as aligned as promised.
 */
#ifndef MPLACE_FUZZ_MODEL_H
#define MPLACE_FUZZ_MODEL_H

#include "avltree/avl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_SLOTS = 8192 };

/* A place for one block. Empty: block is NULL. Written only through the functions below. */
struct slot {
    struct avl_node node; /* in the tree of live blocks, by address */
    unsigned char *block;
    size_t bytes;     /* asked for */
    size_t charge;    /* the same, or what does not depend on the allocator's usable sizes */
    size_t usable;    /* malloc_usable_size said so, and all of it holds the pattern of tag */
    size_t alignment; /* promised */
    uint64_t tag;
};

extern struct slot model_slots[MODEL_SLOTS];
/* Sums of charge and of usable. What the fuzzer does may depend on the first only: it must do the
   same under every allocator. */
extern size_t model_live_charge, model_live_usable;

/* One line: where the fuzzer is and what is wrong; then abort(). Does not allocate. */
_Noreturn void model_fail(const struct slot *slot, const char *wrong);

/* A block that the allocator has just handed out: checks it, fills it with a new pattern. */
void model_add(struct slot *slot, void *block, size_t bytes, size_t charge, size_t alignment);

/* Just before the block is freed or reallocated: checks it, forgets it. The slot keeps what it was
   until model_add or model_clear. */
void model_remove(struct slot *slot);
void model_clear(struct slot *slot);

/* The slot's block was reallocated, and is here now: checks what was kept, fills it anew. */
void model_moved(struct slot *slot, void *block, size_t bytes);

/* After a realloc from the slot as model_remove left it: the first bytes are still there. */
void model_check_moved(const struct slot *old, const void *block, size_t bytes);

/* The block is as long as ever and holds its pattern. */
void model_check(const struct slot *slot);

void model_check_zero(const struct slot *slot, const void *block, size_t bytes);

#endif
