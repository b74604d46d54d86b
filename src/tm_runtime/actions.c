/*
 * SPDX-License-Identifier: MIT
 *
 * See actions.h.
 */
#include "tm_runtime/actions.h"

#include "tm_runtime/algorithms/algorithm.h"
#include "tm_runtime/cxx.h"
#include "tm_runtime/logs/private_blocks.h"

/* libsupc++: with its last argument ends that many handlers, without destroying exceptions. */
CXX_WEAK void __cxa_tm_cleanup(void *unthrown, void *on_its_way, unsigned handlers);

static void *append(struct tm_thread *self, struct log *log, size_t size)
{
    if (!log_reserve(log, size))
        tm_fatal("no memory for the actions of a transaction");
    self->has_actions = true;
    return log_append(log, size);
}

void actions_record_allocation(struct tm_thread *self, const struct tm_allocation *allocation)
{
    *(struct tm_allocation *)append(self, &self->allocations, sizeof *allocation) = *allocation;
}

bool actions_record_block(struct tm_thread *self, void *block, size_t size, void (*release)(void *))
{
    actions_record_allocation(self, &(struct tm_allocation){.block = block, .release = release});
    return !self->algorithm->buffers || self->holds_sequence_lock ||
           private_blocks_add(self, block, size);
}

struct tm_allocation *actions_find_block(const struct tm_thread *self, const void *block)
{
    for (size_t i = LOG_COUNT(&self->allocations, struct tm_allocation); i-- > 0;) {
        struct tm_allocation *allocation = LOG_AT(&self->allocations, struct tm_allocation, i);

        if (allocation->block == block && !allocation->at_commit)
            return allocation;
    }
    return NULL;
}

void actions_record_user_action(struct tm_thread *self, const struct tm_user_action *action)
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

/* Frees what is to be freed at commit, or at roll-back, of the entries from one on. */
static void release_blocks(const struct log *allocations, size_t first, bool at_commit)
{
    for (size_t i = first; i < LOG_COUNT(allocations, struct tm_allocation); i++) {
        const struct tm_allocation *allocation = LOG_AT(allocations, struct tm_allocation, i);

        if (allocation->at_commit == at_commit)
            release(allocation);
    }
}

/* Takes the log's entries; the thread's is empty. */
static struct log take(struct log *log)
{
    struct log taken = *log;

    *log = (struct log){.bytes = NULL};
    return taken;
}

/* Gives its pages back to the thread, unless it has got others meanwhile. */
static void give_back(struct log *log, struct log *taken)
{
    taken->used = 0;
    if (log->bytes == NULL)
        *log = *taken;
    else
        log_destroy(taken);
}

/* A destructor or an action may begin transactions, which have logs of their own. */
void actions_commit(struct tm_thread *self)
{
    struct log allocations = take(&self->allocations);
    struct log actions = take(&self->user_actions);

    self->has_actions = false;
    self->catches = 0;
    private_blocks_clear(self);
    release_blocks(&allocations, 0, true);
    give_back(&self->allocations, &allocations);
    for (size_t i = 0; i < LOG_COUNT(&actions, struct tm_user_action); i++) {
        const struct tm_user_action *action = LOG_AT(&actions, struct tm_user_action, i);

        if (action->at_commit)
            action->function(action->argument);
    }
    give_back(&self->user_actions, &actions);
}

/* Ends the handlers that were entered since there were so many, and makes the number of exceptions
 * on their way what it was at begin. */
static void end_exceptions(struct tm_thread *self, uint32_t catches)
{
    if (self->catches > catches) {
        CXX(__cxa_tm_cleanup)(NULL, NULL, self->catches - catches);
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
    release_blocks(&self->allocations, allocations / sizeof(struct tm_allocation), false);
    self->allocations.used = allocations;
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
