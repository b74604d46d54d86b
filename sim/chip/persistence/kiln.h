/*
 * SPDX-License-Identifier: MIT
 *
 * What kiln and loc-kiln share: versions in banks that are not volatile. kiln.c says what holds.
 */
#ifndef CHIP_KILN_H
#define CHIP_KILN_H

#include "chip/persistence/protocol.h"

/* The block goes to its bank; the transaction has an operation under way until it is there. */
void kiln_flush(struct persistence *persistence, struct write *write);

/* The bank has the version no more. */
void kiln_leave_bank(struct persistence *persistence, struct write *write);

/* Those of the transaction's versions that are home leave their banks. */
void kiln_leave_home(struct persistence *persistence, struct tx *tx);

/* Takes a durable version home, unless it is there or on its way. */
void kiln_home_write(struct persistence *persistence, struct write *write);

/* The versions before this one, which is durable, are not needed. */
void kiln_supersede(struct persistence *persistence, struct write *write);

/* The transaction is durable, and others' versions are superseded: what has no way in a bank goes
 * home, and its part of the log in memory ends; that of a window is ended by loc-kiln. True: it has
 * none. */
bool kiln_clean(struct persistence *persistence, struct tx *tx);

/* What went to the log in memory is there: it leaves its bank. */
void kiln_logged(struct persistence *persistence, struct tx *tx);

/* Forgets the transaction if nothing is left to do for it. */
void kiln_retire_if_done(struct persistence *persistence, struct tx *tx);

/* For struct persistence_protocol. */
void kiln_evicted(struct persistence *persistence, struct write *newest, unsigned agent);
void kiln_displaced(struct persistence *persistence, struct write *write, unsigned agent);
void kiln_arrived(struct persistence *persistence, struct block_state *block);
struct write *kiln_departed(struct persistence *persistence, struct block_state *block);
void kiln_homed(struct persistence *persistence, struct write *write);

#endif
