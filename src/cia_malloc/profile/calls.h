/*
 * SPDX-License-Identifier: MIT
 *
 * The calls that are kept, in order, while a profile is written.
 */
#ifndef MPLACE_CIA_PROFILE_CALLS_H
#define MPLACE_CIA_PROFILE_CALLS_H

#include "base/code/elf_functions.h"

#include <stdbool.h>
#include <stdint.h>

struct calls {
    uint64_t count;
    size_t bytes;
    uint64_t *address;       /* return addresses, ascending */
    struct elf_place *place; /* room for as many */
};

/* All that are kept (KEPT_CALL). False: no memory. */
bool calls_make(struct calls *calls);

void calls_drop(const struct calls *calls);

#endif
