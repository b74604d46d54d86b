/*
 * SPDX-License-Identifier: MIT
 *
 * A library of the program's whose fork handlers are registered before those of a preloaded one,
 * and allocate in the child. See bank_atfork.c.
 */
#include "bank_atfork_early.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

unsigned bank_atfork_blocks;

static void in_child(void)
{
    for (size_t bytes = 16; bytes < 100000; bytes += bytes / 2) {
        char *block = malloc(bytes);

        if (block == NULL)
            continue;
        memset(block, 1, bytes);
        free(block);
        bank_atfork_blocks++;
    }
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
