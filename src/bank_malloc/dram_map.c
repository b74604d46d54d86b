/*
 * SPDX-License-Identifier: MIT
 *
 * Maps of physical addresses to banks; see dram_map.h.
 */
#include "bank_malloc/dram_map.h"

#include "bank_malloc/gf2.h"

static uint32_t number_of(const uint64_t *functions, uint32_t count, uint64_t physical)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++)
        number |= (uint32_t)__builtin_parityll(physical & functions[i]) << i;
    return number;
}

uint32_t dram_map_bank(const struct dram_map *map, uint64_t physical)
{
    return number_of(map->bank, map->banks, physical);
}

uint32_t dram_map_controller(const struct dram_map *map, uint64_t physical)
{
    return number_of(map->controller, map->controllers, physical);
}

/*
 * Keeps the combinations without a bit below lowest_bit. The functions that are lost go to *lost,
 * which serves the functions of the other kind too. Returns their number.
 */
static uint32_t restrict_functions(uint64_t *functions, uint32_t *count, unsigned lowest_bit,
                                   struct gf2_basis *lost)
{
    uint64_t low = lowest_bit >= DRAM_ADDRESS_BITS ? ~UINT64_C(0) : (UINT64_C(1) << lowest_bit) - 1;
    uint32_t kept = 0, all = *count;

    for (uint32_t i = 0; i < all; i++) {
        uint64_t reduced = gf2_reduce(lost, functions[i]);

        if ((reduced & low) != 0)
            lost->row[__builtin_ctzll(reduced)] = reduced;
        else
            functions[kept++] = reduced;
    }
    *count = kept;
    return all - kept;
}

void dram_map_restrict(struct dram_map *map, unsigned lowest_bit, uint32_t *banks_left_out,
                       uint32_t *controllers_left_out)
{
    struct gf2_basis lost = {{0}};

    *controllers_left_out =
        restrict_functions(map->controller, &map->controllers, lowest_bit, &lost);
    *banks_left_out = restrict_functions(map->bank, &map->banks, lowest_bit, &lost);
}

unsigned dram_map_lowest_bit(const struct dram_map *map)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < map->banks; i++)
        used |= map->bank[i];
    for (uint32_t i = 0; i < map->controllers; i++)
        used |= map->controller[i];
    return used == 0 ? DRAM_ADDRESS_BITS : (unsigned)__builtin_ctzll(used);
}
