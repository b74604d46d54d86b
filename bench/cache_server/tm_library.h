/*
 * SPDX-License-Identifier: MIT
 *
 * Library functions that are safe in transactions. Those that are written anew (memcmp, realloc)
 * are compiled twice, plainly and instrumented; of the others, shared text is copied to the stack
 * and the C library's function sees the copy alone.
 */
#ifndef BENCH_CACHE_SERVER_TM_LIBRARY_H
#define BENCH_CACHE_SERVER_TM_LIBRARY_H

#include <stddef.h>

enum { TM_DIGITS = 24 }; /* of a number, with the closing null byte; 64 bits have 20 */

__attribute__((transaction_safe)) int tm_memcmp(const void *left, const void *right, size_t size);

/* Always a new block: old_size bytes of it are the old one's. */
__attribute__((transaction_safe)) void *tm_realloc(void *block, size_t old_size, size_t size);

/* As strtoull, for numbers of less than TM_DIGITS digits; end and base as there. */
__attribute__((transaction_safe)) unsigned long long tm_strtoull(const char *text, char **end,
                                                                 int base);

/* Writes the number in decimal, size bytes at most with the closing null byte; returns its digits.
 */
__attribute__((transaction_safe)) int tm_decimal(char *to, size_t size, unsigned long long number);

#endif
