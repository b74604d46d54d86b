/*
 * SPDX-License-Identifier: MIT
 *
 * The settings of libbank_malloc.so, read in one place; docs/settings.md says what they mean.
 */
#ifndef MPLACE_BANK_SETTINGS_H
#define MPLACE_BANK_SETTINGS_H

#include "bank_malloc/dram_map.h"

struct bank_settings {
    struct dram_map map;                   /* BANK_MAP, restricted to what pages can tell */
    bool has_map;                          /* false: one line has said why not */
    uint32_t banks_lost, controllers_lost; /* functions of the map that pages cannot tell */
    bool is_simulated;                     /* BANK_PHYSICAL */
    bool follows;                          /* BANK_FOLLOW */
    unsigned modes;                        /* BANK_MODE, as enum pool_mode */
    uint64_t pool;                         /* BANK_POOL, bytes; 0: on demand */
    const char *colours;                   /* BANK_COLOURS, or NULL */
    const char *near;                      /* BANK_NEAR, or NULL */
};

/* Allocates nothing; errno is preserved. */
void bank_settings_read(struct bank_settings *settings);

/* The machine's memory in bytes. */
uint64_t bank_machine_memory(void);

/* For the tests: "64M" as bytes; false: no such thing. "restricted,split" as a mask; likewise. */
bool bank_parse_bytes(const char *text, uint64_t *bytes);
bool bank_parse_modes(const char *text, unsigned *modes);

#endif
