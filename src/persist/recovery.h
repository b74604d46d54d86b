/*
 * SPDX-License-Identifier: MIT
 *
 * What the log that a region is opened with says: which transactions are committed. Theirs are
 * copied to their places, and the log is empty then. Being cut by a power failure itself is no
 * matter: the same log is found again.
 *
 * The rule is the paper's (Lu et al., ICCD 2014, section III-C). Count the whole blocks of each
 * transaction. One is there if the count is what one of its blocks says (eager), or if its commit
 * record is there (wal). The first that is not there ends the log: all later ones are dropped,
 * since they may depend on it.
 */
#ifndef MPLACE_PERSIST_RECOVERY_H
#define MPLACE_PERSIST_RECOVERY_H

#include "persist/log.h"

/*
 * Sets first_sid, first_txid, next_txid and used of a log that has all else, and recovers it.
 * *recovered becomes the number of transactions. 0; EBADMSG: no valid head, or the newest is
 * damaged, or a committed transaction of a wal is not whole (nothing was changed then); ENOMEM;
 * what msync failed with.
 */
int recovery_run(struct log *log, uint64_t *recovered);

#endif
