/*
 * SPDX-License-Identifier: MIT
 *
 * Of the allocator malloc_new_elsewhere.cpp.
 */
#ifndef MALLOC_NEW_ELSEWHERE_H
#define MALLOC_NEW_ELSEWHERE_H

#include <cstddef>

/* A block of its own interface. */
void *elsewhere_allocate(std::size_t bytes);

/* The page is its memory from now on; gives a block there. */
void *elsewhere_allocate_in(void *page);

/* Blocks that elsewhere_allocate and its operators new, in all their forms, gave out. */
std::size_t elsewhere_objects();

/* Blocks that came back to its free. */
std::size_t elsewhere_freed();

#endif
