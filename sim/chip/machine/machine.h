/*
 * SPDX-License-Identifier: MIT
 *
 * The simulated machine as a file describes it: lines `key = value`, # begins a comment. A key that
 * is left out has its default. docs/simulation.md explains the keys; a test compares it with the
 * table in keys.c.
 */
#ifndef CHIP_MACHINE_H
#define CHIP_MACHINE_H

#include "chip/machine/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The defaults: the machine flask16. */
void machine_defaults(struct machine *machine);

/*
 * Sets one key. False, and one line in `problem` that names the value and what is allowed, if there
 * is no such key or the value is not allowed.
 */
bool machine_set(struct machine *machine, const char *key, const char *value, char *problem,
                 size_t length);

/* Where memory.part finds its files; otherwise, the folder `parts` beside the file last read. */
void machine_parts(struct machine *machine, const char *folder);

/* Sets the keys of a file; `problem` begins with the file's name and the line's number. */
bool machine_read(struct machine *machine, const char *path, char *problem, size_t length);

/* Whether the values go together: cores on the mesh, sets that are powers of two, the memory's map.
 */
bool machine_check(const struct machine *machine, char *problem, size_t length);

/* All keys with value, range and meaning, as a machine file. */
void machine_print(const struct machine *machine, FILE *out);

/* The map of the memory's addresses. False: `problem` says what is wrong with its keys. */
bool machine_address_map(const struct machine *machine, struct address_map *map, char *problem,
                         size_t length);

/* Blocks of all private caches together. */
uint64_t machine_private_blocks(const struct machine *machine);

#endif
