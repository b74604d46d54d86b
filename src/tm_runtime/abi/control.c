/*
 * SPDX-License-Identifier: MIT
 *
 * The entry points that begin, end and ask about transactions. _ITM_beginTransaction itself is in
 * registers.S, and calls tm_begin.
 */
#include "base/report.h"
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/algorithms/htm.h"
#include "tm_runtime/registry.h"
#include "tm_runtime/transaction.h"

#include <stdlib.h>

ITM_EXPORT void _ITM_commitTransaction(void);
ITM_EXPORT __attribute__((noreturn)) void _ITM_abortTransaction(int reason);
ITM_EXPORT void _ITM_changeTransactionMode(int mode);
ITM_EXPORT int _ITM_inTransaction(void);
ITM_EXPORT uint64_t _ITM_getTransactionId(void);
ITM_EXPORT void _ITM_addUserCommitAction(void (*function)(void *), uint64_t id, void *argument);
ITM_EXPORT void _ITM_addUserUndoAction(void (*function)(void *), void *argument);
ITM_EXPORT void _ITM_dropReferences(void *start, size_t size);
ITM_EXPORT int _ITM_versionCompatible(int version);
ITM_EXPORT const char *_ITM_libraryVersion(void);
ITM_EXPORT __attribute__((noreturn)) void _ITM_error(const struct itm_source_location *location,
                                                     int code);

uint32_t tm_begin(uint32_t properties, const struct tm_registers *registers);

__attribute__((used)) uint32_t tm_begin(uint32_t properties, const struct tm_registers *registers)
{
    struct tm_thread *self = tm_self;

    if (__builtin_expect(self == NULL, 0))
        self = registry_enter();
    if (__builtin_expect(transaction_settings.hardware_first, 0)) {
        uint32_t actions = htm_try_begin(self, properties, registers);

        if (actions != 0)
            return actions;
    }
    return transaction_begin(self, properties, registers);
}

void _ITM_commitTransaction(void)
{
    struct tm_thread *self = tm_self;

    if (__builtin_expect(self->hardware_depth != 0, 0))
        htm_commit(self);
    else
        transaction_commit(self);
}

void _ITM_abortTransaction(int reason)
{
    htm_leave_for_software(tm_self);
    if (!(reason & ITM_USER_ABORT))
        tm_fatal("_ITM_abortTransaction with a reason that is not the program's");
    transaction_cancel(tm_self, (reason & ITM_OUTER_ABORT) != 0);
}

/* Serial irrevocable is the only mode that the ABI has. */
void _ITM_changeTransactionMode(int mode)
{
    (void)mode;
    htm_leave_for_software(tm_self);
    transaction_become_irrevocable(tm_self);
}

int _ITM_inTransaction(void)
{
    const struct tm_thread *self = tm_self;

    if (self == NULL || (self->nesting == 0 && self->hardware_depth == 0))
        return ITM_OUTSIDE_TRANSACTION;
    return self->nesting != 0 && transaction_is_irrevocable(self) ? ITM_IN_IRREVOCABLE_TRANSACTION
                                                                  : ITM_IN_RETRYABLE_TRANSACTION;
}

uint64_t _ITM_getTransactionId(void)
{
    const struct tm_thread *self = tm_self;

    htm_leave_for_software(self);
    return self == NULL || self->nesting == 0 ? ITM_NO_TRANSACTION_ID : self->id;
}

void _ITM_addUserCommitAction(void (*function)(void *), uint64_t id, void *argument)
{
    htm_leave_for_software(tm_self);
    if (id != ITM_NO_TRANSACTION_ID)
        tm_fatal("_ITM_addUserCommitAction: actions at the commit of an inner transaction are not "
                 "supported");
    actions_record_user_action(
        tm_self,
        &(struct tm_user_action){.function = function, .argument = argument, .at_commit = true});
}

void _ITM_addUserUndoAction(void (*function)(void *), void *argument)
{
    htm_leave_for_software(tm_self);
    actions_record_user_action(
        tm_self, &(struct tm_user_action){.function = function, .argument = argument});
}

/* A promise that the transaction will not care what becomes of the bytes. Nothing to gain here. */
void _ITM_dropReferences(void *start, size_t size)
{
    (void)start;
    (void)size;
}

int _ITM_versionCompatible(int version)
{
    return version == ITM_VERSION;
}

const char *_ITM_libraryVersion(void)
{
    return "mplace libtm_runtime, ABI 0.90 (Feb 29 2008)";
}

void _ITM_error(const struct itm_source_location *location, int code)
{
    report_line("mplace: libtm_runtime.so: _ITM_error %d at %s", code,
                location != NULL && location->source != NULL ? location->source : "?");
    abort();
}
