/*
 * SPDX-License-Identifier: MIT
 *
 * What a transaction does at its end beside memory: frees, user actions, C++ exceptions.
 */
#ifndef TM_RUNTIME_ACTIONS_H
#define TM_RUNTIME_ACTIONS_H

#include "tm_runtime/thread.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A block was allocated, or is to be freed, by the transaction. release frees it; with a size if
 * release_sized is set.
 */
struct tm_allocation {
    void *block;
    void (*release)(void *);
    void (*release_sized)(void *, size_t);
    size_t size;
    bool at_commit; /* otherwise at roll-back */
};

void actions_record_allocation(struct tm_thread *self, const struct tm_allocation *allocation);

/* A block that the transaction has allocated, and that no other thread knows until it commits.
 * False: no memory; the transaction must start again, which frees the block. */
bool actions_record_block(struct tm_thread *self, void *block, size_t size,
                          void (*release)(void *));

/* Of a block that the transaction has allocated, or a nested one that has committed; NULL: none. */
struct tm_allocation *actions_find_block(const struct tm_thread *self, const void *block);

struct tm_user_action {
    void (*function)(void *);
    void *argument;
    bool at_commit; /* otherwise at roll-back */
};

void actions_record_user_action(struct tm_thread *self, const struct tm_user_action *action);

/* Commit: user actions in the order of their coming, after memory was freed. The thread is outside
 * of any transaction, and may begin new ones. */
void actions_commit(struct tm_thread *self);

/* Roll-back: exceptions are ended, user actions run newest first, blocks are freed. */
void actions_roll_back(struct tm_thread *self);
void actions_roll_back_to(struct tm_thread *self, const struct tm_checkpoint *checkpoint);

#endif
