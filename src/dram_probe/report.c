/*
 * SPDX-License-Identifier: MIT
 *
 * What is written of a search; see report.h.
 */
#include "dram_probe/report.h"

/* "6-20,22,24-33" */
static void put_ranges(FILE *file, uint64_t bits)
{
    const char *between = "";

    for (unsigned first = 0; first < DRAM_ADDRESS_BITS; first++) {
        unsigned last = first;

        if ((bits >> first & 1) == 0)
            continue;
        while (last + 1 < DRAM_ADDRESS_BITS && (bits >> (last + 1) & 1) != 0)
            last++;
        (void)fprintf(file, first == last ? "%s%u" : "%s%u-%u", between, first, last);
        between = ",";
        first = last;
    }
}

void report_map(FILE *file, const struct report_facts *facts, const struct search_result *result)
{
    const struct dram_map *map = &result->map;

    (void)fprintf(file, "# Found by mplace dram (mplace %s) on %s, seed %llu: %lu banks.\n",
                  MPLACE_VERSION, facts->where, facts->seed, 1ul << map->banks);
    (void)fputs("# A function of other bits than these could not be seen: ", file);
    put_ranges(file, result->bits);
    (void)fputc('\n', file);
    for (uint32_t i = 0; i < map->banks; i++) {
        const char *between = "";

        for (uint64_t rest = map->bank[i]; rest != 0; rest &= rest - 1) {
            (void)fprintf(file, "%s%u", between, (unsigned)__builtin_ctzll(rest));
            between = " ";
        }
        (void)fputc('\n', file);
    }
}

void report_found(const struct report_facts *facts, const struct search_result *result)
{
    (void)fprintf(stderr,
                  "mplace dram: %s has %lu banks (%u functions). A row conflict takes %.0f cycles, "
                  "another pair of reads %.0f. Of %d pairs that the map puts into one bank %u "
                  "conflicted, of %d in different banks %u.\n",
                  facts->where, 1ul << result->map.banks, result->map.banks, result->slow,
                  result->fast, SEARCH_CHECKED, result->same_slow, SEARCH_CHECKED,
                  result->different_slow);
}

static void put_reason(enum search_verdict verdict, const struct search_result *result)
{
    switch (verdict) {
    case SEARCH_ONE_LATENCY:
        (void)fprintf(stderr, "no pair of reads takes clearly longer than the others (%.0f cycles)",
                      result->fast);
        break;
    case SEARCH_NO_BANK:
        (void)fprintf(stderr,
                      "some pairs of reads take %.0f cycles instead of %.0f, but only %u addresses "
                      "in %u trials were slow with one another",
                      result->slow, result->fast, result->pairs, result->sets);
        break;
    case SEARCH_NO_FUNCTION:
        (void)fprintf(stderr,
                      "row conflicts show (%.0f cycles instead of %.0f), but no XOR of address "
                      "bits tells which addresses conflict",
                      result->slow, result->fast);
        break;
    case SEARCH_NOT_CONFIRMED:
        (void)fprintf(stderr,
                      "row conflicts show, but the %u functions found do not tell which addresses "
                      "conflict: of %d pairs in one bank %u did, of %d in different banks %u",
                      result->map.banks, SEARCH_CHECKED, result->same_slow, SEARCH_CHECKED,
                      result->different_slow);
        break;
    case SEARCH_FOUND:
    case SEARCH_NO_MEMORY:
        break;
    }
}

void report_failure(const struct report_facts *facts, enum search_verdict verdict,
                    const struct search_result *result)
{
    (void)fprintf(stderr, "mplace dram: %s does not tell its banks: ", facts->where);
    put_reason(verdict, result);
    if (verdict == SEARCH_ONE_LATENCY)
        (void)fprintf(stderr, "; there are too many banks, or too much else runs%s",
                      facts->virtual_machine
                          ? " here or, this being a virtual machine, elsewhere on its host"
                          : "");
    else if (facts->virtual_machine)
        (void)fputs(
            "; this is a virtual machine: its hypervisor may back memory by pages of 4 KiB, "
            "so that addresses seen here are not those of the DRAM",
            stderr);
    (void)fputc('\n', stderr);
}
