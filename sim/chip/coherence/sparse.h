/*
 * SPDX-License-Identifier: MIT
 *
 * A sparse directory: each block in a private cache has an entry, and when an entry has to go its
 * copies go, too. The last level holds what the private caches gave up, and need not hold what they
 * have.
 */
#ifndef CHIP_SPARSE_H
#define CHIP_SPARSE_H

#include "chip/coherence/home.h"

/* False: out of memory. */
bool sparse_init(struct home *home, struct fabric *fabric, unsigned index);

#endif
