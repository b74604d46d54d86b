/*
 * SPDX-License-Identifier: MIT
 *
 * See actions.h.
 */
#include "tm_runtime/actions.h"

#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/logs/private_blocks.h"
#include "tm_runtime/transaction.h"

/* libsupc++: with its last argument ends that many handlers, without destroying exceptions. */
__attribute__((weak)) void __cxa_tm_cleanup(void *unthrown, void *on_its_way, unsigned handlers);

static void *append(struct tm_thread *self, struct log *log, size_t size)
{
    if (!log_reserve(log, size))
        tm_fatal("no memory for the actions of a transaction");
    self->has_actions = true;
    return log_append(log, size);
}

void actions_note_allocation(struct tm_thread *self, const struct tm_allocation *allocation)
{
    *(struct tm_allocation *)append(self, &self->allocations, sizeof *allocation) = *allocation;
}

void actions_note_block(struct tm_thread *self, void *block, size_t size, void (*release)(void *))
{
    actions_note_allocation(self, &(struct tm_allocation){.block = block, .release = release});
    if (self->algorithm->buffers && !self->holds_sequence_lock &&
        !private_blocks_add(self, block, size))
        transaction_restart(self, TM_NO_MEMORY);
}

bool actions_have_block(const struct tm_thread *self, const void *block)
{
    for (size_t i = LOG_COUNT(&self->allocations, struct tm_allocation); i-- > 0;) {
        const struct tm_allocation *allocation =
            LOG_AT(&self->allocations, struct tm_allocation, i);

        if (allocation->block == block && !allocation->at_commit)
            return true;
    }
    return false;
}

void actions_note_user_action(struct tm_thread *self, const struct tm_user_action *action)
{
    *(struct tm_user_action *)append(self, &self->user_actions, sizeof *action) = *action;
}

static void release(const struct tm_allocation *allocation)
{
    if (allocation->release_sized != NULL)
        allocation->release_sized(allocation->block, allocation->size);
    else
        allocation->release(allocation->block);
}

/* Frees what is to be freed at commit, or at roll-back, and forgets the rest down to a length. */
static void release_blocks(struct tm_thread *self, size_t down_to, bool at_commit)
{
    size_t first = down_to / sizeof(struct tm_allocation);

    for (size_t i = first; i < LOG_COUNT(&self->allocations, struct tm_allocation); i++) {
        const struct tm_allocation *allocation =
            LOG_AT(&self->allocations, struct tm_allocation, i);

        if (allocation->at_commit == at_commit)
            release(allocation);
    }
    self->allocations.used = down_to;
}

/* An action may begin transactions, which note actions of their own: each is read anew. */
void actions_commit(struct tm_thread *self)
{
    struct log actions = self->user_actions;

    self->has_actions = false;
    self->catches = 0;
    private_blocks_clear(self);
    release_blocks(self, 0, true);
    if (actions.used == 0)
        return;
    self->user_actions = (struct log){.bytes = NULL};
    for (size_t i = 0; i < LOG_COUNT(&actions, struct tm_user_action); i++) {
        struct tm_user_action action = *LOG_AT(&actions, struct tm_user_action, i);

        if (action.at_commit)
            action.function(action.argument);
    }
    if (self->user_actions.bytes == NULL) {
        actions.used = 0;
        self->user_actions = actions;
    } else {
        log_destroy(&actions);
    }
}

/* Ends the handlers that were entered since there were so many, and makes the number of exceptions
 * on their way what it was at begin. */
static void end_exceptions(struct tm_thread *self, uint32_t catches)
{
    if (self->catches > catches) {
        __cxa_tm_cleanup(NULL, NULL, self->catches - catches);
        self->catches = catches;
    }
    if (self->uncaught_now != NULL)
        *self->uncaught_now = self->uncaught;
}

static void roll_back_down_to(struct tm_thread *self, size_t allocations, size_t user_actions,
                              uint32_t catches)
{
    end_exceptions(self, catches);
    while (self->user_actions.used > user_actions) {
        struct tm_user_action action;

        self->user_actions.used -= sizeof action;
        action =
            *(struct tm_user_action *)(void *)(self->user_actions.bytes + self->user_actions.used);
        if (!action.at_commit)
            action.function(action.argument);
    }
    release_blocks(self, allocations, false);
}

void actions_roll_back(struct tm_thread *self)
{
    roll_back_down_to(self, 0, 0, 0);
    self->has_actions = false;
    private_blocks_clear(self);
}

void actions_roll_back_to(struct tm_thread *self, const struct tm_checkpoint *checkpoint)
{
    roll_back_down_to(self, checkpoint->allocations, checkpoint->user_actions, checkpoint->catches);
}
