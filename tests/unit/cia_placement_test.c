/*
 * SPDX-License-Identifier: MIT
 *
 * The placement rule, the property that the allocator exists for, on one sub-heap and on the
 * allocator as a whole: L1 sets for never-used and for recycled blocks, L2 sets, classes in turn,
 * large blocks. Each test runs with several cache geometries.
 */
#include "base/cache_geometry.h"
#include "base/random.h"
#include "cia_malloc/api/allocator.h"
#include "cia_malloc/cpu_cache/heap_table.h"

#include "run_suite.h"

#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint32_t sets;
    const char *l1d, *l2;
    uint32_t l2_sets;
} geometries[] = {
    {64, "64x8", "1024x8", 1024},
    {64, "64x12", "2048x16", 2048},
    {128, "128x16", "4096x16", 4096},
    {64, "64x8", "512x4", 512},
};

enum { GEOMETRIES = sizeof geometries / sizeof *geometries, BLOCKS = 3000 };

/* Check tells its parent process of every ck_assert: too slow for millions of them. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

static uint32_t sets, l2_sets;
static void *blocks[2 * BLOCKS];

/* One CPU, so that the blocks of one test come from one sub-heap; and no decay, so that which idle
   runs the sub-heap still has does not depend on how long the test takes. */
static void use_geometry(int index)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    setenv("CIA_DECAY_MS", "-1", 1);
    setenv("MPLACE_L1D", geometries[index].l1d, 1);
    setenv("MPLACE_L2", geometries[index].l2, 1);
    sets = geometries[index].sets;
    l2_sets = geometries[index].l2_sets;
}

static bool lines_are(const char *setting)
{
    const char *lines = getenv("CIA_LINES");

    return lines != NULL && strcmp(lines, setting) == 0;
}

static uint32_t set_of(const void *block)
{
    return (uint32_t)((uintptr_t)block / LINE_BYTES) % sets;
}

/*
 * For each set and each pair of its blocks, the run of allocations from one to the other: k blocks
 * in a set need a run of N with k <= ceil(N / sets) + 1, packed ones + 3.
 */
static void check_every_run(void *const *block, uint32_t count, size_t bytes)
{
    uint32_t *at = malloc(count * sizeof *at), more = lines_are("exclusive") ? 1 : 3;

    for (uint32_t set = 0; set < sets; set++) {
        uint32_t in_set = 0;

        for (uint32_t i = 0; i < count; i++) {
            if (set_of(block[i]) == set)
                at[in_set++] = i;
        }
        for (uint32_t a = 0; a < in_set; a++) {
            for (uint32_t b = a; b < in_set; b++) {
                uint32_t run = at[b] - at[a] + 1;

                EXPECT(b - a + 1 <= (run + sets - 1) / sets + more,
                       "%u blocks of %zu bytes in set %u within %u", b - a + 1, bytes, set, run);
            }
        }
    }
    free(at);
}

static uint32_t fullest_set(void *const *block, uint32_t count)
{
    uint32_t in_set[COLOURS_GREATEST] = {0}, most = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (block[i] != NULL && ++in_set[set_of(block[i])] > most)
            most = in_set[set_of(block[i])];
    }
    return most;
}

START_TEST(never_used_blocks_of_every_class_fill_the_sets_evenly_in_every_run)
{
    use_geometry(_i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);

        if (size_class_of(bytes) != i)
            continue; /* not used with so many sets: those blocks are of the class after it */
        for (uint32_t n = 0; n < BLOCKS; n++) {
            blocks[n] = cia_allocate(bytes - (n & 15));
            EXPECT((uintptr_t)blocks[n] % LINE_BYTES == 0 && blocks[n] != NULL, "%p", blocks[n]);
        }
        check_every_run(blocks, BLOCKS, bytes);
        for (uint32_t n = 0; n < BLOCKS; n++)
            cia_free(blocks[n]);
    }
}
END_TEST

START_TEST(blocks_never_overlap)
{
    use_geometry(_i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);

        for (uint32_t n = 0; n < 300; n++) {
            blocks[n] = cia_allocate(bytes);
            memset(blocks[n], (int)(n & 0xff), bytes);
            memcpy(blocks[n], &n, sizeof n);
        }
        for (uint32_t n = 0; n < 300; n++) {
            const unsigned char *block = blocks[n];
            bool intact = memcmp(block, &n, sizeof n) == 0;

            for (size_t at = sizeof n; at < bytes; at++)
                intact &= block[at] == (n & 0xff);
            EXPECT(intact, "block %u of %zu bytes was overwritten", n, bytes);
            cia_free(blocks[n]);
        }
    }
}
END_TEST

/* One block goes, another comes: the live ones stay even. */
static void churn(size_t bytes, uint32_t live, uint32_t steps, uint64_t seed)
{
    for (uint32_t n = 0; n < live; n++)
        blocks[n] = cia_allocate(bytes);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t victim = random_below(&seed, live);

        cia_free(blocks[victim]);
        blocks[victim] = cia_allocate(bytes);
        if (step % 97 == 0) {
            uint32_t most = fullest_set(blocks, live);

            EXPECT(most * sets <= 2 * live,
                   "%u of %u live blocks of %zu bytes in one set after %u steps", most, live, bytes,
                   step);
        }
    }
    for (uint32_t n = 0; n < live; n++)
        cia_free(blocks[n]);
}

START_TEST(replacing_blocks_one_by_one_keeps_the_sets_even)
{
    use_geometry(_i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        churn(size_class_bytes(i), 128, 2000, i + 1);
        churn(size_class_bytes(i), 500, 2000, i + 2);
    }
}
END_TEST

/* Many blocks go, many come, at random: what comes fills up the sets that are low. */
START_TEST(random_growth_and_shrinking_leaves_no_set_above_twice_its_share)
{
    uint64_t seed = 42;

    use_geometry(_i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);
        uint32_t live = 0;

        memset(blocks, 0, sizeof blocks);
        for (uint32_t round = 0; round < 12; round++) {
            uint32_t wanted = 10 * sets + random_below(&seed, 1400);

            while (live > wanted) { /* random victims */
                uint32_t victim = random_below(&seed, live);

                cia_free(blocks[victim]);
                blocks[victim] = blocks[--live];
                blocks[live] = NULL;
            }
            while (live < wanted)
                blocks[live++] = cia_allocate(bytes);
            uint32_t most = fullest_set(blocks, live);
            EXPECT(most * sets <= 2 * live, "%u of %u blocks of %zu bytes in one set", most, live,
                   bytes);
        }
        while (live > 0)
            cia_free(blocks[--live]);
    }
}
END_TEST

START_TEST(blocks_taken_from_a_used_heap_spread_as_new_ones_do)
{
    uint64_t seed = 7;

    use_geometry(_i);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);

        /* 3000 blocks, nine of ten freed at random, then 128 in a row as the ring does. */
        for (uint32_t n = 0; n < BLOCKS; n++)
            blocks[n] = cia_allocate(bytes);
        for (uint32_t n = 0; n < BLOCKS; n++) {
            if (random_below(&seed, 10) != 0) {
                cia_free(blocks[n]);
                blocks[n] = NULL;
            }
        }
        for (uint32_t n = 0; n < 2 * sets; n++)
            blocks[BLOCKS + n] = cia_allocate(bytes);
        ck_assert_uint_le(fullest_set(blocks + BLOCKS, 2 * sets), 8);
        for (uint32_t n = 0; n < BLOCKS + 2 * sets; n++) {
            if (blocks[n] != NULL)
                cia_free(blocks[n]);
            blocks[n] = NULL;
        }
    }
}
END_TEST

/*
 * Two half-cycles of a class freed differently: one loses whole batches, the other single blocks.
 * What is eligible then lies in spans that have nothing free, and what is free is not eligible.
 */
START_TEST(after_uneven_frees_no_set_is_filled_on_and_on)
{
    enum { BATCH = 32, BATCHES = 80, MORE = 160 };

    use_geometry(_i);
    memset(blocks, 0, sizeof blocks);
    for (uint32_t n = 0; n < BATCHES * BATCH; n++)
        blocks[n] = cia_allocate(4096);
    uint32_t live = BATCHES * BATCH;
    for (uint32_t n = 0; n < BATCHES * BATCH; n++) {
        uint32_t batch = n / BATCH, item = n % BATCH;
        bool whole_batches = batch % 4 == 1 || batch % 4 == 2;

        if (whole_batches ? batch / 4 % 5 != 0 : (item + batch) % 5 != 0) {
            cia_free(blocks[n]);
            blocks[n] = NULL;
            live--;
        }
    }
    for (uint32_t n = 0; n < MORE; n++) {
        blocks[BATCHES * BATCH + n] = cia_allocate(4096);
        live++;
        uint32_t most = fullest_set(blocks, BATCHES * BATCH + n + 1);
        EXPECT(most * sets <= 2 * live, "%u of %u blocks in one set after %u more", most, live, n);
    }
}
END_TEST

static uint32_t l2_sets_used(void *const *block, uint32_t count, uint32_t stride)
{
    static unsigned char used[1 << 13];
    uint32_t distinct = 0;

    memset(used, 0, sizeof used);
    for (uint32_t n = 0; n < count; n++) {
        unsigned char *flag = &used[(uintptr_t)block[n * stride] / LINE_BYTES % l2_sets];

        distinct += *flag == 0;
        *flag = 1;
    }
    return distinct;
}

/* Short packed blocks lie on fewer lines than there are blocks. A class that begins to pack
   meanwhile has two series of blocks, which may lie on the same sets. */
static uint32_t l2_sets_wanted(size_t bytes, uint32_t count)
{
    uint32_t lines = (uint32_t)(bytes * count / LINE_BYTES);

    if (lines_are("auto"))
        return count * 2 / 5;
    return lines_are("compact") && lines < count / 2 ? lines : count / 2;
}

START_TEST(blocks_of_any_size_to_64_KiB_use_half_of_the_L2_sets_they_could)
{
    use_geometry(_i);
    for (size_t bytes = 16; bytes <= 65536; bytes += bytes < 4096 ? 48 : 1024) {
        for (uint32_t n = 0; n < 512; n++)
            blocks[n] = cia_allocate(bytes);
        EXPECT(l2_sets_used(blocks, 512, 1) >= l2_sets_wanted(bytes, 512),
               "%zu bytes: %u of %u L2 sets", bytes, l2_sets_used(blocks, 512, 1), l2_sets);
        for (uint32_t n = 0; n < 512; n++)
            cia_free(blocks[n]);
    }
}
END_TEST

/* Runs of 11 and 21 pages in turn are 32 pages a turn: each would fall into the same L2 sets again.
 */
START_TEST(two_classes_in_turn_each_keep_their_spread)
{
    use_geometry(_i);
    for (unsigned a = 0; a < EXCLUSIVE_CLASSES; a++) {
        unsigned b = (a + 1 + a % 43) % EXCLUSIVE_CLASSES; /* another one, near and far */
        void *evens[512], *odds[512];

        for (uint32_t n = 0; n < 1024; n++) {
            blocks[n] = cia_allocate(size_class_bytes(n & 1 ? b : a));
            (n & 1 ? odds : evens)[n / 2] = blocks[n];
        }
        check_every_run(evens, 512, size_class_bytes(a));
        check_every_run(odds, 512, size_class_bytes(b));
        EXPECT(l2_sets_used(blocks, 512, 2) >= 256, "class %u beside %u: %u L2 sets", a, b,
               l2_sets_used(blocks, 512, 2));
        /* Together they are within one block a set and class of even. */
        ck_assert_uint_le(fullest_set(blocks, 1024), 2 * (512 / sets + 1));
        for (uint32_t n = 0; n < 1024; n++)
            cia_free(blocks[n]);
        cia_trim(); /* the rule for every run is that of blocks never used */
    }
}
END_TEST

START_TEST(one_block_of_each_class_falls_into_a_set_of_its_own)
{
    uint32_t count = 0;

    use_geometry(_i);
    cia_free(cia_allocate(1)); /* from then on the classes of this geometry are in use */
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++) {
        size_t bytes = size_class_bytes(i);

        if (size_class_of(bytes) == i)
            blocks[count++] = cia_allocate(bytes);
    }
    ck_assert_uint_ge(count, EXCLUSIVE_CLASSES - 1);
    ck_assert_uint_eq(fullest_set(blocks, count), 1);
}
END_TEST

START_TEST(large_blocks_take_the_sets_in_turn)
{
    static const size_t lengths[] = {65985,  70000,  98304,   131072, 200000,
                                     262144, 524288, 1 << 20, 3000000};

    use_geometry(_i);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint32_t n = 0; n < 256; n++) {
            blocks[n] = cia_allocate(lengths[i]);
            EXPECT(blocks[n] != NULL, "no memory");
        }
        check_every_run(blocks, 256, lengths[i]);
        for (uint32_t n = 0; n < 256; n++)
            cia_free(blocks[n]);
    }
}
END_TEST

START_TEST(two_lengths_of_large_block_in_turn_take_all_sets_each)
{
    use_geometry(_i);
    for (uint32_t n = 0; n < 256; n++)
        blocks[n % 2 * 128 + n / 2] = cia_allocate(n % 2 == 0 ? 131072 : 262144);
    check_every_run(blocks, 128, 131072);
    check_every_run(blocks + 128, 128, 262144);
}
END_TEST

START_TEST(the_allocators_own_structures_begin_in_different_sets)
{
    uint32_t used = 0;

    use_geometry(_i);
    cia_free(cia_allocate(1));
    uint32_t index = 0, passed_over = 0;
    struct subheap *heap = heap_lock_next(&index, ALL_HEAPS, &passed_over);
    ck_assert_ptr_nonnull(heap);
    for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++)
        blocks[i] = &heap->classes[i];
    for (uint32_t set = 0; set < sets; set++) {
        bool seen = false;

        for (unsigned i = 0; i < EXCLUSIVE_CLASSES; i++)
            seen |= set_of(blocks[i]) == set;
        used += seen;
    }
    ck_assert_uint_eq(used, EXCLUSIVE_CLASSES);
}
END_TEST

static int by_address(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;

    return (left > right) - (left < right);
}

/* The chunks that so many blocks lie in. */
static uint32_t chunks_of(void **block, uint32_t count)
{
    uint32_t chunks = 0;

    qsort(block, count, sizeof *block, by_address);
    for (uint32_t n = 0; n < count; n++)
        chunks +=
            n == 0 || (uintptr_t)block[n] / CHUNK_BYTES != (uintptr_t)block[n - 1] / CHUNK_BYTES;
    return chunks;
}

/* Gaps cost addresses, which a program may have few of. A quarter more is for what is between
   blocks, and for the ends of chunks. */
START_TEST(runs_lie_without_gaps_whatever_was_freed_before)
{
    enum { CHUNKS = 16, STRETCH = 512 };
    static const size_t sizes[] = {100, 250, 700, 1648, 2000};
    uint64_t seed = 7;
    bool freed = false;

    use_geometry(_i);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t count = (uint32_t)(CHUNKS * CHUNK_BYTES / cia_usable_class(sizes[i]));
        void **block = malloc(count * sizeof *block);

        for (uint32_t n = 0; n < count; n++)
            block[n] = cia_allocate(sizes[i]);
        for (uint32_t n = 0; n < count; n++) {
            if (n % STRETCH == 0)
                freed = random_below(&seed, 8) < 5;
            if (freed) {
                cia_free(block[n]);
                block[n] = NULL;
            }
        }
        for (uint32_t n = 0; n < count; n++)
            block[n] = block[n] != NULL ? block[n] : cia_allocate(sizes[i]);
        uint32_t chunks = chunks_of(block, count);
        EXPECT(chunks <= CHUNKS + CHUNKS / 4, "%zu bytes: %u chunks of blocks lie in %u", sizes[i],
               CHUNKS, chunks);
        for (uint32_t n = 0; n < count; n++)
            cia_free(block[n]);
        free(block);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia placement");
    TCase *tests = tcase_create("placement");

    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, never_used_blocks_of_every_class_fill_the_sets_evenly_in_every_run,
                        0, GEOMETRIES);
    tcase_add_loop_test(tests, blocks_never_overlap, 0, 3);
    tcase_add_loop_test(tests, replacing_blocks_one_by_one_keeps_the_sets_even, 0, 3);
    tcase_add_loop_test(tests, random_growth_and_shrinking_leaves_no_set_above_twice_its_share, 0,
                        3);
    tcase_add_loop_test(tests, blocks_taken_from_a_used_heap_spread_as_new_ones_do, 0, 3);
    tcase_add_loop_test(tests, after_uneven_frees_no_set_is_filled_on_and_on, 0, 2);
    tcase_add_loop_test(tests, blocks_of_any_size_to_64_KiB_use_half_of_the_L2_sets_they_could, 0,
                        GEOMETRIES);
    tcase_add_loop_test(tests, two_classes_in_turn_each_keep_their_spread, 0, GEOMETRIES);
    tcase_add_loop_test(tests, one_block_of_each_class_falls_into_a_set_of_its_own, 0, GEOMETRIES);
    tcase_add_loop_test(tests, large_blocks_take_the_sets_in_turn, 0, 3);
    tcase_add_loop_test(tests, two_lengths_of_large_block_in_turn_take_all_sets_each, 0, 3);
    tcase_add_loop_test(tests, the_allocators_own_structures_begin_in_different_sets, 0, 3);
    tcase_add_loop_test(tests, runs_lie_without_gaps_whatever_was_freed_before, 0, GEOMETRIES);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
