/*
 * SPDX-License-Identifier: MIT
 *
 * Memory for the benchmark's own tables, straight from the kernel: the allocator under study must
 * see the node allocations and nothing else.
 */
#ifndef BENCH_HARNESS_PAGES_H
#define BENCH_HARNESS_PAGES_H

#include <stddef.h>

/* Zeroed pages for count elements of the given size; NULL and errno when there are none. */
void *pages_map(size_t count, size_t element_size);

/* Gives them back; the same count and size. NULL is allowed. */
void pages_unmap(void *pages, size_t count, size_t element_size);

#endif
