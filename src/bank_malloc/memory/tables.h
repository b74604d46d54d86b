/*
 * SPDX-License-Identifier: MIT
 *
 * The tables of the pool and of the chunks without memory: one mapping, which is replaced by a
 * larger one as the pool grows. The child of a fork finds all of it by that one word, and so has
 * the tables from before or after a change of another thread, whole.
 *
 * Every function is called with arena.lock held.
 */
#ifndef MPLACE_BANK_TABLES_H
#define MPLACE_BANK_TABLES_H

#include "bank_malloc/pool/pool.h"

/*
 * An empty pool for that many chunks, and the set of all of them, which are without memory. Returns
 * the mapping; NULL: there is no memory.
 */
char *tables_make(uint32_t capacity, uint32_t controllers, uint32_t banks, struct pool *pool,
                  struct bit_index *unread);

/* Room for more chunks, without memory, in another mapping, that becomes *mapping; false: there is
   no memory. */
bool tables_extend(uint32_t capacity, char **mapping, struct pool *pool, struct bit_index *unread);

/*
 * In the child of a fork: the pool is empty. `inherit` is told each chunk that was neither free nor
 * without memory: it is in use, or of no use, and is in neither table. Of the pool only the numbers
 * of controllers and banks are looked at.
 */
void tables_start_child(char *mapping, struct pool *pool, struct bit_index *unread,
                        void (*inherit)(uint32_t chunk));

#endif
