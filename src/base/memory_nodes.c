/*
 * SPDX-License-Identifier: MIT
 *
 * Reading lists of CPUs and nodes; see memory_nodes.h. The format is the kernel's: numbers and
 * ranges with commas between, "0-3,8"; an empty list is an empty text.
 */
#include "base/memory_nodes.h"

#include "base/settings.h"
#include "base/system_call.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static const char kernel_folder[] = "/sys/devices/system/node";
static const char allowed[] = "lists of CPUs as 0-3,8 with a slash between nodes, each CPU once";

enum { LISTED = MEMORY_NODE_CPUS };

/* The numbers of a list that are smaller than LISTED. */
struct list {
    uint64_t bits[LISTED / 64];
};

static uint32_t list_count(const struct list *list)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < LISTED / 64; i++)
        count += (uint32_t)__builtin_popcountll(list->bits[i]);
    return count;
}

static bool list_has(const struct list *list, uint32_t number)
{
    return (list->bits[number / 64] >> number % 64 & 1) != 0;
}

/*
 * Reads a list one character after the other, because it may be longer than any buffer: every
 * second CPU of a large machine makes some thousand characters.
 */
struct list_reader {
    struct list *list;
    uint32_t first; /* of a range, once its dash was read */
    uint32_t number;
    uint32_t digits; /* of number, so far */
    bool in_range;
    bool is_empty; /* nothing was read yet */
};

static struct list_reader list_begin(struct list *list)
{
    *list = (struct list){{0}};
    return (struct list_reader){.list = list, .is_empty = true};
}

/* At a comma or the end: adds the number or the range before it. False if there is none. */
static bool list_add(struct list_reader *reader)
{
    uint32_t first = reader->in_range ? reader->first : reader->number;

    if (reader->digits == 0 || first > reader->number)
        return false;
    for (uint32_t i = first; i <= reader->number && i < LISTED; i++)
        reader->list->bits[i / 64] |= (uint64_t)1 << i % 64;
    reader->number = 0;
    reader->digits = 0;
    reader->in_range = false;
    return true;
}

/* False: this character cannot stand here. */
static bool list_take(struct list_reader *reader, char character)
{
    enum { DIGITS_MOST = 7 };

    reader->is_empty = false;
    if (character >= '0' && character <= '9') {
        reader->number = reader->number * 10 + (uint32_t)(character - '0');
        return ++reader->digits <= DIGITS_MOST;
    }
    if (character == ',')
        return list_add(reader);
    if (character != '-' || reader->digits == 0 || reader->in_range)
        return false;
    reader->first = reader->number;
    reader->number = 0;
    reader->digits = 0;
    reader->in_range = true;
    return true;
}

static bool list_end(struct list_reader *reader)
{
    return reader->is_empty || list_add(reader);
}

/*
 * The list in a file, which a newline ends. By system calls of our own: open, read and close would
 * be points where a thread can be cancelled, and malloc must not be one; and libraries that stand
 * before libc's syscall() take locks in it that this thread may hold (uid_wrapper).
 */
static bool read_file(const char *path, struct list *list)
{
    struct list_reader reader = list_begin(list);
    bool is_right = true, is_ended = false;
    char text[256];
    long got = 0;
    int file = (int)system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    while (is_right && !is_ended) {
        got = system_call(SYS_read, file, text, sizeof text);
        if (got <= 0)
            break;
        for (long i = 0; is_right && !is_ended && i < got; i++) {
            is_ended = text[i] == '\n';
            is_right = is_ended ? list_end(&reader) : list_take(&reader, text[i]);
        }
    }
    system_call(SYS_close, file, NULL, 0);
    return is_right && is_ended;
}

/* folder/name, or folder/nodeNUMBER/cpulist for a name of NULL. False: too long. */
static bool read_list(const char *folder, const char *name, uint32_t number, struct list *list)
{
    static const char node[] = "/node", cpus[] = "/cpulist";
    enum { NAME_MOST = 32 };
    char path[256];
    size_t length = strlen(folder);

    if (length > sizeof path - NAME_MOST)
        return false;
    memcpy(path, folder, length);
    if (name != NULL) {
        memcpy(path + length, name, strlen(name) + 1);
        return read_file(path, list);
    }
    memcpy(path + length, node, sizeof node - 1);
    length += sizeof node - 1;
    for (uint32_t unit = number >= 1000  ? 1000
                         : number >= 100 ? 100
                         : number >= 10  ? 10
                                         : 1;
         unit > 0; unit /= 10)
        path[length++] = (char)('0' + number / unit % 10);
    memcpy(path + length, cpus, sizeof cpus);
    return read_file(path, list);
}

uint32_t possible_cpus(void)
{
    struct list list;

    if (!read_file("/sys/devices/system/cpu/possible", &list) || list_count(&list) == 0) {
        list = (struct list){{0}};
        (void)system_call_6(SYS_sched_getaffinity, 0, sizeof list.bits, (long)list.bits, 0, 0, 0);
    }
    uint32_t count = list_count(&list);
    return count > 0 ? count : 1;
}

static void begin(struct memory_nodes *nodes)
{
    nodes->count = 0;
    memset(nodes->of_cpu, MEMORY_NODE_UNKNOWN, sizeof nodes->of_cpu);
}

/* False if a CPU is in another node already. */
static bool add_node(struct memory_nodes *nodes, uint32_t number, const struct list *cpus)
{
    bool has_cpus = false;

    for (uint32_t cpu = 0; cpu < MEMORY_NODE_CPUS; cpu++) {
        if (!list_has(cpus, cpu))
            continue;
        if (nodes->of_cpu[cpu] != MEMORY_NODE_UNKNOWN)
            return false;
        if (number < MEMORY_NODE_UNKNOWN)
            nodes->of_cpu[cpu] = (uint8_t)number;
        has_cpus = true;
    }
    nodes->count += has_cpus;
    return true;
}

static void end(struct memory_nodes *nodes)
{
    if (nodes->count > 1)
        return;
    nodes->count = 1;
    memset(nodes->of_cpu, 0, sizeof nodes->of_cpu);
}

void memory_nodes_read(const char *folder, struct memory_nodes *nodes)
{
    struct list online, cpus;

    begin(nodes);
    /* On most machines there is one, and this one file is all that is read. */
    if (read_list(folder, "/online", 0, &online) && list_count(&online) > 1) {
        for (uint32_t node = 0; node < LISTED; node++) {
            if (list_has(&online, node) && read_list(folder, NULL, node, &cpus))
                (void)add_node(nodes, node, &cpus);
        }
    }
    end(nodes);
}

bool memory_nodes_parse(const char *text, struct memory_nodes *nodes)
{
    struct memory_nodes parsed;
    struct list cpus;
    struct list_reader reader = list_begin(&cpus);

    begin(&parsed);
    for (uint32_t node = 0;; text++) {
        if (*text != '/' && *text != '\0') {
            if (!list_take(&reader, *text))
                return false;
            continue;
        }
        if (node >= MEMORY_NODE_UNKNOWN || !list_end(&reader) || !add_node(&parsed, node, &cpus))
            return false;
        if (*text == '\0')
            break;
        node++;
        reader = list_begin(&cpus);
    }
    end(&parsed);
    *nodes = parsed;
    return true;
}

/*
 * What the process found. Threads that race write the same, but for a CPU that comes or goes just
 * then; so each entry is one that was true, and a reader that finds a count (acquire) finds all
 * entries that were written before it (release).
 */
static _Atomic uint8_t node_of_cpu[MEMORY_NODE_CPUS];
static _Atomic uint32_t node_count; /* 0: not read yet */
static atomic_bool nodes_are_set;   /* by the setting; stored before the count */

static void publish(const struct memory_nodes *nodes)
{
    for (uint32_t cpu = 0; cpu < MEMORY_NODE_CPUS; cpu++)
        atomic_store_explicit(&node_of_cpu[cpu], nodes->of_cpu[cpu], memory_order_relaxed);
    atomic_store_explicit(&node_count, nodes->count, memory_order_release);
}

static __attribute__((noinline)) void initialise(void)
{
    const char *text = setting_text("MPLACE_NUMA");
    struct memory_nodes nodes;

    if (text != NULL && memory_nodes_parse(text, &nodes)) {
        atomic_store_explicit(&nodes_are_set, true, memory_order_relaxed);
    } else {
        if (text != NULL)
            setting_complain("MPLACE_NUMA", text, allowed);
        memory_nodes_read(kernel_folder, &nodes);
    }
    publish(&nodes);
}

/* A CPU that was offline when the files were read is in them once a thread runs there. */
static __attribute__((noinline)) uint8_t look_again(uint32_t cpu)
{
    struct memory_nodes nodes;

    if (atomic_load_explicit(&nodes_are_set, memory_order_relaxed))
        return MEMORY_NODE_UNKNOWN;
    memory_nodes_read(kernel_folder, &nodes);
    if (nodes.count == 1)
        return MEMORY_NODE_UNKNOWN; /* no /sys any more, in a changed root: keep what there is */
    atomic_store_explicit(&node_of_cpu[cpu], nodes.of_cpu[cpu], memory_order_relaxed);
    return nodes.of_cpu[cpu];
}

uint32_t memory_node_count(void)
{
    uint32_t count = atomic_load_explicit(&node_count, memory_order_acquire);

    if (__builtin_expect(count != 0, 1))
        return count;
    initialise();
    return atomic_load_explicit(&node_count, memory_order_relaxed);
}

uint8_t memory_node_of_cpu(uint32_t cpu)
{
    uint32_t count = memory_node_count();
    uint8_t node;

    if (cpu >= MEMORY_NODE_CPUS)
        return count == 1 ? 0 : MEMORY_NODE_UNKNOWN;
    node = atomic_load_explicit(&node_of_cpu[cpu], memory_order_relaxed);
    return __builtin_expect(node != MEMORY_NODE_UNKNOWN, 1) ? node : look_again(cpu);
}
