/*
 * SPDX-License-Identifier: MIT
 *
 * Which memory node cia asks the kernel for. Most machines have one; MPLACE_NUMA names the nodes
 * here, and this program stands between cia and its system calls: it writes down what is asked for.
 * One test asks the kernel itself.
 */
#include "cia_malloc/cpu_cache/magazine_access.h"
#include "cia_malloc/large/large.h"
#include "cia_malloc/pages/page_source.h"

#include "base/memory_nodes.h"
#include "base/system_call.h"
#include "cia_fixture.h"
#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MASK_WORDS = 4 };

/* What the last mbind asked for. */
static struct {
    int calls;
    void *address;
    size_t bytes;
    long policy;
    unsigned long mask[MASK_WORDS];
    unsigned long mask_bits;
    unsigned long flags;
} asked;

static int policy_calls;
static int own_policy; /* of the thread, as the kernel would say */
static int refusal;    /* errno of both calls; 0: they succeed */
static bool ask_the_kernel;

/* In place of the library's. */
long page_source_call(long number, long first, long second, long third, long fourth, long fifth,
                      long sixth)
{
    if (number == SYS_mbind) {
        asked.calls++;
        asked.address = (void *)first;
        asked.bytes = (size_t)second;
        asked.policy = third;
        memcpy(asked.mask, (const void *)fourth, sizeof asked.mask);
        asked.mask_bits = (unsigned long)fifth;
        asked.flags = (unsigned long)sixth;
        if (!ask_the_kernel)
            return -refusal;
    }
    if (number == SYS_get_mempolicy && !ask_the_kernel) {
        policy_calls++;
        *(int *)first = own_policy;
        return -refusal;
    }
    return system_call_6(number, first, second, third, fourth, fifth, sixth);
}

/* A page of memory that page_source_bind is tried on. */
static void *a_page(void)
{
    void *page = page_source_map(PAGE_BYTES, PAGE_BYTES);

    ck_assert_ptr_nonnull(page);
    return page;
}

/* The last mbind was for these bytes and this node alone. */
static void check_asked(const void *address, size_t bytes, unsigned node)
{
    ck_assert_ptr_eq(asked.address, address);
    ck_assert_uint_eq(asked.bytes, bytes);
    ck_assert_int_eq(asked.policy, MPOL_PREFERRED);
    ck_assert_uint_eq(asked.flags, 0);
    ck_assert_uint_gt(asked.mask_bits, node + 1); /* the kernel takes one less */
    ck_assert_uint_le(asked.mask_bits, MASK_WORDS * 64 + 1);
    for (unsigned bit = 0; bit < MASK_WORDS * 64; bit++)
        ck_assert_uint_eq(asked.mask[bit / 64] >> bit % 64 & 1, bit == node);
}

START_TEST(memory_is_asked_for_from_the_node_alone)
{
    static const uint8_t nodes[] = {0, 1, 63, 64, 254};

    setenv("MPLACE_NUMA", "0/1", 1);
    for (size_t i = 0; i < sizeof nodes; i++) {
        void *page = a_page();

        page_source_bind(page, PAGE_BYTES, nodes[i]);
        ck_assert_int_eq(asked.calls, (int)i + 1);
        check_asked(page, PAGE_BYTES, nodes[i]);
    }
}
END_TEST

START_TEST(on_one_node_the_kernel_is_asked_nothing)
{
    setenv("MPLACE_NUMA", "0-1023", 1);
    page_source_bind(a_page(), PAGE_BYTES, 0);
    cia_free(cia_allocate(100));
    cia_free(cia_allocate(10 << 20));
    ck_assert_int_eq(asked.calls + policy_calls, 0);
}
END_TEST

START_TEST(nothing_is_asked_for_an_unknown_node)
{
    setenv("MPLACE_NUMA", "0/1", 1);
    page_source_bind(a_page(), PAGE_BYTES, MEMORY_NODE_UNKNOWN);
    ck_assert_int_eq(asked.calls, 0);
}
END_TEST

/* As numactl sets them. MPOL_LOCAL is 4. */
static const int policies[] = {MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE, 4,
                               MPOL_BIND | MPOL_F_STATIC_NODES};

START_TEST(a_thread_that_has_a_policy_keeps_it)
{
    setenv("MPLACE_NUMA", "0/1", 1);
    own_policy = policies[_i];
    page_source_bind(a_page(), PAGE_BYTES, 1);
    ck_assert_int_eq(policy_calls, 1);
    ck_assert_int_eq(asked.calls, 0);
}
END_TEST

START_TEST(a_kernel_that_refuses_changes_nothing_and_errno_stays)
{
    setenv("MPLACE_NUMA", "0/1", 1);
    refusal = EPERM; /* as a container says */
    errno = EXDEV;
    char *page = a_page();
    page_source_bind(page, PAGE_BYTES, 1);
    ck_assert_int_eq(errno, EXDEV);
    page[0] = 1;
    void *block = cia_allocate(10 << 20);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, 10 << 20);
    cia_free(block);
    ck_assert_int_eq(errno, EXDEV);
}
END_TEST

START_TEST(the_kernel_prefers_the_node_for_a_mapping_that_was_bound)
{
    int policy = -1;
    unsigned long mask[16] = {0};
    void *page = a_page(), *other = a_page();

    /* Node 0 is there on every machine. */
    setenv("MPLACE_NUMA", "1/0", 1);
    ask_the_kernel = true;
    long may = syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0);
    if (may != 0 || policy != MPOL_DEFAULT) {
        fprintf(stderr, "not tested: policies cannot be had here, or this runs under one\n");
        return;
    }
    page_source_bind(page, PAGE_BYTES, 0);
    ck_assert_int_eq(syscall(SYS_get_mempolicy, &policy, mask, sizeof mask * 8, page, MPOL_F_ADDR),
                     0);
    ck_assert_int_eq(policy, MPOL_PREFERRED);
    ck_assert_uint_eq(mask[0], 1);
    ck_assert_int_eq(syscall(SYS_get_mempolicy, &policy, mask, sizeof mask * 8, other, MPOL_F_ADDR),
                     0);
    ck_assert_int_eq(policy, MPOL_DEFAULT);
}
END_TEST

static void do_nothing(struct subheap *owner)
{
    (void)owner;
}

START_TEST(each_chunk_is_of_its_page_heaps_node_and_asked_for_from_it)
{
    setenv("MPLACE_NUMA", "0/1", 1);
    for (uint8_t node = 0; node < 2; node++) {
        struct page_request request = {.pages = CHUNK_PAGES, .modulus = 1};
        static const struct page_heap_lock nobodys = {.give_up = do_nothing, .take = do_nothing};
        struct page_heap heap = {.lock = &nobodys, .node = node};
        struct page_run run;

        for (int i = 1; i <= 3; i++) {
            ck_assert(page_heap_take(&heap, &request, &run));
            ck_assert_uint_eq(run.chunk->node, node);
            ck_assert_int_eq(asked.calls, 3 * node + i);
            check_asked(run.chunk->base, CHUNK_BYTES, node);
        }
    }
}
END_TEST

/* CPU 0 is of node 0, CPU 1 of node 1. False where there is no CPU 1 to run on. */
static bool have_two_cpus(void)
{
    setenv("MPLACE_NUMA", "0/1", 1);
    for (int cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu(cpu);
        if (sched_getcpu() != cpu) {
            fprintf(stderr, "not tested: this process may not run on CPUs 0 and 1\n");
            return false;
        }
    }
    return true;
}

static const struct chunk *chunk_of(const void *block)
{
    ck_assert_ptr_nonnull(block);
    return page_map_chunk(block);
}

START_TEST(blocks_lie_in_chunks_of_the_node_of_the_cpu_that_called_malloc)
{
    if (!have_two_cpus())
        return;
    for (int round = 0; round < 4000; round++) {
        unsigned cpu = round / 100 % 2;

        if (round % 100 == 0)
            stay_on_cpu((int)cpu);
        ck_assert_uint_eq(chunk_of(cia_allocate(1 + (size_t)round * 37 % 30000))->node, cpu);
    }
    /* Nine of them need a new chunk at least. */
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        int before = asked.calls;

        stay_on_cpu((int)cpu);
        for (int i = 0; i < 9; i++)
            (void)cia_allocate(500000);
        ck_assert_int_gt(asked.calls, before);
        check_asked(asked.address, CHUNK_BYTES, cpu);
    }
}
END_TEST

START_TEST(a_block_freed_on_a_cpu_of_another_node_is_not_served_there)
{
    enum { BYTES = 500, USES = 3000, BLOCKS = 500 };
    void *blocks[BLOCKS];

    if (!have_two_cpus())
        return;
    for (int cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu(cpu);
        for (int i = 0; i < USES; i++) /* from here on blocks wait for the CPU */
            cia_free(cia_allocate(BYTES));
    }
    for (unsigned there = 0; there < 2; there++) {
        stay_on_cpu((int)there);
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = cia_allocate(BYTES);
        stay_on_cpu((int)!there);
        for (int i = 0; i < BLOCKS; i++)
            cia_free(blocks[i]);
        for (int i = 0; i < 2 * BLOCKS; i++)
            ck_assert_uint_eq(chunk_of(cia_allocate(BYTES))->node, !there);
    }
}
END_TEST

/* A thread that is moved between loading from its sub-heap and putting what is left. */
START_TEST(blocks_loaded_for_a_node_do_not_wait_on_a_cpu_of_another)
{
    enum { BYTES = 500, SIZE_CLASS = 6, USES = 3000 };
    static char *loaded[MAGAZINE_COLOURS];

    if (!have_two_cpus())
        return;
    for (int cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu(cpu);
        for (int i = 0; i < USES; i++)
            cia_free(cia_allocate(BYTES));
    }
    stay_on_cpu(0);
    loaded[0] = cia_allocate(BYTES);
    cia_trim();
    if (!magazine_area_is_usable(magazine_area_here()))
        return; /* under locks nobody can be moved away from what he holds */
    struct magazine_access access = access_to_take(magazine_area_here(), SIZE_CLASS);
    for (int cpu = 1; cpu >= 0; cpu--) {
        stay_on_cpu(cpu);
        ck_assert_int_eq(access_load(&access, 0, loaded, 1), cpu == 0);
    }
    ck_assert_ptr_eq(cia_allocate(BYTES), loaded[0]);
}
END_TEST

START_TEST(a_mapping_of_its_own_is_asked_for_from_the_node_of_the_cpu)
{
    if (!have_two_cpus())
        return;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        stay_on_cpu((int)cpu);
        const struct huge *huge = page_map_huge(cia_allocate(10 << 20));

        ck_assert_ptr_nonnull(huge);
        check_asked(huge->base, asked.bytes, cpu);
        ck_assert_uint_ge(asked.bytes, huge->used_bytes);
    }
}
END_TEST

START_TEST(an_obstructed_thread_gets_a_block_of_its_own_node)
{
    if (!have_two_cpus())
        return;
    /* On each CPU a holder that never moves; so both need a spare sub-heap, and get one each. */
    for (int round = 0; round < 3; round++) {
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            stay_on_cpu((int)cpu);
            if (round == 0) {
                cia_free(cia_allocate(40000));
                ck_assert(subheap_try_lock(heap_here()));
            }
            const struct chunk *chunk = chunk_of(cia_allocate(40000));
            ck_assert_uint_eq(chunk->node, cpu);
            ck_assert_uint_ge(chunk->owner->number, CPU_HEAPS);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cia_memory_nodes");
    TCase *all = tcase_create("all");

    tcase_add_test(all, memory_is_asked_for_from_the_node_alone);
    tcase_add_test(all, on_one_node_the_kernel_is_asked_nothing);
    tcase_add_test(all, nothing_is_asked_for_an_unknown_node);
    tcase_add_loop_test(all, a_thread_that_has_a_policy_keeps_it, 0,
                        sizeof policies / sizeof *policies);
    tcase_add_test(all, a_kernel_that_refuses_changes_nothing_and_errno_stays);
    tcase_add_test(all, the_kernel_prefers_the_node_for_a_mapping_that_was_bound);
    tcase_add_test(all, each_chunk_is_of_its_page_heaps_node_and_asked_for_from_it);
    tcase_add_test(all, blocks_lie_in_chunks_of_the_node_of_the_cpu_that_called_malloc);
    tcase_add_test(all, a_block_freed_on_a_cpu_of_another_node_is_not_served_there);
    tcase_add_test(all, blocks_loaded_for_a_node_do_not_wait_on_a_cpu_of_another);
    tcase_add_test(all, a_mapping_of_its_own_is_asked_for_from_the_node_of_the_cpu);
    tcase_add_test(all, an_obstructed_thread_gets_a_block_of_its_own_node);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
