/*
 * SPDX-License-Identifier: MIT
 *
 * Whether blocks of 100 B are packed once many live. usage: malloc_lines packed|exclusive
 */
#include "expect.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum { BLOCKS = 8000, BYTES = 100, LINE = 64 };
    static char *blocks[BLOCKS];
    int share = 0;

    EXPECT(argc == 2);
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
        share += malloc_usable_size(blocks[i]) % LINE != 0;
    }
    if (strcmp(argv[1], "packed") == 0)
        EXPECT(share > BLOCKS / 2 && share < BLOCKS); /* not the first ones */
    else
        EXPECT(share == 0);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return 0;
}
