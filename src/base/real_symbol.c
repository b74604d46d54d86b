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
    void *address = version != NULL ? dlvsym(RTLD_NEXT, name, version) : NULL;

    return address != NULL ? address : dlsym(RTLD_NEXT, name);
}
