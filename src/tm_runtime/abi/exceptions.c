/*
 * SPDX-License-Identifier: MIT
 *
 * _ITM_cxa_*: the C++ ABI's functions, with a note of what a roll-back must take back. An exception
 * that the transaction allocated is a block to free until a handler is entered; from then on ending
 * the handler frees it. libstdc++ comes with the program or not at all, hence the weak references.
 *
 * Limitation: std::uncaught_exceptions() is restored to what it was when the outermost transaction
 * began, also where only a nested one is cancelled.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/thread.h"

#define WEAK __attribute__((weak))

WEAK void *__cxa_allocate_exception(size_t size);
WEAK void __cxa_throw(void *object, void *type, void (*destroy)(void *));
WEAK void *__cxa_begin_catch(void *exception);
WEAK void __cxa_end_catch(void);
/* Frees memory, and no more: what the object's destructor would do is undone. */
WEAK void __cxa_free_exception(void *exception);

ITM_EXPORT void *_ITM_cxa_allocate_exception(size_t size);
ITM_EXPORT void _ITM_cxa_free_exception(void *exception);
ITM_EXPORT void _ITM_cxa_throw(void *object, void *type, void (*destroy)(void *));
ITM_EXPORT void *_ITM_cxa_begin_catch(void *exception);
ITM_EXPORT void _ITM_cxa_end_catch(void);
ITM_EXPORT void _ITM_commitTransactionEH(void *exception);
ITM_EXPORT void _ITM_commitTransaction(void);

/* The unwinder's header lies before the object: two words, and two more that align. */
enum { UNWIND_HEADER = 32 };

void *_ITM_cxa_allocate_exception(size_t size)
{
    void *exception = __cxa_allocate_exception(size);
    uintptr_t start = (uintptr_t)exception, end = start + size;

    if (tm_self->exceptions_end == 0 || start < tm_self->exceptions_start)
        tm_self->exceptions_start = start;
    if (end > tm_self->exceptions_end)
        tm_self->exceptions_end = end;
    actions_note_allocation(
        tm_self, &(struct tm_allocation){.block = exception, .release = __cxa_free_exception});
    return exception;
}

/* The exception's constructor has thrown: it is of no use, whatever becomes of the transaction. */
void _ITM_cxa_free_exception(void *exception)
{
    actions_note_allocation(tm_self, &(struct tm_allocation){.block = exception,
                                                             .release = __cxa_free_exception,
                                                             .at_commit = true});
}

void _ITM_cxa_throw(void *object, void *type, void (*destroy)(void *))
{
    __cxa_throw(object, type, destroy);
    __builtin_unreachable();
}

/* exception: the unwinder's header. One that was not allocated here is not found, and stays. */
void *_ITM_cxa_begin_catch(void *exception)
{
    actions_drop_allocation(tm_self, (const char *)exception + UNWIND_HEADER);
    tm_self->catches++;
    tm_self->has_actions = true;
    return __cxa_begin_catch(exception);
}

void _ITM_cxa_end_catch(void)
{
    tm_self->catches--;
    __cxa_end_catch();
}

/* An exception leaves the transaction. If the commit fails, the roll-back frees it as a block. */
void _ITM_commitTransactionEH(void *exception)
{
    (void)exception;
    _ITM_commitTransaction();
}
