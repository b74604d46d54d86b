/*
 * SPDX-License-Identifier: MIT
 *
 * What a program can ask libbank_malloc.so: memory of a controller and bank, whose a block is, and
 * which banks a thread allocates from. Find the functions by dlsym, as mplace.h says, or link the
 * library. All are thread-safe, none is
 * async-signal-safe. Where nothing is known of banks (the library says so in one line
 * when it is loaded) bank_of and bank_thread_colours fail with ENODATA.
 */
#ifndef MPLACE_BANK_H
#define MPLACE_BANK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a block may come from when its bank is full, tried in this order; a mask. */
enum bank_mode {
    BANK_RESTRICTED = 1,   /* another bank of the controller, the one with most free memory */
    BANK_UNRESTRICTED = 2, /* another controller, likewise */
    BANK_SPLIT = 4         /* contiguous frames' addresses across banks */
};

/*
 * A block of size bytes, rounded up to whole chunks (bank_figures), from that bank of that
 * controller, or by the modes. NULL: ENOMEM; EINVAL for a bank or controller that does not exist or
 * modes that are none. Contents are undefined. free and realloc take it, too; realloc allocates
 * from the calling thread's banks.
 */
void *bank_malloc(size_t size, uint32_t controller, uint32_t bank, unsigned modes);

/* Same as free. */
void bank_free(void *block);

/*
 * The controller and bank of the memory at this address, which is in a block of the library. 0, or
 * EINVAL: in no block; ENODATA: no bank is known of it, as of blocks from before a fork in the
 * child. Says what the pool holds; bank_count_moved finds what the kernel changed since.
 */
int bank_of(const void *address, uint32_t *controller, uint32_t *bank);

/*
 * The calling thread allocates from these banks of the controller from now on, in turn; blocks that
 * it has stay where they are. 0, or EINVAL: something does not exist, or count is 0; ENODATA;
 * ENOMEM.
 */
int bank_thread_colours(uint32_t controller, const uint32_t *banks, size_t count);

/* The pool. Fields are only ever appended; figures_size below makes that safe. */
struct bank_figures {
    uint64_t pool_bytes;  /* that the pool has */
    uint64_t free_bytes;  /* of whole free chunks */
    uint64_t chunk_bytes; /* the unit of memory of one bank */
    uint32_t controllers, banks;
};

/* Copies min(figures_size, sizeof(struct bank_figures)) bytes. */
void bank_figures(struct bank_figures *figures, size_t figures_size);

/*
 * Asks the kernel again where each chunk of the pool is: how many are in another bank than when
 * they were taken (compaction, swap, a page copied after fork). -1: frame numbers are not known, or
 * the kernel cannot be asked now, for lack of a file descriptor.
 */
int64_t bank_count_moved(void);

#ifdef __cplusplus
}
#endif
#endif
