/*
 * SPDX-License-Identifier: MIT
 *
 * A memory controller with few requests: when the last data of each are on the bus, derived by hand
 * from the timings' names. Unless a case says otherwise they are those of ddr2-800, in clocks:
 *
 *   tCL 5  tCWL 4  tRCD 5  tRP 5  tRAS 18  tRC 23  tRRD 3  tFAW 14  tWR 6  tWTR 3  tRTP 5  tCCD 2
 *   tRTRS 1, and 4 clocks of data (BL/2), refresh off
 *
 * So a read ends tCL + BL/2 = 9 clocks after its command, a write tCWL + BL/2 = 8.
 */
#include "chip_dram_fixture.h"
#include "run_suite.h"

#include <string.h>

enum { REQUESTS = 8, SETTINGS = 9 };

struct asked {
    uint64_t arrives;
    char what; /* 'r' or 'w' */
    uint8_t rank, bank;
    uint64_t row;
    uint64_t ends;
    unsigned found;
};

enum { HIT = DRAM_ROW_HIT, MISS = DRAM_ROW_MISS, CONFLICT = DRAM_ROW_CONFLICT };

struct one {
    const char *name;
    const char *settings[SETTINGS];
    struct asked asked[REQUESTS]; /* what: 0 ends the list */
};

/* clang-format off */
static const struct one cases[] = {
    /* ACT 0, RD tRCD = 5. */
    {"a closed row", {NULL}, {{0, 'r', 0, 0, 1, 5 + 9, MISS}}},

    /* RD at once. */
    {"an open row", {NULL}, {{0, 'r', 0, 0, 1, 14, MISS}, {100, 'r', 0, 0, 1, 100 + 9, HIT}}},

    /* PRE 100, ACT +tRP = 105, RD +tRCD = 110. */
    {"another row is open", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {100, 'r', 0, 0, 2, 110 + 9, CONFLICT}}},

    /* PRE not before tRAS = 18 (tRTP: 5 + 5 = 10), ACT 23 = tRC, RD 28. */
    {"a row stays open for tRAS", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 0, 2, 28 + 9, CONFLICT}}},

    /* RD 100, PRE +tRTP = 105, ACT 110, RD 115. */
    {"a read delays the precharge by tRTP", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {100, 'r', 0, 0, 1, 109, HIT},
      {100, 'r', 0, 0, 2, 115 + 9, CONFLICT}}},

    /* WR 5, its data 9 to 13, PRE +tWR = 19, ACT 24, RD 29. */
    {"a write delays the precharge by tWR after its data", {NULL},
     {{0, 'w', 0, 0, 1, 5 + 8, MISS}, {1, 'r', 0, 0, 2, 29 + 9, CONFLICT}}},

    /* ACT 0 and tRRD = 3; RD 5, its data 10 to 14; the other RD 8 by tRCD, 14 - tCL = 9 by the
     * bus. */
    {"two banks work side by side", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 1, 1, 9 + 9, MISS}}},

    /* The same rows in one bank, as above: 37 instead of 18. */
    {"one bank does not", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 0, 2, 37, CONFLICT}}},

    /* ACT 0 3 6, RD 5, at 9 RD before ACT, ACT 10; RD 13 and 17 by the bus. The fifth ACT: the
     * first one + tFAW = 40 (tRRD alone: 13); RD 45. */
    {"a fifth bank waits for tFAW", {"memory.tFAW", "40", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 1, 1, 18, MISS}, {0, 'r', 0, 2, 1, 13 + 9, MISS},
      {0, 'r', 0, 3, 1, 17 + 9, MISS}, {0, 'r', 0, 4, 1, 45 + 9, MISS}}},

    /* The fifth in another rank: ACT 1, ready at 6. The others' data follow one another without
     * tRTRS, to 26, so each of them can be read a clock earlier; then 26 + tRTRS = 27, RD 22. */
    {"tFAW is of a rank", {"memory.tFAW", "40", "memory.ranks", "2", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 1, 1, 18, MISS}, {0, 'r', 0, 2, 1, 13 + 9, MISS},
      {0, 'r', 0, 3, 1, 17 + 9, MISS}, {0, 'r', 1, 4, 1, 22 + 9, MISS}}},

    /* WR 5, its data 9 to 13; RD of the rank +tWTR = 16. */
    {"a read turns around after a write", {NULL},
     {{0, 'w', 0, 0, 1, 13, MISS}, {1, 'r', 0, 0, 1, 16 + 9, HIT}}},

    /* The other rank has no tWTR: data 13 + tRTRS = 14, RD 9; ACT 1 + tRCD = 6. */
    {"in another rank the bus alone turns around", {"memory.ranks", "2", NULL},
     {{0, 'w', 0, 0, 1, 13, MISS}, {1, 'r', 1, 0, 1, 9 + 9, MISS}}},

    /* RD 5, its data 10 to 14; data of the write 14 + tRTRS = 15, WR 11: BL/2 + 2 after the
     * read. */
    {"a write turns around after a read", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {1, 'w', 0, 0, 1, 11 + 8, HIT}}},

    /* ACT 0 and 1; RD 5, its data 10 to 14; the other rank's from 14 + tRTRS = 15, RD 10. */
    {"the bus changes ranks", {"memory.ranks", "2", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 1, 0, 1, 10 + 9, MISS}}},

    /* The third passes the second: RD 5 and 9. Then PRE 18 by tRAS, ACT 23, RD 28. */
    {"a row hit passes an older request", {NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {6, 'r', 0, 0, 2, 28 + 9, CONFLICT},
      {7, 'r', 0, 0, 1, 9 + 9, HIT}}},

    /* Hits at 9, 13, 17; from 1 + 20 = 21 on the second alone: PRE 17 + tRTP = 22, ACT 27, RD 32.
     * The last finds the row of the second: PRE 32 + tRTP = 37, but 27 + tRAS = 45; ACT 5
      , RD 55. */
    {"hits pass it for memory.wait_most only", {"memory.wait_most", "20", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {1, 'r', 0, 0, 2, 32 + 9, CONFLICT},
      {2, 'r', 0, 0, 1, 9 + 9, HIT},
      {3, 'r', 0, 0, 1, 13 + 9, HIT}, {4, 'r', 0, 0, 1, 17 + 9, HIT},
      {5, 'r', 0, 0, 1, 55 + 9, CONFLICT}}},

    /* One place: the second request is seen when the first is read, at 5: ACT 6, RD 11. */
    {"what has no place in the queue waits", {"memory.queue", "1", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 1, 1, 11 + 9, MISS}}},

    /* Refresh is due at 1000: the row is precharged then, REF +tRP = 1005, ACT +tRFC = 1056, RD
     * 1061. */
    {"a refresh closes the row", {"memory.refresh", "on", "memory.tREFI", "1000", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {1002, 'r', 0, 0, 1, 1061 + 9, MISS}}},

    /* With two ranks the first one's is due at 500: REF 500, ACT 551, RD 556. */
    {"the ranks' refreshes are spread",
     {"memory.refresh", "on", "memory.tREFI", "1000", "memory.ranks", "2", NULL},
     {{501, 'r', 0, 0, 1, 556 + 9, MISS}}},

    /* No ACT from the clock on at which the refresh is due. */
    {"a refresh does not wait for requests", {"memory.refresh", "on", "memory.tREFI", "1000", NULL},
     {{1000, 'r', 0, 0, 1, 1000 + 51 + 5 + 9, MISS}}},

    /* PRE by itself at tRAS = 18; so ACT 100, RD 105. */
    {"a closed page has no hits later", {"memory.page", "closed", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {100, 'r', 0, 0, 1, 105 + 9, MISS}}},

    /* But those that wait. */
    {"a closed page stays open for what waits", {"memory.page", "closed", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {1, 'r', 0, 0, 1, 9 + 9, HIT}}},

    /* RD 5 and, the bus being free again, 9. */
    {"a block of two bursts", {"memory.bus_bytes", "4", NULL}, {{0, 'r', 0, 0, 1, 9 + 9, MISS}}},

    /* 512 bursts of a clock each: RD 5 to 516, tCL + 1. */
    {"the longest block in the shortest bursts",
     {"block", "1024", "memory.bus_bytes", "1", "memory.burst", "2", "memory.tCCD", "1", NULL},
     {{0, 'r', 0, 0, 1, 516 + 6, MISS}}},

    /* Banks 0 and 4 are of one group: RD 100 and +tCCD_L = 106. Rows opened at 0 and 3, RD 5, then
     * 11 by tCCD_L. */
    {"reads of a bank group are tCCD_L apart",
     {"memory.bank_groups", "4", "memory.tCCD_L", "6", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 4, 1, 11 + 9, MISS},
      {100, 'r', 0, 0, 1, 109, HIT}, {100, 'r', 0, 4, 1, 106 + 9, HIT}}},

    /* Banks 0 and 1 are not: the bus, 4 clocks. */
    {"reads of two groups are not", {"memory.bank_groups", "4", "memory.tCCD_L", "6", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 1, 1, 18, MISS},
      {100, 'r', 0, 0, 1, 109, HIT}, {100, 'r', 0, 1, 1, 104 + 9, HIT}}},

    /* ACT 0 and tRRD_L = 8, RD 13. */
    {"activates of a bank group are tRRD_L apart",
     {"memory.bank_groups", "4", "memory.tRRD_L", "8", NULL},
     {{0, 'r', 0, 0, 1, 14, MISS}, {0, 'r', 0, 4, 1, 13 + 9, MISS}}},

    /* WR 5, its data to 13, RD of the group +tWTR_L = 22. */
    {"a group turns around after tWTR_L", {"memory.bank_groups", "4", "memory.tWTR_L", "9", NULL},
     {{0, 'w', 0, 0, 1, 13, MISS}, {1, 'r', 0, 0, 1, 22 + 9, HIT}}},
};
/* clang-format on */

struct seen {
    uint64_t ends[REQUESTS];
    unsigned found[REQUESTS], done;
};

static void note(void *owner, const struct dram_request *request, uint64_t clock)
{
    struct seen *seen = owner;

    seen->ends[request->core] = clock;
    seen->found[request->core] = request->outcome;
    seen->done++;
}

START_TEST(requests_end_when_the_timings_say)
{
    const struct one *one = &cases[_i];
    struct machine machine;
    struct dram dram;
    struct seen seen = {0};
    unsigned count = 0;
    const char *settings[SETTINGS + 2] = {"memory.refresh", "off"};

    memcpy(settings + 2, one->settings, sizeof one->settings);
    machine = dram_machine("ddr2-800", settings);
    ck_assert(dram_init(&dram, &machine));
    dram.done = note;
    dram.owner = &seen;
    for (; count < REQUESTS && one->asked[count].what != 0; count++) {
        const struct asked *asked = &one->asked[count];
        struct dram_request request = {
            .block = count,
            .arrived = asked->arrives,
            .core = (uint16_t)count,
            .write = asked->what == 'w',
            .rank = asked->rank,
            .bank = asked->bank,
            .row = asked->row,
        };

        dram_arrive(&dram, &request);
    }
    dram_finish(&dram);
    ck_assert_msg(seen.done == count, "%s: %u of %u requests were served", one->name, seen.done,
                  count);
    for (unsigned i = 0; i < count; i++) {
        ck_assert_msg(seen.ends[i] == one->asked[i].ends, "%s: request %u ends at %u, not %u",
                      one->name, i, (unsigned)seen.ends[i], (unsigned)one->asked[i].ends);
        ck_assert_msg(seen.found[i] == one->asked[i].found,
                      "%s: request %u found its row %u, not %u", one->name, i, seen.found[i],
                      one->asked[i].found);
    }
    dram_destroy(&dram);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_dram");
    TCase *tests = tcase_create("chip_dram");

    tcase_add_loop_test(tests, requests_end_when_the_timings_say, 0,
                        sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
