/*
 * SPDX-License-Identifier: MIT
 *
 * Size classes of the blocks that share a chunk: steps of 16 B up to 128 B, four classes from one
 * power of two to the next above, up to half a chunk; each as long as the number of its blocks in a
 * chunk allows. Powers of two are classes, so that a block of one is aligned to its size.
 */
#ifndef MPLACE_BANK_SIZE_CLASS_H
#define MPLACE_BANK_SIZE_CLASS_H

#include "bank_malloc/memory/arena.h"

enum { CLASSES_MOST = 48, CLASS_SIZE_MOST = 1 << (CHUNK_SHIFT_MOST - 1) };

struct size_classes {
    uint32_t count;
    uint32_t longest; /* bytes; a longer block has chunks of its own. 0 before the start */
    uint32_t size[CLASSES_MOST];
    uint8_t of_size[CLASS_SIZE_MOST / BLOCK_ALIGNMENT + 1]; /* of each size / 16, rounded up */
};

extern struct size_classes size_classes;

/* For chunks of 1 << chunk_shift bytes, from FRAME_SHIFT to CHUNK_SHIFT_MOST. */
void size_classes_start(unsigned chunk_shift);

/* Of 0 to size_classes.longest bytes. */
static inline unsigned size_class_of(size_t bytes)
{
    return size_classes.of_size[(bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT];
}

#endif
