/*
 * SPDX-License-Identifier: MIT
 *
 * Address space: get it from the kernel, give it back, and what is asked about its pages. The only
 * file of this folder with system calls. No lock; errno is preserved by every function.
 */
#ifndef MPLACE_CIA_PAGE_SOURCE_H
#define MPLACE_CIA_PAGE_SOURCE_H

#include "cia_malloc/pages/geometry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/*
 * The kernel, for all that follows; its answer, a negated errno value on failure. Not by libc's
 * functions: those are points where a thread is cancelled, and another library may stand before
 * them and allocate while the caller holds a sub-heap's lock. Weak: a test puts its own in their
 * place. What changes mappings has functions of its own, so that an aborted transaction names them.
 */
long page_source_mmap(void *hint, size_t bytes, int protection);
long page_source_munmap(void *address, size_t bytes);
long page_source_mremap(void *address, size_t old_bytes, size_t new_bytes);
long page_source_madvise(void *address, size_t bytes, int advice);
long page_source_call(long number, long first, long second, long third, long fourth, long fifth,
                      long sixth);

/*
 * Zeroed memory, readable and writable, a multiple of PAGE_BYTES, aligned to a power of two of at
 * least that. NULL when the kernel has none (the caller decides about ENOMEM).
 */
void *page_source_map(size_t bytes, size_t alignment);

/* Whether the kernel has so many addresses left for this process. Takes no memory meanwhile, also
   where the program locks all that it maps. */
bool page_source_has_room(size_t bytes);

/* madvise. Returns 0, or the number of the error. */
int page_source_advise(void *address, size_t bytes, int advice);

/* Whether the kernel gives huge pages on request. Reads a file at the first call. */
bool page_source_huge_pages_are_given(void);

/* Bytes of huge pages that the process has now. Reads a file. */
size_t page_source_huge_bytes(void);

/*
 * Asks for pages of a memory node (see base/memory_nodes.h) for a mapping that is not populated
 * yet, whichever CPU touches them first; where the node has none left, others do. Nothing is asked
 * for on a machine of one node, for a node of MEMORY_NODE_UNKNOWN, and in a thread that has a
 * memory policy, as under numactl: what its user asked for goes before.
 */
void page_source_bind(void *address, size_t bytes, uint8_t node);

/*
 * Returns whole mapped pages to the kernel; the addresses are free for others. False when they are
 * not: the kernel refuses what would split a mapping beyond its limit of them. Then the memory is
 * given back alone, if it can be.
 */
bool page_source_unmap(void *address, size_t bytes);

/* Returns the memory but keeps the addresses: the pages read as zero. False if the kernel refuses.
 */
bool page_source_purge(void *address, size_t bytes);

/*
 * For pages that a program freed and that are to be used for something else: withdraws its requests
 * to keep them out of its children or its core dump (madvise), and purges the first page. False:
 * that page is locked, as all of them usually are then; it is not purged.
 */
bool page_source_make_plain(void *address, size_t bytes);

/*
 * mprotect: with PROT_NONE a thread that touches the pages gets SIGSEGV. False, nothing changed,
 * when the kernel refuses: each change of this kind costs it a mapping.
 */
bool page_source_protect(void *address, size_t bytes, int protection);

/*
 * Populates pages, so that nobody has to wait for them later. What is in them stays: another thread
 * may use them meanwhile. Failure shows when they are used, as without.
 */
void page_source_populate(void *address, size_t bytes);

/*
 * Makes a mapping longer (both sizes multiples of PAGE_BYTES), where it stands or, without a copy,
 * somewhere else. Returns where it is then; NULL, nothing changed, when the kernel cannot. It never
 * can where what the program did to a part (madvise, mlock, mprotect) makes it several areas.
 */
void *page_source_grow(void *address, size_t old_bytes, size_t new_bytes);

/*
 * Zeroed memory for the allocator's own structures, at least line-aligned, never returned in part.
 * Consecutive calls begin in different colours, so that structures of one kind do not meet in a
 * set.
 */
void *page_source_map_metadata(size_t bytes);
void page_source_unmap_metadata(void *address, size_t bytes);

/* Bytes now mapped by page_source_map, metadata included. Read by anyone (relaxed), written here.
 */
extern atomic_size_t page_source_mapped_bytes;

#endif
