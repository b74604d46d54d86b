/*
 * SPDX-License-Identifier: MIT
 *
 * Which node a CPU belongs to: from folders laid out as the kernel lays out those of machines that
 * are not here, and from MPLACE_NUMA.
 */
#include "base/memory_nodes.h"

#include "run_suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* A folder as /sys/devices/system/node, made in the current one, which is empty. */
static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ne(fputs(text, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

static void make_node(unsigned number, const char *cpulist)
{
    char name[64];

    snprintf(name, sizeof name, "node%u", number);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    strcat(name, "/cpulist");
    write_text(name, cpulist);
}

struct node {
    unsigned number;
    const char *cpulist; /* NULL: the end of an array of them */
};

static void make_machine(const char *online, const struct node *nodes)
{
    write_text("online", online);
    for (; nodes->cpulist != NULL; nodes++)
        make_node(nodes->number, nodes->cpulist);
}

static char scratch[] = "/tmp/mplace-memory-nodes-XXXXXX";

static void enter_scratch(void)
{
    ck_assert_ptr_nonnull(mkdtemp(scratch));
    ck_assert_int_eq(chdir(scratch), 0);
}

static void leave_scratch(void)
{
    char command[128];

    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -r '%s'", scratch);
    ck_assert_int_eq(system(command), 0);
}

/* The CPUs of a node as a list, so that an expectation reads as the file does. */
static const char *cpus_of(const struct memory_nodes *nodes, unsigned node)
{
    static char text[8192];
    size_t length = 0;

    text[0] = '\0';
    for (unsigned cpu = 0; cpu < MEMORY_NODE_CPUS; cpu++) {
        unsigned last = cpu;

        if (nodes->of_cpu[cpu] != node)
            continue;
        while (last + 1 < MEMORY_NODE_CPUS && nodes->of_cpu[last + 1] == node)
            last++;
        length +=
            (size_t)snprintf(text + length, sizeof text - length, last > cpu ? "%s%u-%u" : "%s%u",
                             length > 0 ? "," : "", cpu, last);
        cpu = last;
    }
    return text;
}

static void check_one_node(const struct memory_nodes *nodes)
{
    ck_assert_uint_eq(nodes->count, 1);
    ck_assert_str_eq(cpus_of(nodes, 0), "0-1023");
}

START_TEST(two_sockets_with_sibling_threads_are_read_as_listed)
{
    struct memory_nodes nodes;

    make_machine("0-1\n", (struct node[]){{0, "0-27,56-83\n"}, {1, "28-55,84-111\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_str_eq(cpus_of(&nodes, 0), "0-27,56-83");
    ck_assert_str_eq(cpus_of(&nodes, 1), "28-55,84-111");
    ck_assert_str_eq(cpus_of(&nodes, MEMORY_NODE_UNKNOWN), "112-1023");
}
END_TEST

START_TEST(node_numbers_with_holes_are_the_kernels)
{
    struct memory_nodes nodes;

    make_machine("0,8,250\n",
                 (struct node[]){{0, "0-79\n"}, {8, "80-158,160\n"}, {250, "159\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 3);
    ck_assert_str_eq(cpus_of(&nodes, 8), "80-158,160");
    ck_assert_str_eq(cpus_of(&nodes, 250), "159");
}
END_TEST

START_TEST(a_node_of_memory_alone_is_not_counted)
{
    struct memory_nodes nodes;

    /* Memory behind CXL, or a node whose CPUs are all offline. */
    make_machine("0-2\n", (struct node[]){{0, "0-15\n"}, {1, "16-31\n"}, {2, "\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_str_eq(cpus_of(&nodes, 2), "");

    write_text("node1/cpulist", "\n");
    memory_nodes_read(scratch, &nodes);
    check_one_node(&nodes);
}
END_TEST

START_TEST(offline_cpus_are_in_no_node)
{
    struct memory_nodes nodes;

    /* 1 and 7 are offline. */
    make_machine("0-1\n", (struct node[]){{0, "0,2-3\n"}, {1, "4-6\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_str_eq(cpus_of(&nodes, MEMORY_NODE_UNKNOWN), "1,7-1023");
}
END_TEST

START_TEST(more_than_64_nodes_are_told_apart_up_to_254)
{
    struct memory_nodes nodes;

    write_text("online", "0-299\n");
    for (unsigned node = 0; node < 300; node++) {
        char list[32];

        snprintf(list, sizeof list, "%u-%u\n", 3 * node, 3 * node + 2);
        make_node(node, list);
    }
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 300);
    ck_assert_str_eq(cpus_of(&nodes, 9), "27-29");
    ck_assert_str_eq(cpus_of(&nodes, 65), "195-197");
    ck_assert_str_eq(cpus_of(&nodes, 254), "762-764");
    ck_assert_str_eq(cpus_of(&nodes, MEMORY_NODE_UNKNOWN), "765-1023");
}
END_TEST

START_TEST(a_list_longer_than_any_buffer_is_read_whole)
{
    struct memory_nodes nodes;
    char even[8192] = "", odd[8192] = "";

    for (unsigned cpu = 0; cpu < MEMORY_NODE_CPUS; cpu++)
        sprintf(strchr(cpu % 2 == 0 ? even : odd, '\0'), cpu < 2 ? "%u" : ",%u", cpu);
    make_machine("0-1\n",
                 (struct node[]){{0, strcat(even, "\n")}, {1, strcat(odd, "\n")}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 2);
    for (unsigned cpu = 0; cpu < MEMORY_NODE_CPUS; cpu++)
        ck_assert_uint_eq(nodes.of_cpu[cpu], cpu % 2);
}
END_TEST

START_TEST(cpu_numbers_beyond_the_table_are_passed_over)
{
    struct memory_nodes nodes;

    make_machine("0-1\n", (struct node[]){{0, "0-7,1024-2047\n"}, {1, "8-9999999\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_str_eq(cpus_of(&nodes, 0), "0-7");
    ck_assert_str_eq(cpus_of(&nodes, 1), "8-1023");
}
END_TEST

START_TEST(without_the_kernels_files_there_is_one_node)
{
    struct memory_nodes nodes;
    char too_long[4096];

    memory_nodes_read("/nowhere", &nodes);
    check_one_node(&nodes);
    memory_nodes_read(scratch, &nodes); /* a folder, but nothing in it */
    check_one_node(&nodes);
    write_text("online", "0-1\n"); /* nodes that have no list */
    memory_nodes_read(scratch, &nodes);
    check_one_node(&nodes);
    memset(too_long, 'x', sizeof too_long);
    too_long[sizeof too_long - 1] = '\0';
    memory_nodes_read(too_long, &nodes);
    check_one_node(&nodes);
}
END_TEST

/* Each as the list of node 1, beside a right one of node 0. */
static const char *const garbage[] = {
    "",         "4-7",     "4-5,7", /* cut off before the newline */
    "4-\n",     "-7\n",    "4,,6\n", "4,\n",         ",4\n",  "7-4\n",
    "4-5-6\n",  "4 - 7\n", "0x4\n",  "4294967300\n", "abc\n", "4-7\r\n",
    "4-7, 9\n", "4--7\n",  "-\n",    ",\n",          " \n",
};

START_TEST(a_list_that_is_none_gives_its_node_no_cpu)
{
    struct memory_nodes nodes;

    make_machine("0-2\n", (struct node[]){{0, "0-3\n"}, {1, garbage[_i]}, {2, "16\n"}, {0, NULL}});
    memory_nodes_read(scratch, &nodes);
    ck_assert_str_eq(cpus_of(&nodes, 0), "0-3");
    ck_assert_str_eq(cpus_of(&nodes, 2), "16");
    ck_assert_str_eq(cpus_of(&nodes, 1), "");
}
END_TEST

START_TEST(reading_preserves_errno)
{
    struct memory_nodes nodes;

    errno = EXDEV;
    memory_nodes_read("/nowhere", &nodes);
    ck_assert_int_eq(errno, EXDEV);
    setenv("MPLACE_NUMA", "", 1);
    (void)memory_node_of_cpu(1023);
    ck_assert_int_eq(errno, EXDEV);
}
END_TEST

START_TEST(a_setting_names_the_cpus_of_each_node)
{
    struct memory_nodes nodes;

    ck_assert(memory_nodes_parse("0-3,8/4-7", &nodes));
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_str_eq(cpus_of(&nodes, 0), "0-3,8");
    ck_assert_str_eq(cpus_of(&nodes, 1), "4-7");
    ck_assert_str_eq(cpus_of(&nodes, MEMORY_NODE_UNKNOWN), "9-1023");

    ck_assert(memory_nodes_parse("1//0", &nodes)); /* node 1 has none */
    ck_assert_uint_eq(nodes.count, 2);
    ck_assert_str_eq(cpus_of(&nodes, 0), "1");
    ck_assert_str_eq(cpus_of(&nodes, 2), "0");

    ck_assert(memory_nodes_parse("0-1023", &nodes));
    check_one_node(&nodes);
    ck_assert(memory_nodes_parse("0-3/", &nodes));
    check_one_node(&nodes);
}
END_TEST

static const char *const bad_settings[] = {"no",     "0-3/3-7", "0/1/0",  "3-0/4", "0-3;4",
                                           "0-3/4 ", "0/1\n",   "-/1",    "0,/1",  "+1/2",
                                           "0/1-",   "0/1,,2",  "0-1-2/3"};

START_TEST(a_setting_that_is_none_changes_nothing)
{
    struct memory_nodes nodes = {.count = 7};

    ck_assert(!memory_nodes_parse(bad_settings[_i], &nodes));
    ck_assert_uint_eq(nodes.count, 7);
}
END_TEST

START_TEST(a_setting_of_255_nodes_is_read_and_one_of_256_is_not)
{
    struct memory_nodes nodes;
    char text[2048] = "0";

    for (unsigned node = 1; node < 255; node++)
        sprintf(strchr(text, '\0'), "/%u", node);
    ck_assert(memory_nodes_parse(text, &nodes));
    ck_assert_uint_eq(nodes.count, 255);
    ck_assert_uint_eq(nodes.of_cpu[254], 254);
    ck_assert(!memory_nodes_parse(strcat(text, "/255"), &nodes));
}
END_TEST

START_TEST(the_process_has_the_nodes_that_the_setting_names)
{
    setenv("MPLACE_NUMA", "0,5/1-3", 1);
    ck_assert_uint_eq(memory_node_of_cpu(2), 1);
    ck_assert_uint_eq(memory_node_count(), 2);
    ck_assert_uint_eq(memory_node_of_cpu(5), 0);
    ck_assert_uint_eq(memory_node_of_cpu(4), MEMORY_NODE_UNKNOWN);
    ck_assert_uint_eq(memory_node_of_cpu(MEMORY_NODE_CPUS), MEMORY_NODE_UNKNOWN);
    setenv("MPLACE_NUMA", "0-5", 1); /* read once */
    ck_assert_uint_eq(memory_node_of_cpu(2), 1);
}
END_TEST

START_TEST(of_one_node_are_all_cpus_whatever_their_number)
{
    setenv("MPLACE_NUMA", "0-3", 1);
    ck_assert_uint_eq(memory_node_count(), 1);
    ck_assert_uint_eq(memory_node_of_cpu(3), 0);
    ck_assert_uint_eq(memory_node_of_cpu(4), 0);
    ck_assert_uint_eq(memory_node_of_cpu(UINT32_MAX), 0);
}
END_TEST

START_TEST(a_cpu_that_this_thread_runs_on_has_the_node_that_getcpu_says)
{
    struct memory_nodes nodes;
    cpu_set_t mine;
    unsigned cpu, node;

    memory_nodes_read("/sys/devices/system/node", &nodes);
    ck_assert_int_eq(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (size_t i = 0; i < CPU_SETSIZE && i < MEMORY_NODE_CPUS; i++) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(i, &one);
        if (!CPU_ISSET(i, &mine) || sched_setaffinity(0, sizeof one, &one) != 0)
            continue;
        ck_assert_int_eq(getcpu(&cpu, &node), 0);
        ck_assert_uint_eq(memory_node_of_cpu(cpu), nodes.count == 1 ? 0 : node);
    }
}
END_TEST

static pthread_barrier_t start;

static void *ask_for_cpu_6(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&start);
    return (void *)(uintptr_t)(memory_node_of_cpu(6) * 1000u + memory_node_count());
}

START_TEST(threads_that_ask_first_at_once_all_get_the_answer)
{
    pthread_t threads[8];

    setenv("MPLACE_NUMA", "0-3/4-7/8", 1);
    pthread_barrier_init(&start, NULL, 8);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_for_cpu_6, NULL), 0);
    for (int i = 0; i < 8; i++) {
        void *answer;

        pthread_join(threads[i], &answer);
        ck_assert_uint_eq((uintptr_t)answer, 1003);
    }
}
END_TEST

static void *read_while_cancelled(void *nodes)
{
    pthread_cancel(pthread_self()); /* takes effect at the first point where it may */
    memory_nodes_read("/sys/devices/system/node", nodes);
    return nodes;
}

START_TEST(reading_is_no_point_of_cancellation)
{
    struct memory_nodes nodes;
    pthread_t thread;
    void *result;

    ck_assert_int_eq(pthread_create(&thread, NULL, read_while_cancelled, &nodes), 0);
    pthread_join(thread, &result);
    ck_assert_ptr_eq(result, &nodes);
}
END_TEST

START_TEST(possible_cpus_are_those_that_libc_counts)
{
    unsigned count = (unsigned)get_nprocs_conf();

    ck_assert_uint_eq(possible_cpus(), count < MEMORY_NODE_CPUS ? count : MEMORY_NODE_CPUS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_memory_nodes");
    TCase *files = tcase_create("files"), *settings = tcase_create("settings");

    tcase_add_checked_fixture(files, enter_scratch, leave_scratch);
    tcase_add_test(files, two_sockets_with_sibling_threads_are_read_as_listed);
    tcase_add_test(files, node_numbers_with_holes_are_the_kernels);
    tcase_add_test(files, a_node_of_memory_alone_is_not_counted);
    tcase_add_test(files, offline_cpus_are_in_no_node);
    tcase_add_test(files, more_than_64_nodes_are_told_apart_up_to_254);
    tcase_add_test(files, a_list_longer_than_any_buffer_is_read_whole);
    tcase_add_test(files, cpu_numbers_beyond_the_table_are_passed_over);
    tcase_add_test(files, without_the_kernels_files_there_is_one_node);
    tcase_add_loop_test(files, a_list_that_is_none_gives_its_node_no_cpu, 0,
                        sizeof garbage / sizeof *garbage);
    suite_add_tcase(suite, files);

    tcase_add_test(settings, reading_preserves_errno);
    tcase_add_test(settings, a_setting_names_the_cpus_of_each_node);
    tcase_add_loop_test(settings, a_setting_that_is_none_changes_nothing, 0,
                        sizeof bad_settings / sizeof *bad_settings);
    tcase_add_test(settings, a_setting_of_255_nodes_is_read_and_one_of_256_is_not);
    tcase_add_test(settings, the_process_has_the_nodes_that_the_setting_names);
    tcase_add_test(settings, of_one_node_are_all_cpus_whatever_their_number);
    tcase_add_test(settings, a_cpu_that_this_thread_runs_on_has_the_node_that_getcpu_says);
    tcase_add_test(settings, threads_that_ask_first_at_once_all_get_the_answer);
    tcase_add_test(settings, reading_is_no_point_of_cancellation);
    tcase_add_test(settings, possible_cpus_are_those_that_libc_counts);
    suite_add_tcase(suite, settings);
    return run_suite(suite);
}
