/*
 * SPDX-License-Identifier: MIT
 *
 * The values of a machine's keys. Each member is a key; keys.c has what it means and what is
 * allowed.
 */
#ifndef CHIP_VALUES_H
#define CHIP_VALUES_H

#include "chip/machine/address_map.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MACHINE_CORES_MOST = 64, /* sets of cores are bits of a word */
    MACHINE_WINDOW_MOST = 64,
    MACHINE_BANKS_MOST = 64,
    KEYS_MOST = 128,
};

enum machine_policy { MACHINE_EXCLUSIVE, MACHINE_INCLUSIVE };
enum machine_protocol { MACHINE_SPARSE, MACHINE_TOKEN, MACHINE_FLASK };
enum machine_filter { MACHINE_CBF, MACHINE_DLEFT };
enum machine_partition { MACHINE_STATIC, MACHINE_ADAPTIVE };
enum machine_memory { MACHINE_SIMPLE, MACHINE_DRAM };
enum machine_page { MACHINE_OPEN, MACHINE_CLOSED };
/* In the order of docs/simulation.md. */
enum machine_persistence {
    MACHINE_NO_PERSISTENCE,
    MACHINE_S_WAL,
    MACHINE_H_WAL,
    MACHINE_EC_WAL,
    MACHINE_LOC_WAL,
    MACHINE_KILN,
    MACHINE_LOC_KILN,
};
enum machine_flush { MACHINE_FLUSH_PAPER, MACHINE_FLUSH_KEEP, MACHINE_FLUSH_EVICT };
enum machine_order { MACHINE_ORDER_DURABLE, MACHINE_ORDER_HOME };
enum machine_logging { MACHINE_LOGGING_WINDOW, MACHINE_LOGGING_COMMIT };
enum machine_switch { MACHINE_OFF, MACHINE_ON };

struct machine {
    uint32_t block; /* bytes */

    struct {
        uint32_t count, width, window, rob, slack, turn, mhz;
    } core;
    struct {
        uint32_t size, ways, latency; /* of one core */
    } l1, l2;
    uint32_t l2_policy;
    struct {
        uint32_t banks, size, ways, latency; /* size of all banks together */
    } llc;
    struct {
        uint32_t width, height, router, link, link_bytes;
    } mesh;
    struct {
        uint32_t controllers, latency, occupancy;
        uint32_t model, ports;
        /* Of the model dram, as all that follows. */
        char part[32]; /* "": none */
        uint32_t address_bits;
        struct address_bits controller_bits, rank_bits, bank_bits;
        uint32_t ranks, banks, bank_groups, row_bytes, bus_bytes, burst;
        uint32_t page, refresh, queue, wait_most, overhead;
        uint32_t tCK; /* ps; the others in memory clocks, by their names in the standards */
        uint32_t tCL, tCWL, tRCD, tRP, tRAS, tRC, tRRD, tRRD_L, tFAW, tWR, tWTR, tWTR_L, tRTP;
        uint32_t tCCD, tCCD_L, tCCD_L_WR, tRTRS, tREFI, tRFC;
    } memory;
    struct {
        uint32_t protocol, directory, ways, partition, epoch;
    } coherence;
    struct {
        uint32_t kind, hashes, counter_bits, cells, remainder_bits;
    } filter;
    struct {
        uint32_t timeout, retries;
    } token;
    struct {
        uint32_t protocol, speculation, log, flush, order, logging;
    } persistence;
    struct { /* each event, in units of 0.1 pJ */
        uint32_t l1, l2, snoop, llc_tag, llc_data, directory, filter, router, link;
    } energy;
    bool of_part[KEYS_MOST]; /* keys whose values are those of memory.part */
    char parts[1024];        /* the folder of the files of memory.part */
    bool parts_given;
};

#endif
