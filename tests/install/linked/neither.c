/*
 * SPDX-License-Identifier: MIT
 *
 * A program that links nothing, and looks for what is preloaded.
 */
#include <mplace.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    int64_t (*value)(const char *) =
        (int64_t(*)(const char *))dlsym(RTLD_DEFAULT, "mplace_malloc_value");

    char *text = strdup("of libc");

    if (value == NULL || text == NULL)
        puts("not loaded");
    else
        puts(value("blocks.served") > 0 ? "loaded" : "loaded, and does not serve");
    return 0;
}
