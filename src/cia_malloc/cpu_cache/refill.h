/*
 * SPDX-License-Identifier: MIT
 *
 * Slow path of malloc for the classes: what to do when the loaded magazine has no block. Reloads
 * a full one, or loads the magazine from the class heap; also serves classes that have no magazine,
 * and threads that may not use sequences.
 */
#ifndef MPLACE_CIA_REFILL_H
#define MPLACE_CIA_REFILL_H

#include <stdint.h>

/* A block of the class, with MAGAZINE_UNTOUCHED; 0 when out of memory. */
uintptr_t refill_block(unsigned size_class);

/*
 * Where magazines are under the sub-heap's lock: the newest block of the loaded magazine at that
 * offset, see magazine_offset_of. 0 when there is none, or the lock is taken. An exchange and a
 * release.
 */
uintptr_t refill_pop_locked(uint32_t offset);

#endif
