/*
 * SPDX-License-Identifier: MIT
 *
 * A black-box fuzzer of the malloc family: a string of bytes is a program of allocations, and what
 * the allocator answers is held against a model that knows every live block. Whichever allocator
 * the process has is the one under test. The model itself never allocates.
 */
#ifndef MPLACE_FUZZ_H
#define MPLACE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_THREADS_MOST = 8 };

/* Once, before the first fuzz_one: how many threads take turns. They never run at the same time,
   so a program of bytes means the same each time; but free is not called where malloc was. */
void fuzz_start(unsigned threads);

/* Runs one program and frees all that it left. A promise that is broken ends the process by
   abort(), after one line on stderr. */
void fuzz_one(const uint8_t *data, size_t size);

/* What a failure is called: fuzz_one only counts operations. */
struct fuzz_position {
    uint64_t seed;
    uint64_t input;
    uint64_t operation; /* in this input, from 1 */
    const char *name;   /* of the operation */
};
extern struct fuzz_position fuzz_position;

/* Calls of the allocator so far, and a number that stands for all their outcomes: which succeeded,
   which failed how. Two allocators that promise the same give the same number. */
extern uint64_t fuzz_calls, fuzz_digest;

/* Prints each outcome that went into the digest, so that two runs can be compared line by line. */
extern bool fuzz_trace;

/* Whether a success leaves errno alone is not looked at: after a failure in one arena glibc's
   malloc finds the block in another and leaves ENOMEM. */
extern bool fuzz_reference;

#endif
