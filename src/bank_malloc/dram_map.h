/*
 * SPDX-License-Identifier: MIT
 *
 * Which memory controller and which bank a physical address belongs to. Each bit of both numbers is
 * the XOR of some bits of the address, which is how memory controllers choose a bank. What the
 * functions call a bank is whatever has a row buffer of its own: a map may number channels, ranks
 * and bank groups with its banks.
 *
 * Works inside the first malloc of a process: allocates nothing, no stdio, no lock.
 */
#ifndef MPLACE_BANK_MALLOC_DRAM_MAP_H
#define MPLACE_BANK_MALLOC_DRAM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DRAM_FUNCTIONS_MOST = 16, /* of each kind */
    DRAM_MAP_NAME_SIZE = 64,
    DRAM_ADDRESS_BITS = 64,
};

/* The functions of both kinds together are linearly independent. */
struct dram_map {
    char name[DRAM_MAP_NAME_SIZE]; /* of the map, or its file's name, cut where it is too long */
    uint32_t banks, controllers;   /* counts of functions: there are 1 << banks banks */
    uint64_t bank[DRAM_FUNCTIONS_MOST];       /* bit i of a bank's number is the parity of address &
                                                 bank[i] */
    uint64_t controller[DRAM_FUNCTIONS_MOST]; /* likewise */
    bool nodes; /* controllers are NUMA nodes, asked of the kernel: controllers is 0 */
};

/*
 * Reads a map file: PALLOC's and drama-pp's map.txt, a function a line, written as the numbers of
 * its bits (0 to 63) with blanks or commas between; '#' begins a comment. Behind a line
 * "controllers" the functions are those of the controller; "controllers nodes" stands for none.
 *
 * The text need not end in a 0 byte. False, and *map is undefined: the text is no such map, and
 * problem holds one line without a newline, "NAME:LINE: what is wrong, what is allowed", cut at
 * problem_length.
 */
bool dram_map_parse(struct dram_map *map, const char *name, const char *text, size_t length,
                    char *problem, size_t problem_length);

/* One of the maps that come with mplace, see dram_map_shipped.c; false: there is none of this name.
 */
bool dram_map_shipped(struct dram_map *map, const char *name);

/* Their names, from index 0; NULL behind the last. */
const char *dram_map_shipped_name(unsigned index);

uint32_t dram_map_bank(const struct dram_map *map, uint64_t physical);
uint32_t dram_map_controller(const struct dram_map *map, uint64_t physical);

/*
 * Keeps what can be told without the bits below lowest_bit, the logarithm of the granularity at
 * which memory is placed: the functions become a basis of those of their combinations that use no
 * such bit, and banks are numbered anew. A combination that needs a lost function of the controller
 * counts as one of the bank: it still tells banks apart. *banks_left_out and *controllers_left_out
 * are the numbers of functions lost: each halves what can be told apart.
 */
void dram_map_restrict(struct dram_map *map, unsigned lowest_bit, uint32_t *banks_left_out,
                       uint32_t *controllers_left_out);

/* The lowest bit that any function uses; 64 if there is no function. */
unsigned dram_map_lowest_bit(const struct dram_map *map);

#endif
