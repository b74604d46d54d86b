/*
 * SPDX-License-Identifier: MIT
 *
 * See hardened.h. Each block has, out of line, a mark: a word for the line where it begins for the
 * program, or, of a mapping of its own, in its record. It says whether the program has the block,
 * and how much it asked for. Who frees changes it by compare-and-swap, on whatever CPU; so of two
 * frees one finds it changed.
 *
 *     start of the block        aligned address = the program's      asked for            end
 *     |   nothing               | the program's bytes                | canary             |
 *     | junk, while it is free, whoever it waits for                                      |
 *
 * A mark of a block in a chunk:
 *     0            no block of the program begins here, or none since the run was carved
 *     live         the program's; how much it asked for
 *     freed        it was, and the whole block from its start on is junk since then, or in the
 *                  hands of the thread that frees it
 *
 * Marks are written by whoever has the block in hand: relaxed, a block's way from one thread to
 * another orders them, be it through the program or through a sub-heap's lock.
 */
#include "cia_malloc/hardened/hardened.h"

#include "base/report.h"
#include "cia_malloc/cpu_cache/flush.h"
#include "cia_malloc/cpu_cache/heap_table.h"
#include "cia_malloc/cpu_cache/housekeeping.h"
#include "cia_malloc/hardened/quarantine.h"
#include "cia_malloc/hardened/secret.h"
#include "cia_malloc/heap/block.h"
#include "cia_malloc/large/large.h"

#include <stdatomic.h>
#include <string.h>

typedef _Atomic uint32_t mark;

enum {
    SLACK_LEAST = 8, /* bytes behind those asked for that are no block's */
    MARK_LIVE = 1u << 30,
    MARK_FREED = 2u << 30,
    MARK_BYTES = MARK_LIVE - 1, /* asked for: blocks of a chunk are far shorter */
};

/* Of all bytes of a free block. As part of an address it is one that nothing can have. */
static const uint64_t junk = 0xd5d5d5d5d5d5d5d5;

static mark *mark_at(const struct chunk *chunk, const void *address)
{
    return &chunk->marks[(uintptr_t)address % CHUNK_BYTES >> LINE_SHIFT];
}

static uint32_t mark_read(const mark *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void mark_write(mark *at, uint32_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static uint32_t state_of(uint32_t value)
{
    return value & ~(uint32_t)MARK_BYTES;
}

/* Fills all bytes from one address to another with those of the word, again and again. */
static void fill(char *from, char *end, uint64_t word)
{
    for (; (size_t)(end - from) >= sizeof word; from += sizeof word)
        memcpy(from, &word, sizeof word);
    memcpy(from, &word, (size_t)(end - from));
}

/* The first byte that is not so, or NULL. From the same address on; they are 8 at least. */
static const char *find_change(const char *from, const char *end, uint64_t word)
{
    size_t bytes = (size_t)(end - from);

    /* All are right if the first word is, and every byte is the same as the one a word before. */
    if (__builtin_expect(memcmp(from, &word, sizeof word) == 0 &&
                             memcmp(from, from + sizeof word, bytes - sizeof word) == 0,
                         1))
        return NULL;
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] != (char)(word >> i % sizeof word * 8))
            return from + i;
    }
    return NULL;
}

/* What stands behind the bytes that were asked for. */
static void write_canary(char *block, size_t bytes, char *end)
{
    fill(block + bytes, end, secret_canary(block));
}

/* The canary behind a block that got longer in place is the program's now, and nobody's secret. */
static void forget_canary(char *block, size_t old_bytes, size_t bytes, char *end)
{
    char *to = block + bytes < end ? block + bytes : end;

    if (bytes > old_bytes)
        fill(block + old_bytes, to, junk);
}

static void check_canary(const char *block, size_t bytes, const char *end)
{
    const char *changed = find_change(block + bytes, end, secret_canary(block));

    if (__builtin_expect(changed != NULL, 0))
        report_fatal(
            "libcia_malloc: the block of %zu bytes at %p was written to behind its end, at %p",
            bytes, (const void *)block, (const void *)changed);
}

/* That nobody wrote to a free block. */
static void check_junk(const char *start, size_t bytes)
{
    const char *changed = find_change(start, start + bytes, junk);

    if (__builtin_expect(changed != NULL, 0))
        report_fatal("libcia_malloc: the free block of %zu bytes at %p was written to, at %p",
                     bytes, (const void *)start, (const void *)changed);
}

/*
 * Any of the eligible blocks, where the lowest would be next: so the rule of the colours
 * holds as ever, and nobody knows which block is next. From the class heap, past the magazines.
 */
static char *take_block(struct subheap *heap, unsigned size_class, bool *untouched)
{
    struct class_heap *class_heap = &heap->classes[size_class];

    if (class_heap_eligible(class_heap) == 0 && !subheap_find(heap, size_class))
        return NULL;
    uint64_t bits = class_heap_eligible(class_heap);
    for (uint32_t skip = secret_draw(heap, (uint32_t)__builtin_popcountll(bits)); skip > 0; skip--)
        bits &= bits - 1;
    class_heap->first_bit = (uint8_t)__builtin_ctzll(bits); /* the search finds it first */
    return subheap_allocate(heap, size_class, untouched);
}

void *hardened_allocate_and_unlock(struct subheap *heap, size_t alignment, size_t bytes,
                                   bool *zeroed)
{
    char *start, *end;

    if (alignment < LINE_BYTES)
        alignment = LINE_BYTES;
    if (bytes == 0) /* who resizes a block to what it has must not free it */
        bytes = 1;
    if (large_is_needed(bytes + SLACK_LEAST, alignment)) {
        start = large_allocate_and_unlock(heap, bytes + SLACK_LEAST, alignment, zeroed);
        if (start == NULL)
            return NULL;
        struct huge *huge = page_map_huge(start);
        if (huge != NULL) {
            atomic_store_explicit(&huge->marked, bytes + 1, memory_order_relaxed);
            write_canary(start, bytes, huge_end(huge));
            return start;
        }
        end = start + block_at(page_map_chunk(start), start).bytes;
    } else {
        unsigned size_class = size_class_of(bytes + SLACK_LEAST + alignment - LINE_BYTES);

        start = take_block(heap, size_class, zeroed);
        subheap_unlock(heap);
        if (start == NULL)
            return NULL;
        end = start + size_class_bytes(size_class);
    }
    struct chunk *chunk = page_map_chunk(start);
    char *block = start + (-(uintptr_t)start & (alignment - 1));

    if (state_of(mark_read(mark_at(chunk, start))) == MARK_FREED)
        check_junk(start, (size_t)(end - start));
    if (block != start)
        mark_write(mark_at(chunk, start), 0);
    mark_write(mark_at(chunk, block), MARK_LIVE | (uint32_t)bytes);
    write_canary(block, bytes, end);
    return block;
}

/* The process ends: no block of the program begins there. */
static _Noreturn void refuse(struct chunk *chunk, const void *address)
{
    struct block block = block_at(chunk, address);

    if (block.start == address && state_of(mark_read(mark_at(chunk, address))) == MARK_FREED)
        block_is_wrong(address, "a free block");
    block_is_wrong(address, "not the address of a block that is in use");
}

/* The mark of a block that the program has. */
static mark *live_mark(struct chunk *chunk, const void *address, uint32_t *value)
{
    mark *at = mark_at(chunk, address);

    *value = mark_read(at);
    if (__builtin_expect((uintptr_t)address % LINE_BYTES != 0, 0) ||
        __builtin_expect(state_of(*value) != MARK_LIVE, 0))
        refuse(chunk, address);
    return at;
}

/* How much was asked for, by the mark of a block that is a mapping; the process ends if the program
   does not have the block. */
static size_t huge_bytes(const void *address, size_t marked)
{
    if (__builtin_expect(marked == 0, 0))
        block_is_wrong(address, "a free block");
    return marked - 1;
}

/*
 * Takes a block that is a mapping out of the program's hands; returns how much it asked for. Of
 * threads that do so at once one goes on. The block is looked at only then: before, another thread
 * that frees it may have closed its pages.
 */
static size_t claim_huge(struct huge *huge, const void *address)
{
    size_t marked = atomic_exchange_explicit(&huge->marked, 0, memory_order_relaxed);
    size_t bytes = huge_bytes(address, marked);

    check_canary(address, bytes, huge_end(huge));
    return bytes;
}

/* Those that leave a quarantine go where they belong; no lock is held. */
static void give_back(const struct block *leaving, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        /* A run's pages may be anything's next; blocks of classes are looked at when they are
           handed out again. */
        if (leaving[i].size_class == CLASS_LARGE)
            check_junk(leaving[i].start, leaving[i].bytes);
        flush_block_here(&leaving[i]);
    }
}

static void free_in_chunk(struct chunk *chunk, char *address, void *copy, size_t copied)
{
    struct block leaving[QUARANTINE_LEAVING];
    uint32_t value, count = 1;
    mark *at = live_mark(chunk, address, &value);
    struct block block = block_at(chunk, address);
    char *end = block.start + block.bytes;
    size_t bytes = value & MARK_BYTES;

    if (!atomic_compare_exchange_strong_explicit(at, &value, MARK_FREED, memory_order_relaxed,
                                                 memory_order_relaxed))
        report_fatal("libcia_malloc: double free of the block of %zu bytes at %p", bytes,
                     (void *)address);
    check_canary(address, bytes, end);
    if (copy != NULL)
        memcpy(copy, address, copied);
    memset(block.start, (int)(junk & UINT8_MAX), block.bytes); /* all its bytes are the same */
    mark_write(mark_at(chunk, block.start), MARK_FREED);

    struct subheap *heap = heap_acquire();
    if (heap != NULL) {
        count = quarantine_put(heap, &block, secret_draw(heap, QUARANTINE_DRAWN), leaving);
        subheap_unlock(heap);
    } else {
        leaving[0] = block; /* no memory for a sub-heap, all others taken */
    }
    give_back(leaving, count);
    if (count > 0)
        housekeeping_tick();
}

void hardened_free(void *address, void *copy, size_t bytes)
{
    struct huge *huge = huge_at(address);

    if (huge == NULL) {
        free_in_chunk(block_chunk(address), address, copy, bytes);
        return;
    }
    (void)claim_huge(huge, address);
    if (copy != NULL)
        memcpy(copy, address, bytes);
    huge_free(huge);
    housekeeping_tick();
}

size_t hardened_usable(const void *address)
{
    struct huge *huge = huge_at(address);
    uint32_t value;

    if (huge != NULL)
        return huge_bytes(address, huge->marked);
    (void)live_mark(block_chunk(address), address, &value);
    return value & MARK_BYTES;
}

static void *resize_huge(struct huge *huge, size_t bytes, bool must_stay, size_t *old_bytes)
{
    char *block = huge->block, *end = huge_end(huge);

    *old_bytes = claim_huge(huge, block);
    bool resized =
        (must_stay || bytes > SIZE_CLASS_LARGEST) && huge_resize(huge, bytes + SLACK_LEAST) != NULL;

    if (resized) {
        forget_canary(block, *old_bytes, bytes, end);
        write_canary(block, bytes, huge_end(huge));
    }
    atomic_store_explicit(&huge->marked, (resized ? bytes : *old_bytes) + 1, memory_order_relaxed);
    return resized ? block : NULL;
}

void *hardened_resize(void *address, size_t bytes, bool must_stay, size_t *old_bytes)
{
    struct huge *huge = huge_at(address);
    uint32_t value;

    if (huge != NULL)
        return resize_huge(huge, bytes, must_stay, old_bytes);
    struct chunk *chunk = block_chunk(address);
    mark *at = live_mark(chunk, address, &value);
    struct block block = block_at(chunk, address);
    char *end = block.start + block.bytes;
    size_t room = (size_t)(end - (char *)address);

    *old_bytes = value & MARK_BYTES;
    check_canary(address, *old_bytes, end);
    if (bytes + SLACK_LEAST > room ||
        (!must_stay && bytes < *old_bytes && bytes + SLACK_LEAST <= room / 2))
        return NULL;
    if (!atomic_compare_exchange_strong_explicit(at, &value, MARK_LIVE | (uint32_t)bytes,
                                                 memory_order_relaxed, memory_order_relaxed))
        block_is_wrong(address, "a free block");
    forget_canary(address, *old_bytes, bytes, end);
    write_canary(address, bytes, end);
    return address;
}

void hardened_release_all(void)
{
    struct block leaving[QUARANTINE_LEAVING];
    uint32_t index = 0, passed_over = 0;
    struct subheap *heap;

    while ((heap = heap_lock_next(&index, ALL_HEAPS, &passed_over)) != NULL) {
        uint32_t count = quarantine_take(heap, leaving);

        if (count > 0)
            index = heap->number; /* there may be more */
        subheap_unlock(heap);
        give_back(leaving, count);
    }
}
