/*
 * SPDX-License-Identifier: MIT
 *
 * When a class is packed (CIA_LINES): its new blocks lie side by side, several to a cache line, in
 * place of each on lines of its own.
 *
 * With auto, the default, a class is packed once the program has more than 256 KiB of it on one
 * CPU: more than can be hot at once. Then for the whole process and for good: one table says which
 * size class a request has. Blocks that it had before keep their lines.
 */
#ifndef MPLACE_CIA_PACKING_H
#define MPLACE_CIA_PACKING_H

struct subheap;

/* For the holder of the lock, after each load of a magazine: packs the class if it has outgrown the
   bound. */
void packing_after_load(struct subheap *heap, unsigned size_class);

#endif
