/*
 * SPDX-License-Identifier: MIT
 *
 * What the malloc_* programs share. Each of them is a black box check of what glibc promises, or
 * does and programs rely on, about the malloc family: the same source must pass on glibc alone and
 * under a preloaded allocator. A claim is a function named as a sentence; main calls each in turn.
 * Exit 0: all claims held; 1: one line names the claim and the condition; 77: nothing to test here.
 *
 * They are compiled with -fno-builtin: the compiler knows malloc well enough to leave it out. For C
 * and C++.
 */
#ifndef MPLACE_EXPECT_H
#define MPLACE_EXPECT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

/* Usable in threads, in children of fork and in signal handlers: one write, then out. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, __func__,  \
                    #condition);                                                                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* A generator of its own: rand() belongs to the process, and its sequence to the C library. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* splitmix64: any seed will do */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Bytes that depend on the tag and on the position, so that a shifted or foreign block is seen. */
static inline unsigned char pattern_byte(uint64_t tag, size_t position)
{
    return (unsigned char)(tag * 31 + position * 7 + (position >> 8));
}

/* The call returns no block, and says that there is no memory; for programs with errno.h. */
#define EXPECT_ENOMEM(call)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        EXPECT((call) == NULL);                                                                    \
        EXPECT(errno == ENOMEM);                                                                   \
    } while (0)

static inline void fill_pattern(void *block, size_t from, size_t to, uint64_t tag)
{
    unsigned char *bytes = (unsigned char *)block;
    for (size_t i = from; i < to; i++)
        bytes[i] = pattern_byte(tag, i);
}

static inline int holds_pattern(const void *block, size_t from, size_t to, uint64_t tag)
{
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t i = from; i < to; i++)
        if (bytes[i] != pattern_byte(tag, i))
            return 0;
    return 1;
}

static inline int is_zero(const void *block, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)block;
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static inline int is_aligned(const void *block, size_t alignment)
{
    return (uintptr_t)block % alignment == 0;
}

#endif
