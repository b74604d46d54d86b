/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for one test: what libbank_malloc.so exports, but every second page is the one
 * before once more, and all are said to be in bank 0 of controller 0.
 */
#include "mplace_bank.h"

#include <stdlib.h>
#include <string.h>

void *bank_malloc(size_t size, uint32_t controller, uint32_t bank, unsigned modes)
{
    static _Thread_local unsigned count;
    static _Thread_local void *last;

    (void)controller, (void)bank, (void)modes;
    if (count++ % 2 == 0)
        last = malloc(size);
    return last;
}

int bank_of(const void *address, uint32_t *controller, uint32_t *bank)
{
    (void)address;
    *controller = *bank = 0;
    return 0;
}

void bank_figures(struct bank_figures *figures, size_t figures_size)
{
    struct bank_figures all = {.chunk_bytes = 8192, .controllers = 4, .banks = 8};

    memcpy(figures, &all, figures_size < sizeof all ? figures_size : sizeof all);
}
