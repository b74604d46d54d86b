/*
 * SPDX-License-Identifier: MIT
 *
 * malloc, calloc, free, operator new and delete in transactions: what is allocated is freed if the
 * transaction rolls back; what it frees is freed once it has committed, and once every transaction
 * that may have read the block has ended.
 */
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/actions.h"
#include "tm_runtime/cxx.h"
#include "tm_runtime/transaction.h"

#include <stdlib.h>

/* C++'s names, mangled. nothrow: a reference to an object that nobody looks at. */
CXX_WEAK void *_Znwm(size_t size);
CXX_WEAK void *_Znam(size_t size);
CXX_WEAK void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow);
CXX_WEAK void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow);
CXX_WEAK void _ZdlPv(void *block);
CXX_WEAK void _ZdaPv(void *block);
CXX_WEAK void _ZdlPvm(void *block, size_t size);

ITM_EXPORT void *_ITM_malloc(size_t size);
ITM_EXPORT void *_ITM_calloc(size_t count, size_t size);
ITM_EXPORT void _ITM_free(void *block);
ITM_EXPORT void *_ZGTtnwm(size_t size);
ITM_EXPORT void *_ZGTtnam(size_t size);
ITM_EXPORT void *_ZGTtnwmRKSt9nothrow_t(size_t size, const void *nothrow);
ITM_EXPORT void *_ZGTtnamRKSt9nothrow_t(size_t size, const void *nothrow);
ITM_EXPORT void _ZGTtdlPv(void *block);
ITM_EXPORT void _ZGTtdaPv(void *block);
ITM_EXPORT void _ZGTtdlPvRKSt9nothrow_t(void *block, const void *nothrow);
ITM_EXPORT void _ZGTtdaPvRKSt9nothrow_t(void *block, const void *nothrow);
ITM_EXPORT void _ZGTtdlPvm(void *block, size_t size);
ITM_EXPORT void _ZGTtdlPvmRKSt9nothrow_t(void *block, size_t size, const void *nothrow);

static void *allocated(void *block, size_t size, void (*release)(void *))
{
    if (block != NULL && !actions_record_block(tm_self, block, size, release))
        transaction_restart(tm_self, TM_NO_MEMORY);
    return block;
}

static void freed(void *block, void (*release)(void *))
{
    if (block != NULL)
        actions_record_allocation(
            tm_self,
            &(struct tm_allocation){.block = block, .release = release, .at_commit = true});
}

void *_ITM_malloc(size_t size)
{
    return allocated(malloc(size), size, free);
}

void *_ITM_calloc(size_t count, size_t size)
{
    return allocated(calloc(count, size), count * size, free);
}

void _ITM_free(void *block)
{
    freed(block, free);
}

void *_ZGTtnwm(size_t size)
{
    return allocated(CXX(_Znwm)(size), size, CXX(_ZdlPv));
}

void *_ZGTtnam(size_t size)
{
    return allocated(CXX(_Znam)(size), size, CXX(_ZdaPv));
}

void *_ZGTtnwmRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return allocated(CXX(_ZnwmRKSt9nothrow_t)(size, nothrow), size, CXX(_ZdlPv));
}

void *_ZGTtnamRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return allocated(CXX(_ZnamRKSt9nothrow_t)(size, nothrow), size, CXX(_ZdaPv));
}

void _ZGTtdlPv(void *block)
{
    freed(block, CXX(_ZdlPv));
}

void _ZGTtdaPv(void *block)
{
    freed(block, CXX(_ZdaPv));
}

/* The nothrow forms of delete are called where a constructor throws; they free the same. */
void _ZGTtdlPvRKSt9nothrow_t(void *block, const void *nothrow)
{
    (void)nothrow;
    freed(block, CXX(_ZdlPv));
}

void _ZGTtdaPvRKSt9nothrow_t(void *block, const void *nothrow)
{
    (void)nothrow;
    freed(block, CXX(_ZdaPv));
}

void _ZGTtdlPvm(void *block, size_t size)
{
    if (block != NULL)
        actions_record_allocation(tm_self, &(struct tm_allocation){.block = block,
                                                                   .release_sized = CXX(_ZdlPvm),
                                                                   .size = size,
                                                                   .at_commit = true});
}

void _ZGTtdlPvmRKSt9nothrow_t(void *block, size_t size, const void *nothrow)
{
    (void)nothrow;
    _ZGTtdlPvm(block, size);
}
