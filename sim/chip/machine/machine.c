/*
 * SPDX-License-Identifier: MIT
 *
 * The keys of a machine file; see machine.h.
 */
#include "chip/machine/machine.h"

#include "chip/machine/keys.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_SUFFIX ".part"

enum { LINE_MOST = 512 };

void machine_defaults(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    keys_defaults(machine);
}

/* Sets the keys of a file: of a machine, or of a part of the memory. */
static bool read_file(struct machine *machine, const char *path, bool part, char *problem,
                      size_t length);

/* The names of the parts in a folder, "none" the first, as far as they fit. */
static void list_parts(const char *folder, char *text, size_t length)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);

    snprintf(text, length, "none");
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *end = strstr(name, PART_SUFFIX);
        size_t used = strlen(text);

        if (end != NULL && end != name && end[strlen(PART_SUFFIX)] == '\0')
            snprintf(text + used, length - used, ", %.*s", (int)(end - name), name);
        free(entries[i]);
    }
    free(entries);
}

/* memory.part: reads the part's file. */
static bool set_part(struct machine *machine, const char *name, char *problem, size_t length)
{
    char path[sizeof machine->parts + sizeof machine->memory.part + sizeof PART_SUFFIX + 1];
    char parts[256];

    if (strcmp(name, "none") == 0) {
        machine->memory.part[0] = '\0';
        return true;
    }
    snprintf(path, sizeof path, "%s/%s" PART_SUFFIX, machine->parts, name);
    if (name[0] == '\0' || strlen(name) >= sizeof machine->memory.part ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name) ||
        access(path, R_OK) != 0) {
        list_parts(machine->parts, parts, sizeof parts);
        snprintf(problem, length, "memory.part = '%.64s': in the folder '%s' there is %s", name,
                 machine->parts, parts);
        return false;
    }
    if (!read_file(machine, path, true, problem, length))
        return false;
    snprintf(machine->memory.part, sizeof machine->memory.part, "%s", name);
    return true;
}

static bool set(struct machine *machine, const char *name, const char *value, bool in_part,
                char *problem, size_t length)
{
    const struct key *key = keys_find(name);
    char range[128];

    if (key == NULL) {
        snprintf(problem, length, "there is no key '%s' (mplace machines --keys lists them)", name);
        return false;
    }
    if (in_part && (strncmp(name, "memory.", strlen("memory.")) != 0 || key->kind == KEY_PART)) {
        snprintf(problem, length, "%s: a part has keys of the memory only", name);
        return false;
    }
    if (key->kind == KEY_PART)
        return set_part(machine, value, problem, length);
    if (key_parse(key, machine, value))
        return true;
    key_allowed(key, range, sizeof range);
    snprintf(problem, length, "%s = '%s': allowed is %s", name, value, range);
    return false;
}

bool machine_set(struct machine *machine, const char *name, const char *value, char *problem,
                 size_t length)
{
    return set(machine, name, value, false, problem, length);
}

/* Without blanks at both ends. */
static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (isspace((unsigned char)*text))
        text++;
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

static bool read_line(struct machine *machine, char *line, bool part, char *problem, size_t length)
{
    char *comment = strchr(line, '#'), *equals;

    if (comment != NULL)
        *comment = '\0';
    line = trim(line);
    if (*line == '\0')
        return true;
    equals = strchr(line, '=');
    if (equals == NULL) {
        snprintf(problem, length, "'%s' is no line 'key = value'", line);
        return false;
    }
    *equals = '\0';
    return set(machine, trim(line), trim(equals + 1), part, problem, length);
}

static bool read_file(struct machine *machine, const char *path, bool part, char *problem,
                      size_t length)
{
    FILE *file = fopen(path, "re");
    char line[LINE_MOST], why[LINE_MOST + 1024];
    unsigned number = 0;
    bool right = true;

    if (file == NULL) {
        snprintf(problem, length, "%s: %s", path, strerror(errno));
        return false;
    }
    while (right && fgets(line, sizeof line, file) != NULL) {
        number++;
        if (strchr(line, '\n') == NULL && !feof(file)) {
            snprintf(problem, length, "%s, line %u: longer than %d characters", path, number,
                     LINE_MOST - 2);
            right = false;
        } else if (!read_line(machine, line, part, why, sizeof why)) {
            snprintf(problem, length, "%s, line %u: %s", path, number, why);
            right = false;
        }
    }
    if (right && ferror(file)) {
        snprintf(problem, length, "%s: %s", path, strerror(errno));
        right = false;
    }
    fclose(file);
    return right;
}

bool machine_read(struct machine *machine, const char *path, char *problem, size_t length)
{
    const char *slash = strrchr(path, '/');

    if (!machine->parts_given)
        snprintf(machine->parts, sizeof machine->parts, "%.*sparts",
                 slash == NULL ? 0 : (int)(slash + 1 - path), path);
    return read_file(machine, path, false, problem, length);
}

void machine_parts(struct machine *machine, const char *folder)
{
    snprintf(machine->parts, sizeof machine->parts, "%s", folder);
    machine->parts_given = true;
}

static bool check_sets(const char *name, uint64_t size, uint64_t ways,
                       const struct machine *machine, char *problem, size_t length)
{
    uint64_t sets = size / (ways * machine->block);

    if (sets != 0 && (sets & (sets - 1)) == 0 && sets * ways * machine->block == size)
        return true;
    snprintf(problem, length,
             "%s.size = %llu: %s a cache of %llu ways and blocks of %u bytes has no sets of which "
             "the number is a power of two",
             name, (unsigned long long)size, strcmp(name, "llc") == 0 ? "in a bank," : "with it,",
             (unsigned long long)ways, machine->block);
    return false;
}

/* In memory clocks: whatever the order of its commands, a request is served within this time. */
static uint32_t sum_of_timings(const struct machine *machine)
{
    return machine->memory.tCL + machine->memory.tCWL + machine->memory.tRCD + machine->memory.tRP +
           machine->memory.tRAS + machine->memory.tRC + machine->memory.tRRD +
           machine->memory.tRRD_L + machine->memory.tFAW + machine->memory.tWR +
           machine->memory.tWTR + machine->memory.tWTR_L + machine->memory.tRTP +
           machine->memory.tCCD + machine->memory.tCCD_L + machine->memory.tCCD_L_WR +
           machine->memory.tRTRS + machine->memory.tRFC + machine->memory.burst;
}

static bool check_dram(const struct machine *machine, char *problem, size_t length)
{
    uint32_t all = sum_of_timings(machine);
    struct address_map map;

    if (machine->memory.row_bytes < machine->block) {
        snprintf(problem, length, "memory.row_bytes = %u: a block has %u bytes",
                 machine->memory.row_bytes, machine->block);
        return false;
    }
    if (machine->memory.bank_groups > machine->memory.banks) {
        snprintf(problem, length, "memory.bank_groups = %u: a rank has %u banks",
                 machine->memory.bank_groups, machine->memory.banks);
        return false;
    }
    if (machine->memory.refresh == MACHINE_ON && machine->memory.tREFI < 2 * all) {
        snprintf(problem, length,
                 "memory.tREFI = %u: allowed is %u, twice the sum of the other timings, or more",
                 machine->memory.tREFI, 2 * all);
        return false;
    }
    return machine_address_map(machine, &map, problem, length);
}

bool machine_check(const struct machine *machine, char *problem, size_t length)
{
    uint32_t tiles = machine->mesh.width * machine->mesh.height;

    if (!check_sets("l1", machine->l1.size, machine->l1.ways, machine, problem, length) ||
        !check_sets("l2", machine->l2.size, machine->l2.ways, machine, problem, length) ||
        !check_sets("llc", machine->llc.size / machine->llc.banks, machine->llc.ways, machine,
                    problem, length))
        return false;
    if (machine->core.count > tiles) {
        snprintf(problem, length, "core.count = %u: a mesh of %ux%u has %u tiles, one a core",
                 machine->core.count, machine->mesh.width, machine->mesh.height, tiles);
        return false;
    }
    if (machine->coherence.partition == MACHINE_ADAPTIVE && machine->filter.kind == MACHINE_CBF) {
        snprintf(
            problem, length,
            "coherence.partition = adaptive: a filter of kind cbf cannot be moved, only dleft");
        return false;
    }
    if (machine->persistence.protocol != MACHINE_NO_PERSISTENCE && machine->block != 64) {
        snprintf(problem, length, "persistence.protocol: block = %u: a block of the log has 64",
                 machine->block);
        return false;
    }
    if (machine->persistence.protocol != MACHINE_NO_PERSISTENCE &&
        machine->coherence.protocol == MACHINE_TOKEN) {
        snprintf(problem, length,
                 "persistence.protocol: coherence.protocol = token: sparse or flask is needed");
        return false;
    }
    if (machine->memory.ports > machine->mesh.width) {
        snprintf(problem, length, "memory.ports = %u: a row of the mesh has %u tiles",
                 machine->memory.ports, machine->mesh.width);
        return false;
    }
    if (machine->memory.model == MACHINE_DRAM)
        return check_dram(machine, problem, length);
    return true;
}

void machine_print(const struct machine *machine, FILE *out)
{
    keys_print(machine, out);
}

bool machine_address_map(const struct machine *machine, struct address_map *map, char *problem,
                         size_t length)
{
    const struct address_shape shape = {
        .controller_bits = machine->memory.controller_bits,
        .rank_bits = machine->memory.rank_bits,
        .bank_bits = machine->memory.bank_bits,
        .controllers = machine->memory.controllers,
        .ranks = machine->memory.ranks,
        .banks = machine->memory.banks,
        .row_bytes = machine->memory.row_bytes,
        .block = machine->block,
        .address_bits = machine->memory.address_bits,
        .controller_from =
            (unsigned)__builtin_ctz(machine->block) + (unsigned)__builtin_ctz(machine->llc.banks),
    };

    return address_map_make(map, &shape, problem, length);
}

uint64_t machine_private_blocks(const struct machine *machine)
{
    uint64_t bytes = machine->l2.size;

    if (machine->l2_policy == MACHINE_EXCLUSIVE)
        bytes += machine->l1.size;
    return bytes / machine->block * machine->core.count;
}
