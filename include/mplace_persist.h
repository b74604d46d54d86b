/*
 * SPDX-License-Identifier: MIT
 *
 * libmplace_persist: transactions on a mapped file, which survive a power cut where the file is on
 * persistent memory (DAX) or a disk, and the end of the process everywhere.
 *
 * A region is a file: a header, a log, and memory that the program allocates blocks from. The
 * program reads and writes a private view of that memory; only the library writes to the file.
 * persist_write changes the view at once and notes what it changed; persist_commit writes that to
 * the log; when the log is full, and at close, its transactions are copied to their places in the
 * file. persist_open does so with the log that it finds: the region then holds exactly the
 * transactions up to some commit in commit order, and no less than all durable ones.
 *
 * The log's two formats are those of Lu, Shu, Sun and Mutlu, "Loose-Ordering Consistency for
 * Persistent Memory" (ICCD 2014): a redo log with commit records, and Eager Commit. The private
 * view is that of DudeTM (Liu et al., ASPLOS 2017). It costs memory for each page that was written
 * to since the region was opened, and 40 B for each page of the region.
 *
 * Threads: any number of transactions at a time, each used by one thread at a time. The library
 * keeps commits and allocation apart; the program keeps its data apart, as with libpmemobj: what
 * one transaction writes no other may read or write until persist_commit or persist_abort has
 * returned, so a lock on it is held until then. Different bytes of one cache line are different
 * data.
 *
 * One process at a time. The child of a fork has no transactions: where a function could begin,
 * change, commit or flush one it returns EPERM, persist_abort does nothing, and what it reads in
 * the view may be what its parent wrote later. It may close the region, which is not written. Until
 * it has done so, or ended, no process can open the region, even if its parent has ended.
 *
 * Functions that fail return NULL, 0 or an errno value as each says; persist_error tells more.
 */
#ifndef MPLACE_PERSIST_H
#define MPLACE_PERSIST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct persist_region;
struct persist_tx;

/* Fixed when the region is created. */
enum persist_log {
    PERSIST_LOG_WAL,  /* write-ahead: blocks, fence, commit record, fence */
    PERSIST_LOG_EAGER /* blocks that tell by count and checksum whether all are there, fence */
};

/* Limits of persist_create, in bytes. */
#define PERSIST_LEAST_MEMORY    65536ull
#define PERSIST_GREATEST_MEMORY (1ull << 40) /* 1 TiB */
#define PERSIST_LEAST_LOG       8192ull
#define PERSIST_GREATEST_LOG    (1ull << 32) /* 4 GiB */

/*
 * Creates the file, with mode 0600, of a region with memory_bytes for blocks, rounded up to pages
 * of 4 KiB, and a log of log_bytes, rounded down to groups of 704 B. The file must not exist; it
 * takes its full length at once. Returns 0, or EINVAL: a size out of its limits or no such log;
 * EEXIST; ENOSPC and what else open(2), posix_fallocate(3), mmap(2) and msync(2) say. A creation
 * that fails leaves no file; one that a power cut ends leaves a file that persist_open refuses.
 */
int persist_create(const char *path, uint64_t memory_bytes, enum persist_log log,
                   uint64_t log_bytes);

/*
 * Opens the region and recovers it. NULL, and errno: EBUSY, some process has it open; EMEDIUMTYPE,
 * not a region; ENOTSUP, a region of another version; EBADMSG, truncated or damaged; ENOMEM;
 * ENOSPC, a sparse copy, for whose holes there is no room; and what else open(2), mmap(2) and
 * posix_fallocate(3) say. A region that is refused is not changed, except where the table of pages
 * is damaged, or there is no memory for what a process keeps of it (ENOMEM): that is seen when the
 * log has been copied to its places.
 * Recovery takes time in proportion to the log: well below a second for 32 MiB.
 */
struct persist_region *persist_open(const char *path);

/*
 * Makes all commits durable, copies them to their places and frees the region. No transaction may
 * be open. Returns 0, or EBUSY: one is, and the region stays open; EIO: msync failed, see
 * persist_commit (the region is closed nevertheless, and what was durable still is).
 */
int persist_close(struct persist_region *region);

/* A line on what the calling thread's last failure in this library was about; "" without one. Valid
   until the thread's next failure. */
const char *persist_error(void);

/*
 * The private view: blocks are offsets from here, so that they mean the same after the next open.
 * Page-aligned, and constant while the region is open. Offset 0 is no block.
 */
void *persist_base(const struct persist_region *region);

/* The offset that persist_set_root stored last, 0 in a new region: where the program begins to find
   its data. */
uint64_t persist_root(const struct persist_region *region);

/* How stores become durable here: "DAX, CLWB and SFENCE", "tmpfs, CLWB and SFENCE" (the data
   survive the process, not the machine), "file, msync"; CLFLUSHOPT and CLFLUSH likewise. */
const char *persist_medium(const struct persist_region *region);

/* NULL, and errno: ENOMEM; EPERM in the child of a fork; EIO after msync failed. */
struct persist_tx *persist_begin(struct persist_region *region);

/*
 * Copies size bytes from source to destination, in a block of the view. Any alignment; a
 * transaction costs by the lines of 64 B that it writes to. Source must not overlap destination.
 * Returns 0, or EINVAL: not in the region's memory; ENOSPC: the transaction would not fit the log
 * (64 B for each line that it writes); ENOMEM. After an error nothing was changed, and the
 * transaction goes on.
 */
int persist_write(struct persist_tx *tx, void *destination, const void *source, size_t size);

/*
 * A block of size bytes, 1 to the region's memory, aligned to 64 B, of undefined contents: it is
 * allocated if the transaction commits. Placed as libcia_malloc places blocks: those of one size
 * take all sets of an L1 cache of 64 sets in turn. 0, and errno: ENOSPC: no memory is left, or the
 * transaction would not fit the log; EINVAL: size 0; ENOMEM.
 */
uint64_t persist_alloc(struct persist_tx *tx, uint64_t size);

/* Frees the block if the transaction commits; until then its contents stay. Returns 0, or EINVAL:
   no such block, or one that another transaction allocated and has not committed, or it is being
   freed; ENOSPC: the transaction would not fit the log; ENOMEM. */
int persist_free(struct persist_tx *tx, uint64_t block);

/* Stores what persist_root returns, as part of the transaction. Errors are those of
   persist_write; EINVAL: no offset in the region's memory, and not 0. */
int persist_set_root(struct persist_tx *tx, uint64_t offset);

/*
 * Commits, durably, and ends the transaction, whose pointer is invalid then. All earlier commits
 * are durable, too. Costs one fence with PERSIST_LOG_EAGER, two with PERSIST_LOG_WAL; when the log
 * is full also that it is copied to its places. Returns 0, or EIO: msync failed. Then nothing is
 * known of this transaction until the region is opened again, which it must be: all later commits
 * return EIO. EPERM in the child of a fork: nothing is done, and the pointer stays valid.
 */
int persist_commit(struct persist_tx *tx);

/*
 * The same, but the commit becomes durable with the next persist_commit, persist_flush or
 * persist_close. Until then a power cut may take it, and those after it, but it takes no commit
 * without taking all later ones. No fence with PERSIST_LOG_EAGER; with PERSIST_LOG_WAL, whose
 * commit record needs its blocks in memory before it, the same as persist_commit.
 */
int persist_commit_deferred(struct persist_tx *tx);

/* Makes all commits durable: one fence, or none if they are. Returns 0 or EIO as persist_commit. */
int persist_flush(struct persist_region *region);

/* Undoes all writes and allocations, and ends the transaction. Cannot fail. */
void persist_abort(struct persist_tx *tx);

/* Counts since the region was opened, of recovery as well. Fields are only ever appended. */
struct persist_statistics {
    uint64_t committed, aborted; /* transactions that wrote something */
    uint64_t blocks;             /* lines of data written to the log */
    uint64_t flushes;     /* lines flushed by CLWB, CLFLUSHOPT, CLFLUSH, or noted for msync */
    uint64_t fences;      /* SFENCE or msync */
    uint64_t checkpoints; /* times that the log was copied to its places */
    uint64_t recovered;   /* transactions that persist_open found in the log */
};

/* Copies min(size, sizeof(struct persist_statistics)) bytes; consistent if no thread commits. */
void persist_statistics(struct persist_region *region, struct persist_statistics *statistics,
                        size_t size);

#ifdef __cplusplus
}
#endif
#endif
