/*
 * SPDX-License-Identifier: MIT
 *
 * A program with libbank_malloc linked in: how many banks it knows, and whether there is memory.
 */
#include <mplace.h>
#include <mplace_bank.h>

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct bank_figures figures;
    void *block = bank_malloc(100000, 0, 0, BANK_SPLIT);

    bank_figures(&figures, sizeof figures);
    printf("%s of %u banks, a block %s\n", mplace_malloc_name(), figures.banks,
           block != NULL && figures.pool_bytes >= 100000 ? "is served" : "is not");
    free(block);
    return 0;
}
