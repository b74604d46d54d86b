/*
 * SPDX-License-Identifier: MIT
 *
 * A program with librand_malloc linked in: the same request gives blocks of different lengths.
 */
#include <mplace.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    enum { BLOCKS = 1000 };
    size_t least = SIZE_MAX, most = 0;

    for (int i = 0; i < BLOCKS; i++) {
        size_t usable = malloc_usable_size(malloc(1000));

        least = usable < least ? usable : least;
        most = usable > most ? usable : most;
    }
    printf("%s %s\n", mplace_malloc_name(), least < most ? "jitters" : "does nothing");
    return 0;
}
