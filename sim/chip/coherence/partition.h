/*
 * SPDX-License-Identifier: MIT
 *
 * How FLASK's storage is divided between directory and filter (section IV-B). Static: in halves.
 * Adaptive: a home decides once an epoch. Reconstructions say that the directory is too small,
 * false positives and overflows that the filter is: where one of the two is more frequent than one
 * in 32 requests and more than twice the other, it gets a way of the other. A table of the filter
 * moves what it holds to the other tables first, and stays if that has no room; a way of the
 * directory just loses its entries.
 */
#ifndef CHIP_PARTITION_H
#define CHIP_PARTITION_H

#include "chip/coherence/home.h"

/* After a request was served. */
void partition_adapt(struct home *home);

#endif
