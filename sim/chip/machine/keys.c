/*
 * SPDX-License-Identifier: MIT
 *
 * The table of the keys of a machine file; see keys.h.
 */
#include "chip/machine/keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct machine, field)
#define NUMBER(name, field, value, least, most, meaning)                                           \
    {                                                                                              \
        name, meaning, KEY_NUMBER, AT(field), value, least, most,                                  \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define POWER(name, field, value, least, most, meaning)                                            \
    {                                                                                              \
        name, meaning, KEY_POWER, AT(field), value, least, most,                                   \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define WORDS(name, field, value, most, meaning, ...)                                              \
    {                                                                                              \
        name, meaning, KEY_WORD, AT(field), value, 0, most,                                        \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define BITS(name, field, meaning)                                                                 \
    {                                                                                              \
        name, meaning, KEY_BITS, AT(field), 0, 0, 0,                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define PART(name, meaning)                                                                        \
    {                                                                                              \
        name, meaning, KEY_PART, AT(memory.part), 0, 0, 0,                                         \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* clang-format off */
static const struct key keys[] = {
    POWER("block", block, 64, 16, 1024, "bytes of a block"),
    NUMBER("core.count", core.count, 16, 1, MACHINE_CORES_MOST, "cores"),
    NUMBER("core.width", core.width, 6, 1, 16, "instructions a cycle"),
    NUMBER("core.window", core.window, 64, 1, MACHINE_WINDOW_MOST,
           "misses of a core that are under way at once"),
    NUMBER("core.rob", core.rob, 196, 1, 4096,
           "instructions that a core goes on for beyond a load that it waits for"),
    NUMBER("core.slack", core.slack, 12, 0, 1000,
           "cycles that a core may run ahead of the others on its own hits"),
    NUMBER("core.turn", core.turn, 100000, 1000, 1000000000,
           "cycles of a thread's turn where a core has several"),
    NUMBER("core.mhz", core.mhz, 3000, 1, 100000,
           "MHz, which relates cycles to memory clocks of dram"),
    NUMBER("l1.size", l1.size, 32768, 64, 1 << 24, "bytes of a core's first level"),
    NUMBER("l1.ways", l1.ways, 4, 1, 64, "its ways"),
    NUMBER("l1.latency", l1.latency, 1, 1, 100, "cycles of a hit"),
    NUMBER("l2.size", l2.size, 262144, 64, 1 << 28, "bytes of a core's second level"),
    NUMBER("l2.ways", l2.ways, 8, 1, 64, "its ways"),
    NUMBER("l2.latency", l2.latency, 2, 1, 200, "cycles of a lookup, beyond the first"),
    WORDS("l2.policy", l2_policy, MACHINE_EXCLUSIVE, 1,
          "takes what leaves the first level, or has all of it", "exclusive", "inclusive"),
    POWER("llc.banks", llc.banks, 16, 1, MACHINE_BANKS_MOST, "banks of the last level"),
    NUMBER("llc.size", llc.size, 16777216, 64, 1 << 30, "bytes of all its banks"),
    NUMBER("llc.ways", llc.ways, 16, 1, 64, "its ways"),
    NUMBER("llc.latency", llc.latency, 6, 1, 200, "cycles of a lookup in a bank"),
    NUMBER("mesh.width", mesh.width, 4, 1, 16, "columns of tiles"),
    NUMBER("mesh.height", mesh.height, 4, 1, 16, "rows of tiles"),
    NUMBER("mesh.router", mesh.router, 1, 1, 100, "cycles through a router"),
    NUMBER("mesh.link", mesh.link, 1, 1, 100, "cycles of a link"),
    POWER("mesh.link_bytes", mesh.link_bytes, 16, 1, 256, "bytes of a flit"),
    POWER("memory.controllers", memory.controllers, 4, 1, 16, "memory controllers"),
    NUMBER("memory.latency", memory.latency, 240, 1, 10000, "cycles of an access"),
    NUMBER("memory.occupancy", memory.occupancy, 6, 0, 10000,
           "cycles between two blocks of a controller; 0: memory.latency, a bank"),
    WORDS("memory.model", memory.model, MACHINE_SIMPLE, 1,
          "a fixed time and a rate, or banks with open rows", "simple", "dram"),
    NUMBER("memory.ports", memory.ports, 1, 1, 8, "places where a controller is on the mesh"),
    PART("memory.part", "dram: the file of timings that is read here"),
    NUMBER("memory.address_bits", memory.address_bits, 40, 20, 52,
           "dram: bits of a physical address"),
    BITS("memory.controller_bits", memory.controller_bits,
         "address bits that choose the controller"),
    BITS("memory.bank_bits", memory.bank_bits, "the bank"),
    BITS("memory.rank_bits", memory.rank_bits, "the rank"),
    POWER("memory.ranks", memory.ranks, 1, 1, 16, "ranks of a controller"),
    POWER("memory.banks", memory.banks, 8, 1, 64, "banks of a rank"),
    POWER("memory.bank_groups", memory.bank_groups, 1, 1, 16,
          "groups of them, by the lowest bits of the bank"),
    POWER("memory.row_bytes", memory.row_bytes, 8192, 64, 1 << 20,
          "bytes of a row of all chips of a rank"),
    POWER("memory.bus_bytes", memory.bus_bytes, 8, 1, 64, "bytes of the data bus"),
    POWER("memory.burst", memory.burst, 8, 2, 32, "transfers of a burst, two a memory clock"),
    WORDS("memory.page", memory.page, MACHINE_OPEN, 1,
          "a row stays open, or is closed when nothing waits for it", "open", "closed"),
    WORDS("memory.refresh", memory.refresh, MACHINE_ON, 1,
          "whether rows are refreshed", "off", "on"),
    NUMBER("memory.queue", memory.queue, 32, 1, 64, "requests that a controller chooses from"),
    NUMBER("memory.wait_most", memory.wait_most, 1000, 1, 1000000,
           "memory clocks that the oldest of them lets others pass"),
    NUMBER("memory.overhead", memory.overhead, 0, 0, 10000,
           "cycles of an access outside of the chips of memory"),
    NUMBER("memory.tCK", memory.tCK, 1250, 100, 100000,
           "ps of a memory clock; all below in memory clocks"),
    NUMBER("memory.tCL", memory.tCL, 11, 1, 255, "a read to its data"),
    NUMBER("memory.tCWL", memory.tCWL, 8, 1, 255, "a write to its data"),
    NUMBER("memory.tRCD", memory.tRCD, 11, 1, 255, "activate to read or write"),
    NUMBER("memory.tRP", memory.tRP, 11, 1, 255, "precharge to activate"),
    NUMBER("memory.tRAS", memory.tRAS, 28, 1, 255, "activate to precharge"),
    NUMBER("memory.tRC", memory.tRC, 39, 1, 255, "activate to activate of a bank"),
    NUMBER("memory.tRRD", memory.tRRD, 5, 1, 255, "activate to activate of another bank"),
    NUMBER("memory.tRRD_L", memory.tRRD_L, 0, 0, 255, "the same in a bank group; 0: as tRRD"),
    NUMBER("memory.tFAW", memory.tFAW, 24, 1, 255, "any five activates of a rank"),
    NUMBER("memory.tWR", memory.tWR, 12, 1, 255, "the end of written data to precharge"),
    NUMBER("memory.tWTR", memory.tWTR, 6, 1, 255, "the end of written data to a read"),
    NUMBER("memory.tWTR_L", memory.tWTR_L, 0, 0, 255, "the same in a bank group; 0: as tWTR"),
    NUMBER("memory.tRTP", memory.tRTP, 6, 1, 255, "a read to precharge"),
    NUMBER("memory.tCCD", memory.tCCD, 4, 1, 255, "read to read, or write to write"),
    NUMBER("memory.tCCD_L", memory.tCCD_L, 0, 0, 255, "the same in a bank group; 0: as tCCD"),
    NUMBER("memory.tCCD_L_WR", memory.tCCD_L_WR, 0, 0, 255,
           "write to write in a bank group; 0: as tCCD_L"),
    NUMBER("memory.tRTRS", memory.tRTRS, 2, 0, 255,
           "clocks without data when the rank or the direction changes"),
    NUMBER("memory.tREFI", memory.tREFI, 6240, 1, 1000000, "refresh to refresh of a rank"),
    NUMBER("memory.tRFC", memory.tRFC, 208, 1, 10000, "refresh to activate"),
    WORDS("coherence.protocol", coherence.protocol, MACHINE_SPARSE, 2,
          "how copies are kept coherent", "sparse", "token", "flask"),
    NUMBER("coherence.directory", coherence.directory, 160, 1, 1000,
           "directory storage in entries, percent of the private blocks"),
    POWER("coherence.ways", coherence.ways, 8, 2, 64,
          "ways of that storage; flask gives half of them to its filter"),
    WORDS("coherence.partition", coherence.partition, MACHINE_STATIC, 1,
          "flask: halves, or ways that move to where they are needed", "static", "adaptive"),
    NUMBER("coherence.epoch", coherence.epoch, 4096, 16, 1 << 30,
           "requests of a bank between two decisions, if adaptive"),
    WORDS("filter.kind", filter.kind, MACHINE_DLEFT, 1,
          "flask's filter: counting Bloom, or d-left counting Bloom", "cbf", "dleft"),
    NUMBER("filter.hashes", filter.hashes, 4, 1, 8, "cbf: hash functions"),
    NUMBER("filter.counter_bits", filter.counter_bits, 0, 0, 8,
           "bits of a counter; 0: 4 for cbf, 3 to 5 for dleft by its storage"),
    NUMBER("filter.cells", filter.cells, 8, 1, 16, "dleft: cells of a bucket"),
    NUMBER("filter.remainder_bits", filter.remainder_bits, 0, 0, 24,
           "dleft: bits of a remainder; 0: 4 to 9 by its storage"),
    NUMBER("token.timeout", token.timeout, 600, 10, 1000000,
           "token: cycles until an unsatisfied request is made again"),
    NUMBER("token.retries", token.retries, 1, 0, 100,
           "token: how often, before the request becomes persistent"),
    WORDS("persistence.protocol", persistence.protocol, MACHINE_NO_PERSISTENCE, 6,
          "how transactions on persistent memory are made atomic", "none", "s-wal", "h-wal",
          "ec-wal", "loc-wal", "kiln", "loc-kiln"),
    NUMBER("persistence.speculation", persistence.speculation, 16, 1, 32,
           "loc-wal, loc-kiln: transactions of a window, persisted in any order"),
    POWER("persistence.log", persistence.log, 32 << 20, 4096, 1 << 30, "bytes of the log"),
    WORDS("persistence.flush", persistence.flush, MACHINE_FLUSH_PAPER, 2,
          "whether a block that is flushed stays in the caches; paper: as the protocol says",
          "paper", "keep", "evict"),
    WORDS("persistence.order", persistence.order, MACHINE_ORDER_DURABLE, 1,
          "h-wal, ec-wal, loc-wal: what has to be over before the next commit", "durable", "home"),
    WORDS("persistence.logging", persistence.logging, MACHINE_LOGGING_WINDOW, 1,
          "loc-wal: when a transaction's blocks go to the log: its window is full, or it commits",
          "window", "commit"),
    NUMBER("energy.l1", energy.l1, 200, 0, 1000000, "0.1 pJ: an access to an L1"),
    NUMBER("energy.l2", energy.l2, 525, 0, 1000000, "an access to an L2"),
    NUMBER("energy.snoop", energy.snoop, 140, 0, 1000000,
           "a lookup in a core's tags for another agent"),
    NUMBER("energy.llc_tag", energy.llc_tag, 280, 0, 1000000, "a lookup in a bank's tags"),
    NUMBER("energy.llc_data", energy.llc_data, 1000, 0, 1000000,
           "a block read from or written to a bank"),
    NUMBER("energy.directory", energy.directory, 280, 0, 1000000, "a lookup in a directory"),
    NUMBER("energy.filter", energy.filter, 200, 0, 1000000,
           "a lookup in, or a change of, a filter"),
    NUMBER("energy.router", energy.router, 155, 0, 1000000, "a flit through a router"),
    NUMBER("energy.link", energy.link, 155, 0, 1000000, "a flit over a link"),
};
/* clang-format on */

enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert(sizeof keys / sizeof keys[0] <= KEYS_MOST,
               "struct machine notes of each key whether a part set it");

static void *field(struct machine *machine, const struct key *key)
{
    return (char *)machine + key->offset;
}

static uint32_t *number(struct machine *machine, const struct key *key)
{
    return field(machine, key);
}

void keys_defaults(struct machine *machine)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (keys[i].kind <= KEY_WORD)
            *number(machine, &keys[i]) = keys[i].value;
}

const struct key *keys_find(const char *name)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

void key_note_part(const struct key *key, struct machine *machine, bool of_part)
{
    machine->of_part[key - keys] = of_part;
}

void keys_forget_part(struct machine *machine)
{
    for (unsigned i = 0; i < KEYS; i++) {
        if (!machine->of_part[i])
            continue;
        if (keys[i].kind == KEY_BITS)
            *(struct address_bits *)field(machine, &keys[i]) = (struct address_bits){0};
        else
            *number(machine, &keys[i]) = keys[i].value;
        machine->of_part[i] = false;
    }
}

/* "a, b or c". */
static void list_words(const struct key *key, char *text, size_t length)
{
    text[0] = '\0';
    for (unsigned i = 0; i <= key->most; i++) {
        size_t used = strlen(text);

        snprintf(text + used, length - used, "%s%s",
                 i == 0           ? ""
                 : i == key->most ? " or "
                                  : ", ",
                 key->words[i]);
    }
}

void key_allowed(const struct key *key, char *text, size_t length)
{
    switch (key->kind) {
    case KEY_WORD:
        list_words(key, text, length);
        break;
    case KEY_BITS:
        snprintf(text, length, "auto, none or a list of bits as 13 14^18");
        break;
    case KEY_PART:
        snprintf(text, length, "none or a part");
        break;
    default:
        snprintf(text, length, "%s from %u to %u",
                 key->kind == KEY_POWER ? "a power of two" : "a number", key->least, key->most);
    }
}

static bool parse_word(const struct key *key, const char *value, uint32_t *parsed)
{
    for (unsigned i = 0; i <= key->most; i++) {
        if (strcmp(value, key->words[i]) == 0) {
            *parsed = i;
            return true;
        }
    }
    return false;
}

static bool parse_number(const struct key *key, const char *value, uint32_t *parsed)
{
    unsigned long got;
    char *end;

    if (!isdigit((unsigned char)value[0]))
        return false;
    errno = 0;
    got = strtoul(value, &end, 10);
    if (errno != 0 || *end != '\0' || got < key->least || got > key->most ||
        (key->kind == KEY_POWER && (got & (got - 1)) != 0))
        return false;
    *parsed = (uint32_t)got;
    return true;
}

bool key_parse(const struct key *key, struct machine *machine, const char *value)
{
    switch (key->kind) {
    case KEY_WORD:
        return parse_word(key, value, number(machine, key));
    case KEY_BITS:
        return address_bits_parse(field(machine, key), value);
    default:
        return parse_number(key, value, number(machine, key));
    }
}

static void print_value(const struct key *key, struct machine *machine, char *text, size_t length)
{
    switch (key->kind) {
    case KEY_WORD:
        snprintf(text, length, "%s", key->words[*number(machine, key)]);
        break;
    case KEY_BITS:
        address_bits_print(field(machine, key), text, length);
        break;
    case KEY_PART:
        snprintf(text, length, "%s",
                 machine->memory.part[0] != '\0' ? machine->memory.part : "none");
        break;
    default:
        snprintf(text, length, "%u", *number(machine, key));
    }
}

void keys_print(const struct machine *machine, FILE *out)
{
    for (unsigned i = 0; i < KEYS; i++) {
        char range[128], value[2048];

        key_allowed(&keys[i], range, sizeof range);
        print_value(&keys[i], (struct machine *)(uintptr_t)machine, value, sizeof value);
        fprintf(out, "%-24s = %-10s # %s; %s\n", keys[i].name, value, keys[i].meaning, range);
    }
}
