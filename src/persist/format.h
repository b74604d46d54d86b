/*
 * SPDX-License-Identifier: MIT
 *
 * What a region's file looks like. All numbers are little-endian.
 *
 *   0        header (64 B), two heads of the log (64 B each)
 *   4096     the log: groups of 704 B
 *   memory   a page-aligned area: root (8 B), table of pages from byte 64 on, pages of 4 KiB
 *
 * The log is that of Eager Commit (Lu et al., ICCD 2014, section III-A). A group has seven data
 * blocks, a line of 64 B each, and a metadata block: the group's sequence number, SID, and a tag
 * for each data block, <CID, TID, TxID, TxCnt, ADDR>. The paper's machine writes a group, of 64 B
 * in all, atomically. No machine here does: x86-64 promises 8 aligned bytes. So each tag has a
 * checksum over itself, its data and the SID; a block of which some words are missing is no block.
 *
 * The tag says besides which bytes of the line the transaction wrote: two transactions may write to
 * one line at a time.
 */
#ifndef MPLACE_PERSIST_FORMAT_H
#define MPLACE_PERSIST_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PERSIST_VERSION = 1,
    PERSIST_LINE = 64,
    PERSIST_PAGE = 4096,
    GROUP_BLOCKS = 7,
    LOG_OFFSET = PERSIST_PAGE,
    TABLE_OFFSET = PERSIST_LINE, /* in the memory area */
};

#define PERSIST_MAGIC "mplPERS\n"

struct region_header {
    char magic[8];
    uint32_t version;
    uint32_t log;           /* enum persist_log */
    uint64_t file_bytes;    /* exactly */
    uint64_t groups;        /* of the log */
    uint64_t memory_offset; /* of the memory area in the file */
    uint64_t pages;         /* of 4 KiB that blocks are allocated from */
    uint64_t seed;          /* of all checksums; no two regions have the same */
    uint64_t checksum;      /* of the words before it, seed 0 */
};
static_assert(sizeof(struct region_header) == PERSIST_LINE, "one line");

/*
 * Where the log begins. The log is filled from its first group on; group i has SID first_sid + i.
 * When it is full its transactions are copied to their places, and a new round begins at group 0
 * with first_sid increased by the number of groups: a SID is used once.
 * A new head is written beside the old one: while it is torn the old one is valid, and the log that
 * it describes is whole.
 */
struct log_head {
    uint64_t first_sid;
    uint64_t first_txid; /* of the first transaction in the log; those before it are in place */
    uint64_t checksum;   /* of these two */
    uint64_t unused[5];
};
static_assert(sizeof(struct log_head) == PERSIST_LINE, "one line");

enum { HEADS = 2, HEADS_OFFSET = PERSIST_LINE };

/*
 * Of one data block. Transactions are numbered from 1 on in commit order.
 * eager: the last block of a transaction has the number of its blocks in TxCnt, all others 0.
 * wal: all blocks have TxCnt 0; the commit record is a tag with mask 0, whose data block is unused,
 * and that number in TxCnt.
 */
struct block_tag {
    uint64_t place;    /* ADDR, line in the memory area << 24 | CID << 12 | TID */
    uint64_t number;   /* TxID << 16 | TxCnt */
    uint64_t mask;     /* bit i: byte i of the line is written */
    uint64_t checksum; /* of these three, the data (not of a commit record), and the SID */
};

enum { PLACE_SHIFT = 24, CID_SHIFT = 12, ID_MASK = 0xfff, TXID_SHIFT = 16 };
#define TXCNT_GREATEST ((1u << TXID_SHIFT) - 1)
#define TXID_GREATEST  (UINT64_MAX >> TXID_SHIFT)

struct log_group {
    uint8_t data[GROUP_BLOCKS][PERSIST_LINE];
    uint64_t sid;
    uint64_t unused[3];
    struct block_tag tag[GROUP_BLOCKS];
};
static_assert(sizeof(struct log_group) == 704, "eleven lines");
static_assert(offsetof(struct log_group, sid) % PERSIST_LINE == 0,
              "the SID is beside the first tag");

/*
 * What the table says of a page that is the first one of a span of blocks or of a large block.
 * Meaningless inside of those, and free where taken is 0: so whoever makes a span writes one entry.
 */
struct page_entry {
    uint64_t what; /* lines of a block of a span; or LARGE_BLOCK | pages << 8 | line it begins at */
    uint64_t taken; /* bit i: block i is allocated */
};
#define LARGE_BLOCK (UINT64_C(1) << 63)

/* Bytes of the memory area before its pages. */
static inline uint64_t format_pages_offset(uint64_t pages)
{
    return (TABLE_OFFSET + pages * sizeof(struct page_entry) + PERSIST_PAGE - 1) &
           ~(uint64_t)(PERSIST_PAGE - 1);
}

#endif
