/*
 * SPDX-License-Identifier: MIT
 *
 * See size_class.h.
 */
#include "bank_malloc/heap/size_class.h"

struct size_classes size_classes;

enum { EVEN_STEPS_MOST = 128, STEPS_A_DOUBLING = 4 };

/* The largest size of which a chunk holds as many blocks as of this one. */
static uint32_t stretched(uint32_t size, uint32_t chunk)
{
    return chunk / (chunk / size) & ~(uint32_t)(BLOCK_ALIGNMENT - 1);
}

static void add_class(uint32_t size)
{
    if (size_classes.count > 0 && size_classes.size[size_classes.count - 1] >= size)
        return;
    size_classes.size[size_classes.count++] = size;
}

void size_classes_start(unsigned chunk_shift)
{
    uint32_t chunk = 1u << chunk_shift, class = 0;

    size_classes.count = 0;
    for (uint32_t size = BLOCK_ALIGNMENT; size <= EVEN_STEPS_MOST; size += BLOCK_ALIGNMENT)
        add_class(size);
    for (uint32_t power = EVEN_STEPS_MOST; power < chunk / 2; power *= 2) {
        for (uint32_t step = 1; step <= STEPS_A_DOUBLING; step++)
            add_class(stretched(power + power / STEPS_A_DOUBLING * step, chunk));
    }
    for (uint32_t i = 0; i <= chunk / 2 / BLOCK_ALIGNMENT; i++) {
        if (i * BLOCK_ALIGNMENT > size_classes.size[class])
            class ++;
        size_classes.of_size[i] = (uint8_t) class;
    }
    size_classes.longest = chunk / 2;
}
