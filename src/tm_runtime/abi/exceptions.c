/*
 * SPDX-License-Identifier: MIT
 *
 * _ITM_cxa_*: the C++ ABI's functions, with a note of what a roll-back must take back. An exception
 * is a block of the transaction, and is kept until the transaction ends, by a reference that is
 * taken when a handler is entered: were it freed when the handler ends, as it is without
 * transactions, a roll-back would restore its bytes in memory that others may have by then.
 *
 * Limitations: a libstdc++ that is linked into the program has only what the program and libitm
 * name. Without std::current_exception a caught exception is freed with its handler all the same,
 * without __cxa_free_exception one that is not caught stays after a roll-back, and without
 * __cxa_tm_cleanup a roll-back inside a handler ends the process. std::uncaught_exceptions() is
 * restored to what it was when the outermost transaction began, also where only a nested one is
 * cancelled.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/cxx.h"
#include "tm_runtime/transaction.h"

#include <unwind.h>

CXX_WEAK void *__cxa_allocate_exception(size_t size);
CXX_WEAK void __cxa_throw(void *object, void *type, void (*destroy)(void *));
CXX_WEAK void *__cxa_begin_catch(void *exception);
CXX_WEAK void __cxa_end_catch(void);
/* Frees memory, and no more: what the object's destructor would do is undone. */
CXX_WEAK void __cxa_free_exception(void *exception);

/* std::current_exception() and the destructor of its result, a pointer that counts as a reference;
 * NULL for what is not C++'s. */
CXX_WEAK void _ZSt17current_exceptionv(void **result);
CXX_WEAK void _ZNSt15__exception_ptr13exception_ptrD1Ev(void **pointer);

ITM_EXPORT void *_ITM_cxa_allocate_exception(size_t size);
ITM_EXPORT void _ITM_cxa_free_exception(void *exception);
ITM_EXPORT void _ITM_cxa_throw(void *object, void *type, void (*destroy)(void *));
ITM_EXPORT void *_ITM_cxa_begin_catch(void *exception);
ITM_EXPORT void _ITM_cxa_end_catch(void);
ITM_EXPORT void _ITM_commitTransactionEH(void *exception);
ITM_EXPORT void _ITM_commitTransaction(void);

/* The unwinder's header lies before the object: two words, and two more that align. */
enum { UNWIND_HEADER = 32 };

static void free_exception(void *exception)
{
    void (*function)(void *) = CXX_OR_NULL(__cxa_free_exception);

    if (function != NULL)
        function(exception);
}

void *_ITM_cxa_allocate_exception(size_t size)
{
    void *exception = CXX(__cxa_allocate_exception)(size);

    if (!actions_record_block(tm_self, exception, size, free_exception))
        transaction_restart(tm_self, TM_NO_MEMORY);
    return exception;
}

/* The exception's constructor has thrown: it is of no use, whatever becomes of the transaction. */
void _ITM_cxa_free_exception(void *exception)
{
    actions_record_allocation(
        tm_self,
        &(struct tm_allocation){.block = exception, .release = free_exception, .at_commit = true});
}

void _ITM_cxa_throw(void *object, void *type, void (*destroy)(void *))
{
    /* libstdc++ may have come after the thread's first transaction. */
    if (tm_self->uncaught_now == NULL) {
        tm_self->uncaught_now = &CXX(__cxa_get_globals)()->uncaught;
        tm_self->uncaught = *tm_self->uncaught_now;
    }
    CXX(__cxa_throw)(object, type, destroy);
    __builtin_unreachable();
}

/* Destroys the exception if the reference is the last one. */
static void release_reference(void *exception)
{
    CXX(_ZNSt15__exception_ptr13exception_ptrD1Ev)(&exception);
}

static void leave_to_its_handler(void *exception)
{
    (void)exception;
}

/* Keeps the exception whose handler has been entered until the transaction ends. */
static void keep(struct tm_allocation *allocation)
{
    void (*current)(void **) = CXX_OR_NULL(_ZSt17current_exceptionv);
    void *reference = NULL;

    if (current == NULL || CXX_OR_NULL(_ZNSt15__exception_ptr13exception_ptrD1Ev) == NULL) {
        allocation->release = leave_to_its_handler;
        return;
    }
    current(&reference);
    if (reference != NULL)
        actions_record_allocation(tm_self, &(struct tm_allocation){.block = reference,
                                                                   .release = release_reference,
                                                                   .at_commit = true});
}

/* exception: the unwinder's header. One that was not allocated here is freed with its handler. */
void *_ITM_cxa_begin_catch(void *exception)
{
    struct tm_allocation *ours =
        actions_find_block(tm_self, (const char *)exception + UNWIND_HEADER);
    void *object;

    tm_self->catches++;
    tm_self->has_actions = true;
    object = CXX(__cxa_begin_catch)(exception);
    if (ours != NULL)
        keep(ours);
    return object;
}

void _ITM_cxa_end_catch(void)
{
    tm_self->catches--;
    CXX(__cxa_end_catch)();
}

/* libgcc keeps there the function that a forced unwinding stops at: the thread ends or is
 * cancelled, and no exception is on its way. */
static bool is_forced(const void *exception)
{
    const struct _Unwind_Exception *header = exception;

    return header != NULL && header->private_1 != 0;
}

/*
 * exception: the unwinder's header. An exception leaves the transaction; if the commit fails, the
 * roll-back frees it as a block. A thread that ends inside leaves the outermost one undone, unless
 * it ran alone.
 */
void _ITM_commitTransactionEH(void *exception)
{
    if (tm_self != NULL && tm_self->nesting == 1 && is_forced(exception) &&
        !transaction_is_irrevocable(tm_self))
        transaction_leave_undone(tm_self);
    else
        _ITM_commitTransaction();
}
