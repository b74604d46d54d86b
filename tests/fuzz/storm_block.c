/*
 * SPDX-License-Identifier: MIT
 *
 * See storm_block.h.
 */
#include "storm_block.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t storm_seed = 1;

/* A byte for each 16 B of user space: 1 where a live block begins. 8 TiB of addresses of which only
   those pages become memory that stand for addresses in use: one for each 64 KiB. */
enum { SHADOW_SHIFT = 4, USER_BITS = 47 };
static atomic_uchar *shadow;

_Noreturn void storm_fail(const void *block, const char *wrong)
{
    dprintf(STDERR_FILENO, "storm: seed %llu, process %d, thread %d: block %p: %s\n",
            (unsigned long long)storm_seed, (int)getpid(), (int)gettid(), block, wrong);
    abort();
}

void storm_shadow_open(void)
{
    void *mapped = mmap(NULL, (size_t)1 << (USER_BITS - SHADOW_SHIFT), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapped == MAP_FAILED) {
        fputs("storm: no addresses for the shadow: contents alone are checked\n", stderr);
        return;
    }
    madvise(mapped, (size_t)1 << (USER_BITS - SHADOW_SHIFT), MADV_NOHUGEPAGE);
    shadow = mapped;
}

/* Relaxed: the block itself goes from thread to thread by stronger means, and so do bytes written
   before it. */
static void shadow_change(const void *memory, unsigned char to, const char *wrong)
{
    if (shadow != NULL && atomic_exchange_explicit(&shadow[(uintptr_t)memory >> SHADOW_SHIFT], to,
                                                   memory_order_relaxed) == to)
        storm_fail(memory, wrong);
}

void storm_crumb_arrives(const void *memory)
{
    if (memory == NULL)
        storm_fail(memory, "out of memory");
    if ((uintptr_t)memory % 16 != 0)
        storm_fail(memory, "not aligned");
    shadow_change(memory, 1, "handed out while it is in use");
}

void storm_crumb_leaves(const void *memory)
{
    shadow_change(memory, 0, "in use twice and given back once");
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t seal_of(const void *memory, uint64_t size_and_tag)
{
    return mix(mix(size_and_tag) + (uintptr_t)memory);
}

size_t storm_block_size(const struct storm_block *block)
{
    return (uint32_t)block->size_and_tag;
}

/* Every word of the first 2 KiB, then two words of each 512 B, and the last one. */
static size_t next_word(size_t offset)
{
    offset += sizeof(uint64_t);
    return offset < 2048 || offset % 512 < 16 ? offset : (offset + 511) / 512 * 512;
}

static uint64_t word_at(uint64_t seal, size_t offset)
{
    return seal + offset * 0x9e3779b97f4a7c15u;
}

struct storm_block *storm_block_make(void *memory, size_t size, size_t alignment)
{
    static atomic_uint last_tag;
    struct storm_block *block = memory;
    unsigned char *bytes = memory;

    storm_crumb_arrives(memory);
    if ((uintptr_t)memory % alignment != 0)
        storm_fail(memory, "not aligned as asked");
    uint64_t tag = atomic_fetch_add_explicit(&last_tag, 1, memory_order_relaxed);
    block->size_and_tag = (uint32_t)size | tag << 32;
    block->seal = seal_of(memory, block->size_and_tag);
    for (size_t at = sizeof *block; at + 8 <= size; at = next_word(at)) {
        uint64_t word = word_at(block->seal, at);

        memcpy(bytes + at, &word, sizeof word);
    }
    if (size > sizeof *block)
        bytes[size - 1] = (unsigned char)block->seal;
    return block;
}

/* Up to the given bytes of a block; the last byte of the block is not a word's. */
static void check_words(const unsigned char *bytes, uint64_t seal, size_t size)
{
    for (size_t at = sizeof(struct storm_block); at + 8 < size; at = next_word(at)) {
        uint64_t word;

        memcpy(&word, bytes + at, sizeof word);
        if (word != word_at(seal, at))
            storm_fail(bytes, "lost what was written to it");
    }
}

void storm_block_check(const struct storm_block *block)
{
    size_t size = storm_block_size(block);
    const unsigned char *bytes = (const unsigned char *)block;

    if (block->seal != seal_of(block, block->size_and_tag))
        storm_fail(block, "its head was written to by somebody else");
    check_words(bytes, block->seal, size);
    if (size > sizeof *block && bytes[size - 1] != (unsigned char)block->seal)
        storm_fail(block, "lost its last byte");
}

void storm_block_leave(const struct storm_block *block)
{
    storm_block_check(block);
    storm_crumb_leaves(block);
}

void storm_block_check_moved(const void *memory, struct storm_block old, size_t bytes)
{
    size_t size = storm_block_size(&old);

    if (memcmp(memory, &old, sizeof old) != 0)
        storm_fail(memory, "realloc lost the head");
    check_words(memory, old.seal, bytes < size ? bytes : size);
}
