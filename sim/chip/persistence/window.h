/*
 * SPDX-License-Identifier: MIT
 *
 * The speculation window of loc and loc-kiln: committed transactions that become durable together.
 * How a window is closed, and how the oldest transactions go home, is the protocol's.
 */
#ifndef CHIP_PERSISTENCE_WINDOW_H
#define CHIP_PERSISTENCE_WINDOW_H

#include "chip/persistence/protocol.h"

/* None begins while a window is being persisted, or the Tx state table is full. */
bool window_begin(struct persistence *persistence);

/* The transaction, whose commit was issued, is in the window and closed; the window is closed when
 * it has `degree` of them. */
void window_add(struct persistence *persistence, struct tx *tx, uint32_t degree);

/* As the members of struct persistence_protocol. */
bool window_flush(struct persistence *persistence, uint32_t thread);
bool window_drain(struct persistence *persistence);

#endif
