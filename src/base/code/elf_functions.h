/*
 * SPDX-License-Identifier: MIT
 *
 * The functions that lie at places of a mapped ELF file, by its symbol table.
 *
 * The file is read with pread into fixed buffers: no allocation, no lock, and only calls that a
 * signal handler may make. It is only believed if it is the one that is mapped (same inode), and
 * each number read from it is taken for what it is: something that may be anything. Static buffers:
 * one thread at a time.
 */
#ifndef MPLACE_BASE_CODE_ELF_FUNCTIONS_H
#define MPLACE_BASE_CODE_ELF_FUNCTIONS_H

#include "base/code/process_maps.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
    int fd;
    Elf64_Ehdr header;
    Elf64_Shdr symbols, strings; /* sh_size 0: there are none */
};

/* A place in the file and the function there. Addresses are those of the file's own tables. */
struct elf_place {
    uint64_t address;
    uint64_t start; /* the function's first byte, if there is a name */
    uint32_t name;  /* where the strings of the symbol table have it; 0: no symbol is there */
    bool is_local;  /* a static function */
};

/*
 * Opens the file of a mapping; elf_close closes it. root: what comes before the mapping's path, ""
 * for this process. False if it cannot be read, is not the mapped one any more, or not ELF for
 * 64 bits. Does not wait, whatever has this name now.
 */
bool elf_open_mapped(struct elf_file *file, const struct process_mapping *mapping,
                     const char *root);

void elf_close(struct elf_file *file);

/* The place at an offset of the file, without its function; false if no segment is loaded from
 * there. */
bool elf_place_at(const struct elf_file *file, uint64_t file_offset, struct elf_place *place);

/* Finds the functions of all places in one pass over the symbol table. Places ascend by address. */
void elf_find_functions(const struct elf_file *file, struct elf_place *places, size_t count);

/* The function's name, as in the symbol table: C++ names are mangled. Cut if there is no room;
 * false, and "", if there is none. */
bool elf_read_name(const struct elf_file *file, const struct elf_place *place, char *text,
                   size_t room);

#endif
