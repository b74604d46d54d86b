/*
 * SPDX-License-Identifier: MIT
 *
 * _ITM_cxa_*: the C++ ABI's functions, with a note of what a roll-back must take back. An exception
 * is a block of the transaction, and is kept until the transaction ends, by a reference that is
 * taken when a handler is entered: were it freed when the handler ends, as it is without
 * transactions, a roll-back would restore its bytes in memory that others may have by then.
 *
 * Limitation: std::uncaught_exceptions() is restored to what it was when the outermost transaction
 * began, also where only a nested one is cancelled.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/cxx.h"
#include "tm_runtime/transaction.h"

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

void *_ITM_cxa_allocate_exception(size_t size)
{
    void *exception = CXX(__cxa_allocate_exception)(size);

    if (!actions_record_block(tm_self, exception, size, CXX(__cxa_free_exception)))
        transaction_restart(tm_self, TM_NO_MEMORY);
    return exception;
}

/* The exception's constructor has thrown: it is of no use, whatever becomes of the transaction. */
void _ITM_cxa_free_exception(void *exception)
{
    actions_record_allocation(tm_self, &(struct tm_allocation){.block = exception,
                                                               .release = CXX(__cxa_free_exception),
                                                               .at_commit = true});
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

/* exception: the unwinder's header. One that was not allocated here is freed with its handler. */
void *_ITM_cxa_begin_catch(void *exception)
{
    bool is_ours = actions_have_block(tm_self, (const char *)exception + UNWIND_HEADER);
    void *reference = NULL;
    void *object;

    tm_self->catches++;
    tm_self->has_actions = true;
    object = CXX(__cxa_begin_catch)(exception);
    if (is_ours)
        CXX(_ZSt17current_exceptionv)(&reference);
    if (reference != NULL)
        actions_record_allocation(tm_self, &(struct tm_allocation){.block = reference,
                                                                   .release = release_reference,
                                                                   .at_commit = true});
    return object;
}

void _ITM_cxa_end_catch(void)
{
    tm_self->catches--;
    CXX(__cxa_end_catch)();
}

/* An exception leaves the transaction. If the commit fails, the roll-back frees it as a block. */
void _ITM_commitTransactionEH(void *exception)
{
    (void)exception;
    _ITM_commitTransaction();
}
