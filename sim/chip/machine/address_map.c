/*
 * SPDX-License-Identifier: MIT
 *
 * Address bits; see address_map.h.
 */
#include "chip/machine/address_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bit(unsigned number)
{
    return (uint64_t)1 << number;
}

/* "13^17" at *text, which goes on behind it. 0: it is none. */
static uint64_t parse_function(const char **text)
{
    uint64_t mask = 0;

    for (;;) {
        char *end;
        unsigned long number;

        if (!isdigit((unsigned char)**text))
            return 0;
        number = strtoul(*text, &end, 10);
        if (number >= ADDRESS_BITS_MOST || (mask & bit((unsigned)number)) != 0)
            return 0;
        mask |= bit((unsigned)number);
        *text = end;
        if (**text != '^')
            return mask;
        ++*text;
    }
}

bool address_bits_parse(struct address_bits *bits, const char *text)
{
    struct address_bits parsed = {.kind = ADDRESS_LIST};

    if (strcmp(text, "auto") == 0 || strcmp(text, "none") == 0) {
        *bits = (struct address_bits){.kind = text[0] == 'a' ? ADDRESS_AUTO : ADDRESS_NONE};
        return true;
    }
    while (*text != '\0') {
        if (parsed.count == ADDRESS_FUNCTIONS_MOST)
            return false;
        parsed.mask[parsed.count] = parse_function(&text);
        if (parsed.mask[parsed.count++] == 0 || (*text != ' ' && *text != '\0'))
            return false;
        while (*text == ' ')
            text++;
    }
    *bits = parsed;
    return parsed.count > 0;
}

void address_bits_print(const struct address_bits *bits, char *text, size_t length)
{
    size_t used = 0;

    if (bits->kind != ADDRESS_LIST) {
        snprintf(text, length, "%s", bits->kind == ADDRESS_AUTO ? "auto" : "none");
        return;
    }
    for (unsigned i = 0; i < bits->count; i++) {
        const char *before = i == 0 ? "" : " ";

        for (uint64_t rest = bits->mask[i]; rest != 0 && used < length; rest &= rest - 1) {
            used +=
                (size_t)snprintf(text + used, length - used, "%s%d", before, __builtin_ctzll(rest));
            before = "^";
        }
    }
}

/* Functions that have a pivot, each without the pivots of those before it. */
struct basis {
    uint64_t reduced[3 * ADDRESS_FUNCTIONS_MOST], pivot[3 * ADDRESS_FUNCTIONS_MOST];
    uint64_t pivots;
    unsigned count;
};

/* False: the function depends on those that are there. */
static bool add(struct basis *basis, uint64_t mask)
{
    for (unsigned i = 0; i < basis->count; i++)
        if ((mask & basis->pivot[i]) != 0)
            mask ^= basis->reduced[i];
    if (mask == 0)
        return false;
    basis->reduced[basis->count] = mask;
    basis->pivot[basis->count] = mask & -mask;
    basis->pivots |= basis->pivot[basis->count++];
    return true;
}

/* The first bit from `from` on that is no pivot. */
static unsigned free_bit(const struct basis *basis, unsigned from)
{
    while ((basis->pivots & bit(from)) != 0)
        from++;
    return from;
}

static bool add_list(struct basis *basis, const char *name, const struct address_bits *bits,
                     uint32_t of, const struct address_shape *shape, char *problem, size_t length)
{
    unsigned wanted = (unsigned)__builtin_ctz(of), lowest = (unsigned)__builtin_ctz(shape->block);

    if (bits->kind != ADDRESS_LIST)
        return true;
    if (bits->count != wanted) {
        snprintf(problem, length,
                 "memory.%s_bits: %u functions choose one of %u; memory.%ss = %u needs %u", name,
                 bits->count, 1u << bits->count, name, of, wanted);
        return false;
    }
    for (unsigned i = 0; i < bits->count; i++) {
        unsigned first = (unsigned)__builtin_ctzll(bits->mask[i]);
        unsigned last = 63 - (unsigned)__builtin_clzll(bits->mask[i]);

        if (first < lowest || last >= shape->address_bits) {
            snprintf(problem, length,
                     "memory.%s_bits: bit %u: allowed is %u (above a block's) to %u (below "
                     "memory.address_bits)",
                     name, first < lowest ? first : last, lowest, shape->address_bits - 1);
            return false;
        }
        if (!add(basis, bits->mask[i])) {
            snprintf(problem, length,
                     "memory.%s_bits: function %u is the exclusive or of other functions: two "
                     "addresses would be one place",
                     name, i + 1);
            return false;
        }
    }
    return true;
}

/* An index by its list, by the free bits from *from on, or by nothing. */
static void set_index(struct address_index *index, const struct address_bits *bits, uint32_t of,
                      struct basis *basis, unsigned *from)
{
    *index = (struct address_index){0};
    if (bits->kind == ADDRESS_LIST) {
        index->count = bits->count;
        memcpy(index->mask, bits->mask, sizeof index->mask);
    } else if (bits->kind == ADDRESS_AUTO) {
        for (index->count = 0; 1u << index->count < of; index->count++) {
            *from = free_bit(basis, *from);
            index->mask[index->count] = bit(*from);
            add(basis, bit((*from)++)); /* no pivot, so it depends on none */
        }
    }
}

bool address_map_make(struct address_map *map, const struct address_shape *shape, char *problem,
                      size_t length)
{
    struct basis basis = {0};
    unsigned from = shape->controller_from, at = (unsigned)__builtin_ctz(shape->block);
    unsigned first = 0, column_end; /* of the controller in the basis; the bit above the column */

    *map = (struct address_map){0};
    if (!add_list(&basis, "controller", &shape->controller_bits, shape->controllers, shape, problem,
                  length) ||
        !add_list(&basis, "bank", &shape->bank_bits, shape->banks, shape, problem, length) ||
        !add_list(&basis, "rank", &shape->rank_bits, shape->ranks, shape, problem, length))
        return false;
    if (shape->controller_bits.kind == ADDRESS_AUTO)
        first = basis.count;
    set_index(&map->controller, &shape->controller_bits, shape->controllers, &basis, &from);
    memcpy(map->reduced, basis.reduced + first, map->controller.count * sizeof *map->reduced);
    memcpy(map->pivot, basis.pivot + first, map->controller.count * sizeof *map->pivot);
    for (uint32_t bytes = shape->block; bytes < shape->row_bytes; bytes *= 2)
        at = free_bit(&basis, at) + 1;
    column_end = at;
    set_index(&map->bank, &shape->bank_bits, shape->banks, &basis, &at);
    set_index(&map->rank, &shape->rank_bits, shape->ranks, &basis, &at);
    if (at > shape->address_bits || from > shape->address_bits) {
        snprintf(problem, length, "memory.address_bits = %u: too few for what is auto",
                 shape->address_bits);
        return false;
    }
    map->row = ~basis.pivots & ~(bit(column_end) - 1);
    return true;
}

uint64_t address_map_page(const struct address_map *map, uint64_t number, uint32_t page,
                          uint32_t address_bits)
{
    unsigned turns = 0;
    uint64_t address = 0, taken = 0;

    for (unsigned i = 0; i < map->controller.count; i++) {
        turns += map->pivot[i] >= page;
        taken |= map->pivot[i];
    }
    for (uint64_t left = number >> turns, at = page; at >> address_bits == 0; at <<= 1) {
        if ((taken & at) != 0)
            continue;
        address |= (left & 1) == 0 ? at : 0;
        left >>= 1;
    }
    /* A reduced function has no pivot of an earlier one: the last one first. */
    for (unsigned i = map->controller.count; i-- > 0;) {
        if (map->pivot[i] < page)
            continue;
        turns--;
        if ((unsigned)__builtin_parityll(address & map->reduced[i]) != (number >> turns & 1))
            address ^= map->pivot[i];
    }
    return address;
}
