/*
 * SPDX-License-Identifier: MIT
 *
 * A library that allocates when it is loaded and frees when it is unloaded, for malloc_lifetime.
 */
#include <stdlib.h>
#include <string.h>

char *plugin_block(void);
static char *kept;

__attribute__((constructor)) static void load(void)
{
    kept = malloc(5000);
    if (kept == NULL)
        abort();
    strcpy(kept, "allocated in a constructor");
}

__attribute__((destructor)) static void unload(void)
{
    free(kept);
    free(calloc(3, 1000));
}

char *plugin_block(void)
{
    char *copy = strdup(kept);

    if (copy == NULL)
        abort();
    return copy;
}
