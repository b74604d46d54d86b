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

/* memory.part: reads the part's file. Of the part before nothing is left. */
static bool set_part(struct machine *machine, const char *name, char *problem, size_t length)
{
    char path[sizeof machine->parts + sizeof machine->memory.part + sizeof PART_SUFFIX + 1];
    char parts[256];

    if (strcmp(name, "none") == 0) {
        keys_forget_part(machine);
        memset(machine->memory.part, 0, sizeof machine->memory.part);
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
    keys_forget_part(machine);
    if (!read_file(machine, path, true, problem, length))
        return false;
    memset(machine->memory.part, 0, sizeof machine->memory.part);
    memcpy(machine->memory.part, name, strlen(name));
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
    if (key_parse(key, machine, value)) {
        key_note_part(key, machine, in_part);
        return true;
    }
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
