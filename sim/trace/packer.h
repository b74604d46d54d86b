/*
 * SPDX-License-Identifier: MIT
 *
 * Packs blocks and writes them to the file, in their order, in a thread of its own: who fills the
 * next block does not wait for that.
 */
#ifndef TRACE_PACKER_H
#define TRACE_PACKER_H

#include "trace/format.h"

#include <stdio.h>

struct packer;

/* NULL: errno says why. The file stays the caller's, who must not use it before packer_end(). */
struct packer *packer_begin(FILE *file);

/* Where the content of the next block goes: room for TRACE_RAW_MOST bytes. Waits if as many blocks
 * are waiting as there may be. */
uint8_t *packer_room(struct packer *packer);

/* The content of that many bytes is there. */
void packer_add(struct packer *packer, uint32_t stream, uint32_t events, size_t length);

/* The errno value of what failed so far; 0: nothing. */
int packer_failure(struct packer *packer);

/* Waits until all blocks are written, and frees the packer. Returns what failed, as above. */
int packer_end(struct packer *packer);

#endif
