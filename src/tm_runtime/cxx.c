/*
 * SPDX-License-Identifier: MIT
 *
 * See cxx.h.
 */
#include "tm_runtime/cxx.h"

#include "tm_runtime/thread.h"

#include <dlfcn.h>

CXX_WEAK void *__cxa_begin_catch(void *exception);

/* The library stays loaded, for its functions are kept. */
void *cxx_look_up(void **found, const char *name)
{
    static void *library;
    void *function = __atomic_load_n(found, __ATOMIC_RELAXED);
    void *opened = __atomic_load_n(&library, __ATOMIC_RELAXED);

    if (function != NULL || __cxa_begin_catch != NULL)
        return function;
    if (opened == NULL) {
        opened = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
        __atomic_store_n(&library, opened, __ATOMIC_RELAXED);
    }
    if (opened == NULL)
        return NULL;
    function = dlsym(opened, name);
    __atomic_store_n(found, function, __ATOMIC_RELAXED);
    return function;
}

void *cxx_needed(void *function)
{
    if (function == NULL)
        tm_fatal("a transaction needs a function of libstdc++ that cannot be found");
    return function;
}
