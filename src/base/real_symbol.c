/*
 * SPDX-License-Identifier: MIT
 *
 * Symbol look-up behind this library; see real_symbol.h. RTLD_NEXT counts from the object that
 * contains the call, and base is linked statically into each library: "this library" is the caller.
 */
#include "base/real_symbol.h"

#include <dlfcn.h>
#include <stddef.h>

void *real_symbol(const char *name, const char *version)
{
    void *next = dlsym(RTLD_NEXT, name);
    void *versioned = version != NULL ? dlvsym(RTLD_NEXT, name, version) : NULL;

    /* Two libraries: the nearer one interposes the function without a version, and goes first. In
     * one library dlsym may have found the oldest version. */
    if (versioned == NULL || (next != NULL && object_of(next) != object_of(versioned)))
        return next;
    return versioned;
}

const void *object_of(const void *function)
{
    Dl_info object;

    return function != NULL && dladdr(function, &object) != 0 ? object.dli_fbase : NULL;
}
