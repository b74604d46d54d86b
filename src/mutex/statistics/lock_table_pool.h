/*
 * SPDX-License-Identifier: MIT
 *
 * Where threads get their tables from, and how a report finds all of them.
 *
 * A table is mapped for a thread when it first counts, and is never unmapped: what an ended thread
 * counted stays. A later thread takes the table of an ended one over and counts on in it, so there
 * are about as many tables as there were threads at one time, however many come and go. Nothing
 * runs at thread exit: whether a table's thread still lives is asked of the kernel, by its id, when
 * somebody needs a table.
 */
#ifndef MPLACE_MUTEX_LOCK_TABLE_POOL_H
#define MPLACE_MUTEX_LOCK_TABLE_POOL_H

#include "mutex/statistics/lock_table.h"

/*
 * The threads of the calling process own the tables: when counting begins, and in the child of
 * fork. Not left to the first claim, which may come from a child of vfork. In the child of a raw
 * clone nobody says so: it takes over none of its parent's tables.
 */
void lock_tables_belong_here(void);

/*
 * A table for the calling thread, whose id by libc is given; never called inside a transaction.
 * NULL: no memory. errno is preserved. The owner is the kernel's id, which the child of a raw clone
 * has and libc does not know, but for a child of vfork: there its parent's thread is the owner.
 */
struct lock_table *lock_table_claim(int thread, uint32_t epoch);

/* In the child of fork: the table, the calling thread's own, belongs to its new id. */
void lock_table_keep_in_child(struct lock_table *table, int thread);

/* All tables, newest first; NULL at the end. Others may be added meanwhile, none goes. */
struct lock_table *lock_table_first(void);
struct lock_table *lock_table_after(const struct lock_table *table);

/* Where the newest is kept, for another process to begin at. */
struct lock_table *const *lock_tables_at(void);

#endif
