/*
 * SPDX-License-Identifier: MIT
 *
 * What each protocol does with persistent memory after a power cut. It reads what an implementation
 * could read: homes, tags, commit records, dependency pairs and the head, nothing of the
 * simulation.
 */
#ifndef CHIP_RECOVERY_H
#define CHIP_RECOVERY_H

#include "chip/machine/values.h"
#include "chip/persistence/image.h"

/* Recovers by the rules of the protocol. `contents`: of each place of the image, which may have got
 * more of them. */
void recovery_run(struct image *image, enum machine_persistence protocol, uint64_t **contents);

#endif
