/*
 * SPDX-License-Identifier: MIT
 *
 * The parts that are small: machine files, the network, the event queue, the block map, the
 * directory.
 */
#include "chip/coherence/directory.h"
#include "chip/engine/block_map.h"
#include "chip/engine/queue.h"
#include "chip/machine/machine.h"
#include "chip/mesh/mesh.h"

#include "base/random.h"
#include "chip_complaint.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 4x4 tiles, an agent a tile, 1 cycle a router and a link. Tile 0 to 15: 6 links. */
START_TEST(a_message_takes_its_way_and_waits_for_links)
{
    struct mesh mesh;
    uint64_t hops = 0, time;

    ck_assert(mesh_init(&mesh, 4, 4, 1, 1, 16));
    for (unsigned i = 0; i < 16; i++)
        mesh.tile[i] = (uint16_t)i;
    ck_assert_uint_eq(mesh_send(&mesh, 0, 15, 1, 100, &hops), 100 + 6 * 2 + 1);
    ck_assert_uint_eq(hops, 6);
    /* Five flits of another agent need the last two links down to 15 at the same time. */
    time = mesh_send(&mesh, 3, 15, 5, 106, &hops);
    ck_assert_uint_eq(time, 107 + 3 * 2 + 1 + 4); /* 106: the first link belongs to the other */
    /* The tree to all others has 15 links. */
    hops = 0;
    time = mesh_multicast(&mesh, 5, 1, 1000);
    for (unsigned i = 0; i < 16; i++)
        if (i != 5)
            mesh_branch(&mesh, 5, i, 1, time, &hops);
    ck_assert_uint_eq(hops, 15);
    mesh_destroy(&mesh);
}
END_TEST

START_TEST(events_come_in_the_order_of_time_and_then_of_putting_in)
{
    struct queue queue;
    uint64_t random = 1, before = 0, before_block = 0;

    ck_assert(queue_init(&queue));
    for (unsigned i = 0; i < 20000; i++) {
        struct message *message = queue_new(&queue);

        message->block = i;
        /* Some beyond the wheel, some at the same time. */
        queue_put(&queue, message, random_below(&random, i % 10 == 0 ? 3 * QUEUE_SLOTS : 500));
    }
    for (unsigned i = 0; i < 20000; i++) {
        struct message *message = queue_take(&queue);

        ck_assert_uint_eq(message->time, queue.now);
        ck_assert(message->time > before ||
                  (message->time == before && (message->block > before_block || before > 500)));
        before = message->time;
        before_block = message->block;
        queue_free(&queue, message);
    }
    ck_assert_ptr_null(queue_take(&queue));
    queue_destroy(&queue);
}
END_TEST

START_TEST(a_block_map_keeps_what_was_added_and_not_removed)
{
    enum { BLOCKS = 2000 };
    static uint64_t expected[BLOCKS];
    struct block_map map = {0};
    uint64_t random = 1;

    for (unsigned i = 0; i < 100000; i++) {
        uint64_t block = random_below(&random, BLOCKS);

        if (i % 3 == 0) {
            block_map_remove(&map, block);
            expected[block] = 0;
        } else {
            *block_map_add(&map, block) = expected[block] = i + 1;
        }
        block = random_below(&random, BLOCKS);
        ck_assert((block_map_find(&map, block) == NULL) == (expected[block] == 0));
        if (expected[block] != 0)
            ck_assert_uint_eq(*block_map_find(&map, block), expected[block]);
    }
    block_map_destroy(&map);
}
END_TEST

static bool refuses_7(void *context, uint64_t block)
{
    (void)context;
    return block == 7;
}

START_TEST(the_directory_gives_up_its_oldest_entry_that_is_not_busy)
{
    struct directory directory;

    ck_assert(directory_init(&directory, 1, 2, 3, 0));
    directory_put(&directory, directory_victim(&directory, 7, refuses_7, NULL), 7);
    directory_put(&directory, directory_victim(&directory, 8, refuses_7, NULL), 8);
    ck_assert_uint_eq(directory_victim(&directory, 9, refuses_7, NULL)->block, 8);
    directory_grow(&directory);
    directory_put(&directory, directory_victim(&directory, 9, refuses_7, NULL), 9);
    ck_assert_ptr_nonnull(directory_find(&directory, 8));
    directory_shrink(&directory);
    ck_assert_ptr_null(directory_find(&directory, 9)); /* the last way's is lost */
    ck_assert_ptr_nonnull(directory_find(&directory, 7));
    directory_destroy(&directory);
}
END_TEST

static const char *complaint(const char *text)
{
    return complaint_about(text, "no/such/folder");
}

START_TEST(a_machine_file_is_read)
{
    ck_assert_str_eq(complaint("# nothing\n\n core.count = 4 # four\nl2.policy=inclusive\n"), "");
    ck_assert_str_eq(complaint("l1.size = 49152\nl1.ways = 12"), "");
}
END_TEST

START_TEST(a_wrong_machine_file_is_one_line)
{
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"core.number = 4\n", "there is no key 'core.number'"},
        {"core.count\n", "line 1: 'core.count' is no line"},
        {"\nblock = 65\n", "line 2: block = '65': allowed is a power of two from 16 to 1024"},
        {"llc.banks = 12\n", "allowed is a power of two from 1 to 64"},
        {"l1.size = 33000\n", "l1.size = 33000"},
        {"llc.size = 3000000\n", "llc.size"},
        {"core.count = 17\n", "16 tiles"},
        {"core.count = -1\n", "allowed is a number from 1 to 64"},
        {"core.count = 4x\n", "allowed is a number from 1 to 64"},
        {"coherence.protocol = mesi\n", "allowed is sparse, token or flask"},
        {"filter.kind = cbf\ncoherence.partition = adaptive\n", "only dleft"},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(strstr(complaint(wrong[i].text), wrong[i].expected) != NULL, "'%s': '%s'",
                      wrong[i].text, complaint(wrong[i].text));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_parts");
    TCase *tests = tcase_create("chip_parts");

    tcase_add_test(tests, a_message_takes_its_way_and_waits_for_links);
    tcase_add_test(tests, events_come_in_the_order_of_time_and_then_of_putting_in);
    tcase_add_test(tests, a_block_map_keeps_what_was_added_and_not_removed);
    tcase_add_test(tests, the_directory_gives_up_its_oldest_entry_that_is_not_busy);
    tcase_add_test(tests, a_machine_file_is_read);
    tcase_add_test(tests, a_wrong_machine_file_is_one_line);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
