/*
 * SPDX-License-Identifier: MIT
 *
 * A program with an allocator and a lock library linked in. Both have a dlopen.
 */
#include <mplace.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    int64_t before = mplace_malloc_value("blocks.served");
    char *text = strdup("of libc");
    int64_t after = mplace_malloc_value("blocks.served");

    printf("%s %lld %s %s\n", mplace_malloc_name(), (long long)(after - before), mplace_lock_name(),
           text != NULL && dlopen("libm.so.6", RTLD_NOW) != NULL ? "opens" : dlerror());
    return 0;
}
