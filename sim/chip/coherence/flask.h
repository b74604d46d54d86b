/*
 * SPDX-License-Identifier: MIT
 *
 * FLASK (section III): the directory has entries for actively shared blocks only, and loses them
 * without a message. Where it has none, the filter tells whether any private cache may have the
 * block; if so all cores are asked, each answers, and the entry is made again from the answers.
 *
 * The filter holds a block from the moment all its tokens leave the home, or memory, for a private
 * cache until all of them are at the home again: that is when no private cache has it. The home's
 * own copy needs no filter, for its tags are looked up anyway.
 */
#ifndef CHIP_FLASK_H
#define CHIP_FLASK_H

#include "chip/coherence/home.h"

/* False: out of memory. */
bool flask_init(struct home *home, struct fabric *fabric, unsigned index);

#endif
