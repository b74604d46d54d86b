/*
 * SPDX-License-Identifier: MIT
 *
 * Where a block lies: maps of addresses, frames of pages, parts and ports; and what the memory
 * counts for a few accesses of which the places are known.
 */
#include "chip_complaint.h"
#include "chip_fixture.h"
#include "run_suite.h"

#include "base/random.h"

#include <stdio.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

/* flask16 with the given keys: name, value, ..., NULL. */
static struct machine machine_of(const char *const *settings)
{
    struct machine machine = chip_machine(MACHINE_SPARSE);
    char problem[2048];

    machine_parts(&machine, CHIP_PARTS);
    for (unsigned i = 0; settings[i] != NULL; i += 2)
        ck_assert_msg(machine_set(&machine, settings[i], settings[i + 1], problem, sizeof problem),
                      "%s", problem);
    ck_assert_msg(machine_check(&machine, problem, sizeof problem), "%s", problem);
    return machine;
}

static struct machine tilepro64(void)
{
    struct machine machine;
    char problem[2048];

    machine_defaults(&machine);
    ck_assert_msg(
        machine_read(&machine, CHIP_PARTS "/../tilepro64.machine", problem, sizeof problem), "%s",
        problem);
    ck_assert_msg(machine_check(&machine, problem, sizeof problem), "%s", problem);
    return machine;
}

START_TEST(lists_of_bits_are_read_and_written)
{
    static const char *const right[] = {"auto", "none", "13 14 15", "13^17 14^18", "0", "51"};
    static const char *const wrong[] = {"",     "13,14", "13^",           "^13", "13 14^14", "52",
                                        "13 x", "-1",    "1 2 3 4 5 6 7", " 13", "13  ^14"};
    struct address_bits bits;
    char text[1024];

    for (unsigned i = 0; i < sizeof right / sizeof right[0]; i++) {
        ck_assert_msg(address_bits_parse(&bits, right[i]), "%s", right[i]);
        address_bits_print(&bits, text, sizeof text);
        ck_assert_str_eq(text, right[i]);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!address_bits_parse(&bits, wrong[i]), "'%s'", wrong[i]);
}
END_TEST

START_TEST(tilepro64_has_its_banks_where_the_paper_says)
{
    struct machine machine = tilepro64();
    struct address_map map;
    char problem[256];

    ck_assert(machine_address_map(&machine, &map, problem, sizeof problem));
    for (uint64_t i = 0; i < 32; i++) {
        uint64_t address = (i / 8) << 34 | (i % 8) << 13 | UINT64_C(0x51230fc0);

        ck_assert_uint_eq(address_index_of(&map.controller, address), i / 8);
        ck_assert_uint_eq(address_index_of(&map.bank, address), i % 8);
        ck_assert_uint_eq(address_index_of(&map.rank, address), 0);
        ck_assert_uint_eq(address & map.row, UINT64_C(0x51230000));
    }
}
END_TEST

static const char *const maps[][13] = {
    {NULL},
    {"memory.controller_bits", "12 13", "memory.bank_bits", "14^17 15^18 16^19"},
    {"memory.controller_bits", "7^9^14", "memory.controllers", "2", "memory.bank_bits",
     "8^12 9^13 10^14", "memory.rank_bits", "18", "memory.ranks", "2"},
    {"memory.bank_bits", "6 13^14 13", "memory.ranks", "4", "memory.row_bytes", "1024"},
    {"memory.controllers", "1", "memory.banks", "1", "memory.row_bytes", "64"},
};

/* All blocks of 1 MiB: each row has as many as it has bytes for, and the rows are all different. */
START_TEST(each_address_is_a_place_of_its_own)
{
    struct machine machine = machine_of(maps[_i]);
    struct address_map map;
    struct block_map rows = {0};
    char problem[256];
    uint64_t blocks = (1 << 20) / 64, in_row = machine.memory.row_bytes / 64;
    size_t full = 0;

    ck_assert(machine_address_map(&machine, &map, problem, sizeof problem));
    for (uint64_t block = 0; block < blocks; block++) {
        uint64_t address = block * 64, row = address & map.row;
        uint64_t place = row << 12 | address_index_of(&map.controller, address) << 10 |
                         address_index_of(&map.rank, address) << 6 |
                         address_index_of(&map.bank, address);

        full += ++*block_map_add(&rows, place) == in_row;
        ck_assert_uint_le(*block_map_find(&rows, place), in_row);
    }
    ck_assert_uint_eq(rows.used, blocks / in_row);
    ck_assert_uint_eq(full, rows.used);
    block_map_destroy(&rows);
}
END_TEST

/* The complaint about this beside memory.model = dram. */
static const char *complaint(const char *text)
{
    char whole[1024];

    ck_assert_int_lt(snprintf(whole, sizeof whole, "memory.model = dram\n%s", text), sizeof whole);
    return complaint_about(whole, CHIP_PARTS);
}

START_TEST(a_wrong_memory_is_one_line)
{
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"memory.bank_bits = 13 14\n", "2 functions choose one of 4; memory.banks = 8 needs 3"},
        {"memory.bank_bits = 13 14 13^14\n", "function 3 is the exclusive or of other functions"},
        {"memory.bank_bits = 13 14 15\nmemory.controller_bits = 14 16\n", "memory.bank_bits"},
        {"memory.bank_bits = 5 13 14\n", "bit 5: allowed is 6"},
        {"memory.bank_bits = 13 14 40\n", "bit 40"},
        {"memory.bank_bits = thirteen\n", "line 2: memory.bank_bits = 'thirteen': allowed is auto"},
        {"memory.part = ddr9\n", "none, ddr2-800, ddr3-1600"},
        {"memory.part = ../ddr2-800\n", "memory.part"},
        {"memory.part =\n", "memory.part = ''"},
        {"memory.tREFI = 100\n", "memory.tREFI = 100: allowed is"},
        {"memory.tRCD = 0\n", "allowed is a number from 1 to 255"},
        {"memory.row_bytes = 64\nblock = 128\nl1.size = 65536\n", "a block has 128 bytes"},
        {"memory.bank_groups = 16\n", "a rank has 8 banks"},
        {"memory.ports = 5\n", "a row of the mesh has 4 tiles"},
        {"memory.address_bits = 20\nmemory.ranks = 16\nmemory.banks = 64\n", "too few"},
        {"memory.banks = 3\n", "a power of two"},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(strstr(complaint(wrong[i].text), wrong[i].expected) != NULL, "'%s': '%s'",
                      wrong[i].text, complaint(wrong[i].text));
    ck_assert_str_eq(complaint("memory.part = ddr2-800\nmemory.part = none\n"), "");
}
END_TEST

/* A folder with one part of this text, and what a machine that names it complains about. */
static void expect_bad_part(const char *text, const char *expected)
{
    char folder[] = "/tmp/chip_parts.XXXXXX", path[64], problem[2048];
    struct machine machine;
    FILE *file;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/own.part", folder);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    machine_defaults(&machine);
    machine_parts(&machine, folder);
    ck_assert_msg(!machine_set(&machine, "memory.part", "own", problem, sizeof problem), "%s",
                  text);
    ck_assert_msg(strstr(problem, expected) != NULL && strchr(problem, '\n') == NULL, "%s",
                  problem);
    unlink(path);
    rmdir(folder);
}

START_TEST(a_part_has_keys_of_the_memory_only)
{
    expect_bad_part("memory.tCL = 5\nl1.size = 1024\n", "own.part, line 2: l1.size");
    expect_bad_part("memory.part = own\n", "own.part, line 1: memory.part");
    expect_bad_part("memory.tCL = five\n", "line 1: memory.tCL = 'five'");
}
END_TEST

static void set(struct machine *machine, const char *key, const char *value)
{
    char problem[2048];

    ck_assert_msg(machine_set(machine, key, value, problem, sizeof problem), "%s", problem);
}

/* ddr4-3200 has keys that ddr2-800 has not: those of bank groups. */
START_TEST(of_a_part_that_another_one_replaces_nothing_is_left)
{
    struct machine machine = machine_of((const char *const[]){NULL});
    struct machine with = machine, without = machine;

    set(&with, "memory.part", "ddr2-800");
    set(&machine, "memory.part", "ddr4-3200");
    set(&machine, "memory.part", "ddr2-800");
    ck_assert_mem_eq(&machine.memory, &with.memory, sizeof machine.memory);
    set(&machine, "memory.part", "none");
    ck_assert_mem_eq(&machine.memory, &without.memory, sizeof machine.memory);
}
END_TEST

START_TEST(a_key_that_was_set_after_the_part_stays_without_it)
{
    struct machine machine = machine_of((const char *const[]){NULL});

    set(&machine, "memory.tFAW", "50");
    set(&machine, "memory.part", "ddr4-3200");
    set(&machine, "memory.tCL", "30");
    set(&machine, "memory.part", "none");
    ck_assert_uint_eq(machine.memory.tCL, 30);
}
END_TEST

/* Four controllers by bits 34 and 35: page i to controller i % 4, downwards from the top. */
START_TEST(pages_without_a_frame_go_to_the_controllers_in_turn)
{
    struct machine machine = tilepro64();
    struct address_map map;
    struct frames frames;
    char problem[256];

    ck_assert(machine_address_map(&machine, &map, problem, sizeof problem));
    frames_init(&frames, &map, machine.memory.address_bits);
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(frames_address(&frames, 7 * i),
                          (i % 4) << 34 | ((UINT64_C(1) << 34) - (i / 4 + 1) * PAGE));
    ck_assert_uint_eq(frames_address(&frames, 7), (UINT64_C(1) << 34) + (UINT64_C(1) << 34) - PAGE);
    frames_destroy(&frames);
}
END_TEST

START_TEST(a_new_frame_counts_when_nothing_is_on_its_way)
{
    struct machine machine = tilepro64();
    struct address_map map;
    struct frames frames;
    char problem[256];

    ck_assert(machine_address_map(&machine, &map, problem, sizeof problem));
    frames_init(&frames, &map, machine.memory.address_bits);
    frames_set(&frames, 1, 10);
    ck_assert_uint_eq(frames_address(&frames, 1), 10 * PAGE);
    frames_leave(&frames, 1);
    frames_leave(&frames, 1);
    frames_set(&frames, 1, 20);
    frames_arrive(&frames, 1);
    ck_assert_uint_eq(frames_address(&frames, 1), 10 * PAGE);
    frames_arrive(&frames, 1);
    ck_assert_uint_eq(frames_address(&frames, 1), 20 * PAGE);
    frames_destroy(&frames);
}
END_TEST

START_TEST(the_ports_of_a_controller_are_side_by_side)
{
    static const unsigned tiles[] = {0, 1, 2, 7, 6, 5, 56, 57, 58, 63, 62, 61};
    struct machine machine = tilepro64();
    struct fabric *fabric = calloc(1, sizeof *fabric);

    ck_assert_ptr_nonnull(fabric);
    ck_assert(fabric_init(fabric, &machine));
    for (unsigned i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        ck_assert_uint_eq(fabric->mesh.tile[fabric->first_memory + i], tiles[i]);
    memory_place(&fabric->memory, 0, (UINT64_C(2) << 34) / PAGE);
    for (unsigned block = 0; block < 6; block++)
        ck_assert_uint_eq(fabric_memory_agent(fabric, block), fabric->first_memory + 6 + block % 3);
    fabric_destroy(fabric);
    free(fabric);
}
END_TEST

/* Bits of the first page's addresses choose the controller, in each of these. */
static const char *const port_maps[][11] = {
    {"llc.banks", "1", "memory.controllers", "2", "memory.ports", "2", NULL},
    {"llc.banks", "1", "memory.controllers", "2", "memory.ports", "4", NULL},
    {"llc.banks", "4", "memory.controllers", "4", "memory.ports", "3", NULL},
    {"memory.model", "dram", "llc.banks", "1", "memory.controllers", "2", "memory.ports", "2",
     NULL},
    {"memory.model", "dram", "memory.controllers", "2", "memory.ports", "2",
     "memory.controller_bits", "7", NULL},
    {"memory.model", "dram", "memory.ports", "2", "memory.controller_bits", "6^12 8^13", NULL},
};

START_TEST(the_blocks_of_a_controller_go_through_its_ports_in_turn)
{
    struct machine machine = machine_of(port_maps[_i]);
    struct fabric *fabric = calloc(1, sizeof *fabric);
    unsigned blocks[16] = {0};

    ck_assert_ptr_nonnull(fabric);
    ck_assert(fabric_init(fabric, &machine));
    memory_place(&fabric->memory, 0, 0);
    for (uint64_t block = 0; block < PAGE / 64; block++) {
        unsigned agent = fabric_memory_agent(fabric, block) - fabric->first_memory;
        unsigned controller = agent / machine.memory.ports;

        ck_assert_uint_eq(agent % machine.memory.ports,
                          blocks[controller]++ % machine.memory.ports);
    }
    for (unsigned i = 0; i < machine.memory.controllers; i++)
        ck_assert_uint_eq(blocks[i], PAGE / 64 / machine.memory.controllers);
    fabric_destroy(fabric);
    free(fabric);
}
END_TEST

/* A page at this frame, and a read of its block that is over before the next event. */
static void read_at(struct chip_script *script, uint64_t page, uint64_t frame, uint64_t block)
{
    chip_event(script, 0, TRACE_MARK, page * PAGE)->what = TRACE_FRAME;
    script->events[0][script->count[0] - 1].value = frame;
    chip_event(script, 0, TRACE_LOAD, page * PAGE + block * 64);
    chip_event(script, 0, TRACE_FENCE, 0);
}

/*
 * Clocks as long as cycles, bits 13 to 15 choose the bank, 34 and 35 the controller. A closed row
 * takes tRCD + tCL + BL/2 = 14, an open one tCL + BL/2 = 9, a conflict tRP more than a closed one,
 * 19 (tRAS is long over when it comes).
 */
START_TEST(reads_count_by_controller_and_by_what_their_row_was)
{
    static const char *const settings[] = {"memory.model",
                                           "dram",
                                           "memory.part",
                                           "ddr2-800",
                                           "core.mhz",
                                           "400",
                                           "memory.refresh",
                                           "off",
                                           "memory.bank_bits",
                                           "13 14 15",
                                           "memory.controller_bits",
                                           "34 35",
                                           NULL};
    static struct chip_script script;
    const uint64_t third = (UINT64_C(3) << 34) / PAGE;
    struct machine machine = machine_of(settings);
    struct cores *cores = calloc(1, sizeof *cores);
    const uint64_t *first, *last;

    ck_assert_ptr_nonnull(cores);
    read_at(&script, 1, 0, 0);         /* closed */
    read_at(&script, 1, 0, 1);         /* open */
    read_at(&script, 2, 1, 0);         /* the other half of the row: open */
    read_at(&script, 3, 2, 0);         /* the next bank: closed */
    read_at(&script, 4, 16, 0);        /* row 1 of the first bank: conflict */
    read_at(&script, 5, third, 0);     /* another controller: closed */
    read_at(&script, 6, third + 1, 3); /* open */
    chip_replay(&script, &machine, cores);
    first = cores->fabric.counts[machine.core.count].of;
    last = cores->fabric.counts[machine.core.count + 3].of;
    ck_assert_uint_eq(first[COUNT_MEMORY_READS], 5);
    ck_assert_uint_eq(first[COUNT_ROW_HITS], 2);
    ck_assert_uint_eq(first[COUNT_ROW_MISSES], 2);
    ck_assert_uint_eq(first[COUNT_ROW_CONFLICTS], 1);
    ck_assert_uint_eq(first[COUNT_LATENCY], 14 + 9 + 9 + 14 + 19);
    ck_assert_uint_eq(last[COUNT_MEMORY_READS], 2);
    ck_assert_uint_eq(last[COUNT_ROW_HITS], 1);
    ck_assert_uint_eq(last[COUNT_ROW_MISSES], 1);
    ck_assert_uint_eq(last[COUNT_LATENCY], 14 + 9);
    ck_assert_uint_eq(chip_total(cores, COUNT_MEMORY_READS), 7);
    ck_assert_uint_eq(chip_total(cores, COUNT_ROW_HITS), 3);
    ck_assert_uint_eq(chip_total(cores, COUNT_MEMORY_WRITES), 0);
    cores_destroy(cores);
    free(cores);
}
END_TEST

/* Cores that fight for three pages, which get other frames all the time, at random delays. */
START_TEST(pages_that_move_lose_nothing)
{
    static const char *const settings[] = {"memory.model",
                                           "dram",
                                           "memory.ports",
                                           "2",
                                           "l1.size",
                                           "128",
                                           "l1.ways",
                                           "2",
                                           "l2.size",
                                           "256",
                                           "l2.ways",
                                           "2",
                                           "llc.size",
                                           "1024",
                                           "llc.ways",
                                           "2",
                                           "llc.banks",
                                           "2",
                                           "memory.controller_bits",
                                           "12 13",
                                           NULL};
    static struct chip_script script;
    struct machine machine = machine_of(settings);
    struct cores *cores = calloc(1, sizeof *cores);
    uint64_t random = 1;

    ck_assert_ptr_nonnull(cores);
    machine.coherence.protocol = (uint32_t)_i;
    for (unsigned i = 0; i < 16 * 3000; i++) {
        uint64_t address = PAGE * random_below(&random, 3) + 64 * random_below(&random, 12);
        unsigned kind = (unsigned)random_below(&random, 10);
        struct trace_event *event = chip_event(&script, i % 16,
                                               kind == 0  ? TRACE_MARK
                                               : kind < 4 ? TRACE_STORE
                                                          : TRACE_LOAD,
                                               address);

        event->what = kind == 0 ? TRACE_FRAME : 0;
        event->value = random_below(&random, 1000);
    }
    for (unsigned i = 0; i < script.threads; i++) {
        script.selves[i] = (struct chip_self){&script, i};
        script.sources[i] =
            (struct source){.next = chip_next, .self = &script.selves[i], .thread = i};
    }
    ck_assert(cores_init(cores, &machine, script.sources, script.threads, true));
    cores->fabric.jitter = 40;
    while (cores_run(cores, 1000))
        ;
    ck_assert_msg(check_finding(cores->fabric.check) == NULL, "%s",
                  check_finding(cores->fabric.check));
    ck_assert_uint_eq(cores->running, 0);
    cores_destroy(cores);
    free(cores);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_memory");
    TCase *tests = tcase_create("chip_memory");

    tcase_add_test(tests, lists_of_bits_are_read_and_written);
    tcase_add_test(tests, tilepro64_has_its_banks_where_the_paper_says);
    tcase_add_loop_test(tests, each_address_is_a_place_of_its_own, 0, sizeof maps / sizeof maps[0]);
    tcase_add_test(tests, a_wrong_memory_is_one_line);
    tcase_add_test(tests, a_part_has_keys_of_the_memory_only);
    tcase_add_test(tests, of_a_part_that_another_one_replaces_nothing_is_left);
    tcase_add_test(tests, a_key_that_was_set_after_the_part_stays_without_it);
    tcase_add_test(tests, pages_without_a_frame_go_to_the_controllers_in_turn);
    tcase_add_test(tests, a_new_frame_counts_when_nothing_is_on_its_way);
    tcase_add_test(tests, the_ports_of_a_controller_are_side_by_side);
    tcase_add_loop_test(tests, the_blocks_of_a_controller_go_through_its_ports_in_turn, 0,
                        sizeof port_maps / sizeof port_maps[0]);
    tcase_add_test(tests, reads_count_by_controller_and_by_what_their_row_was);
    tcase_add_loop_test(tests, pages_that_move_lose_nothing, MACHINE_SPARSE, MACHINE_FLASK + 1);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
