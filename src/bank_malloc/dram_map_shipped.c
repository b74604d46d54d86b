/*
 * SPDX-License-Identifier: MIT
 *
 * The maps that come with mplace, each with its source, written as map files. A map holds for
 * machines whose memory is fitted as that of its source: "mplace dram" finds that of others.
 *
 * Sources, all of them repositories on GitHub but the first:
 *   tilepro64   Chandru and Mueller, "Reducing NoC and Memory Contention for Manycores"
 *   palloc      heechul/palloc, README-map-detector.md
 *   drama-pp    CSL-KU/drama-pp, Found-DRAM-BankMap.md
 *   blacksmith  comsec-group/blacksmith, src/Memory/DRAMAddr.cpp
 *   rowhammerjs IAIK/rowhammerjs, native/rowhammer.cc, with the functions of Pessl et al., "DRAMA:
 *               Exploiting DRAM Addressing for Cross-CPU Attacks", USENIX Security 2016
 */
#include "bank_malloc/dram_map.h"

#include <string.h>

struct shipped {
    const char *name;
    const char *text;
};

static const struct shipped maps[] = {
    /* Without memory striping; the rank is not mapped. */
    {"tilepro64", "13\n14\n15\ncontrollers\n34\n35\n"},

    /* palloc: Xeon W3530, 1 channel, 2 ranks of DDR3. */
    {"nehalem-w3530", "12\n13\n19\n20\n"},
    /* drama-pp: Xeon W3553, 2 DIMMs. */
    {"nehalem-w3553", "13\n14\n16\n20\n21\n"},

    /* drama-pp: i5-2520M, 2 DIMMs of 8 GB, and another laptop. */
    {"sandybridge", "14 18\n15 19\n16 20\n17 21\n"},
    /* rowhammerjs: Sandy Bridge, 2 DIMMs; bit 6 is the channel. */
    {"sandybridge-2channels", "14 18\n15 19\n16 20\n17 21\n6\n"},
    /* rowhammerjs: Ivy Bridge and Haswell, 2 DIMMs; the last one is the channel. */
    {"ivybridge-2channels", "14 18\n15 19\n16 20\n17 21\n7 8 9 12 13 18 19\n"},
    /* palloc: Xeon E3-1230, 1 channel, 2 ranks of DDR3. */
    {"haswell-e3-1230", "13 17\n14 18\n15 19\n16 20\n"},
    /* drama-pp: Xeon E5-2608L v3, 4 DIMMs of 4 GB DDR4. */
    {"haswell-e5-2608lv3", "6 22\n19 23\n20 24\n21 25\n8 13 15 17 27\n6 7 12 14 16 18 26\n"},
    /* rowhammerjs: Skylake, 2 DIMMs of DDR4; the last one is the channel. */
    {"skylake-2channels", "7 14\n15 19\n16 20\n17 21\n18 22\n8 9 12 13 18 19\n"},
    /* drama-pp: i5-6200U, 4 ranks of 2 GB. */
    {"skylake-i5-6200u", "14 18\n15 19\n16 20\n17 21\n8 9 12 13 14 15\n"},
    /* drama-pp: Xeon E3-1220 v5, 4 DIMMs of 4 GB DDR4. */
    {"skylake-e3-1220v5", "7 14\n15 19\n16 20\n17 21\n18 22\n8 9 12 13 15 18\n"},
    /* blacksmith: Coffee Lake, 1 channel, 1 DIMM of DDR4. */
    {"coffeelake-1rank", "6 13\n14 17\n15 18\n16 19\n"},
    {"coffeelake-2ranks", "6 13\n14 18\n15 19\n16 20\n17 21\n"},
    /* drama-pp: i7-8700, 4 DIMMs of 8 GB DDR4, 2 ranks each. */
    {"coffeelake-i7-8700", "7 14\n15 20\n16 21\n17 22\n18 23\n19 24\n8 9 12 13 18 19\n"},

    /* drama-pp: Ryzen 9 9900X (Zen 5), 2 DIMMs of 32 GB DDR5, 2 ranks each. */
    {"zen5-9900x", "8\n19\n11 20 25\n12 21 26\n9 22 27\n10 23 28\n13 24 29\n6 9 10 11 12 13\n"},

    /* drama-pp: the Zero 2 (512 MB LPDDR2) and the 4 (2 GB LPDDR4). */
    {"raspberrypi4", "12\n13\n14\n"},
    /* drama-pp: 4 GB LPDDR4X, SDRAM_BANKLOW 1, the default, and 4. */
    {"raspberrypi5", "12\n30\n31\n32\n"},
    {"raspberrypi5-banklow4", "12\n13\n14\n31\n"},
    /* drama-pp: 4 GB LPDDR4. */
    {"jetson-nano", "13 19 20 21 24 25 26 28\n"
                    "10 12 14 16 17 21 25 27 28\n"
                    "10 16 17 18 22 23 27 29 30\n"
                    "10 11 13 15 16 20 22 24 25 29\n"},
    /* drama-pp: 8 GB LPDDR5. */
    {"jetson-orin-nano", "11 17 19 25 27 28 31\n"
                         "9 12 22 23 24 31 33\n"
                         "10 17 21 27 29 32 33\n"
                         "10 11 15 20 21 22 24 29\n"
                         "13 14 16 20 24 27 30 33\n"
                         "9 12 16 17 20 21 24 26 27\n"
                         "10 14 15 17 18 24 25 26 27\n"},
    /* drama-pp: 32 GB LPDDR5. */
    {"jetson-orin-agx", "11 14 16 20 21 22 33\n"
                        "9 11 12 16 19 23 27 28\n"
                        "12 13 18 22 25 29 30 31\n"
                        "10 11 12 17 19 20 23 32\n"
                        "10 11 13 14 18 27 28 34\n"
                        "11 12 13 16 19 24 33 35\n"
                        "10 13 17 21 24 25 26 29 34\n"
                        "14 15 17 21 25 28 31 34 35\n"},
};

enum { MAPS = sizeof maps / sizeof maps[0] };

const char *dram_map_shipped_name(unsigned index)
{
    return index < MAPS ? maps[index].name : NULL;
}

bool dram_map_shipped(struct dram_map *map, const char *name)
{
    for (unsigned i = 0; i < MAPS; i++) {
        if (strcmp(maps[i].name, name) == 0)
            return dram_map_parse(map, name, maps[i].text, strlen(maps[i].text), NULL, 0);
    }
    return false;
}
