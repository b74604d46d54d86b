/*
 * SPDX-License-Identifier: MIT
 *
 * Random requests to a memory controller, and a checker of its commands that is written from the
 * rules of the standards (JESD79-2F, -3F, -4, -5): it compares each command with all those before
 * it, pair by pair, and shares no code with the controller. It finds nothing, and something with
 * any one rule taken out of the controller.
 *
 * CHIP_DRAM_REQUESTS is for each machine and seed (10000; 2000 at least).
 */
#include "chip_dram_fixture.h"
#include "run_suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS_MOST = 4,
    BANKS_MOST = 64,
    BLOCKS = 4 * 4 * BANKS_MOST, /* rows, columns, banks */
    HITS = 2000,
    ODD = 4,
    FINDING = 160,
    NOT_SERVED = 0,
};

/* --- the checker --- */

struct checker {
    const struct machine *machine;
    struct dram_command *commands;
    size_t count, room;
    bool open[RANKS_MOST][BANKS_MOST];
    uint64_t row[RANKS_MOST][BANKS_MOST];
    uint64_t refreshes[RANKS_MOST];
    char finding[FINDING];
};

static void found(struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void found(struct checker *checker, const char *format, ...)
{
    va_list arguments;

    if (checker->finding[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(checker->finding, sizeof checker->finding, format, arguments);
    va_end(arguments);
}

static uint32_t group_of(const struct machine *machine, const struct dram_command *command)
{
    return command->bank % machine->memory.bank_groups;
}

static bool is_column(const struct dram_command *command)
{
    return command->kind == DRAM_READ || command->kind == DRAM_WRITE;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A timing of a group, or the general one where the part has none for groups. */
static int64_t in_group(bool same, uint32_t group, uint32_t general)
{
    return same && group != 0 ? group : general;
}

/* How many clocks a column command has to come after another one, by data bus and turn-around. */
static int64_t between_columns(const struct machine *machine, const struct dram_command *first,
                               const struct dram_command *second)
{
    const int64_t cl = machine->memory.tCL, cwl = machine->memory.tCWL;
    const int64_t data = machine->memory.burst / 2, gap = machine->memory.tRTRS;
    bool rank = first->rank == second->rank;
    bool group = rank && group_of(machine, first) == group_of(machine, second);
    int64_t ccd = in_group(group, machine->memory.tCCD_L, machine->memory.tCCD);

    if (first->kind == DRAM_WRITE && second->kind == DRAM_WRITE)
        ccd = greater(ccd, in_group(group, machine->memory.tCCD_L_WR, machine->memory.tCCD));
    if (first->kind == second->kind)
        return rank ? greater(ccd, data) : data + gap;
    if (first->kind == DRAM_READ)
        return cl + data + gap - cwl;
    if (rank)
        return cwl + data + in_group(group, machine->memory.tWTR_L, machine->memory.tWTR);
    return cwl + data + gap - cl;
}

/* How many clocks the second command has to come after the first; 0: as you like. */
static int64_t between(const struct machine *machine, const struct dram_command *first,
                       const struct dram_command *second)
{
    const int64_t data = machine->memory.burst / 2;
    bool rank = first->rank == second->rank, bank = rank && first->bank == second->bank;
    bool group = rank && group_of(machine, first) == group_of(machine, second);

    if (is_column(first) && is_column(second))
        return between_columns(machine, first, second);
    if (!rank)
        return 0;
    if (second->kind == DRAM_REFRESH || first->kind == DRAM_REFRESH)
        bank = true; /* it is of all banks */
    switch (first->kind) {
    case DRAM_ACTIVATE:
        if (second->kind == DRAM_ACTIVATE && !bank)
            return in_group(group, machine->memory.tRRD_L, machine->memory.tRRD);
        if (!bank)
            return 0;
        return second->kind == DRAM_PRECHARGE ? machine->memory.tRAS
               : is_column(second)            ? machine->memory.tRCD
                                              : machine->memory.tRC;
    case DRAM_PRECHARGE:
        return bank && (second->kind == DRAM_ACTIVATE || second->kind == DRAM_REFRESH)
                   ? machine->memory.tRP
                   : 0;
    case DRAM_REFRESH:
        return machine->memory.tRFC;
    case DRAM_READ:
        return bank && second->kind == DRAM_PRECHARGE ? machine->memory.tRTP : 0;
    default:
        return bank && second->kind == DRAM_PRECHARGE
                   ? machine->memory.tCWL + data + machine->memory.tWR
                   : 0;
    }
}

/* What the command finds open, and leaves. */
static void check_rows(struct checker *checker, const struct dram_command *command)
{
    bool *open = &checker->open[command->rank][command->bank];

    switch (command->kind) {
    case DRAM_ACTIVATE:
        if (*open)
            found(checker, "activate of an open bank");
        *open = true;
        checker->row[command->rank][command->bank] = command->row;
        break;
    case DRAM_PRECHARGE:
        if (!*open)
            found(checker, "precharge of a closed bank");
        *open = false;
        break;
    case DRAM_REFRESH:
        for (unsigned i = 0; i < checker->machine->memory.banks; i++)
            if (checker->open[command->rank][i])
                found(checker, "refresh with an open bank");
        checker->refreshes[command->rank]++;
        break;
    default:
        if (!*open)
            found(checker, "read or write of a closed bank");
    }
}

static void check_command(void *watcher, const struct dram_command *command)
{
    static const char *const names[] = {"ACT", "PRE", "RD", "WR", "REF"};
    struct checker *checker = watcher;
    const struct machine *machine = checker->machine;
    unsigned activates = 0;

    if (checker->count == checker->room) {
        checker->room = checker->room == 0 ? 4096 : 2 * checker->room;
        checker->commands = realloc(checker->commands, checker->room * sizeof *checker->commands);
        ck_assert_ptr_nonnull(checker->commands);
    }
    for (size_t i = checker->count; i-- > 0;) {
        const struct dram_command *before = &checker->commands[i];
        int64_t passed = (int64_t)(command->clock - before->clock);

        if (passed > machine->memory.tRFC + machine->memory.tRC)
            break;
        if (passed < greater(1, between(machine, before, command)))
            found(checker, "%s %u/%u %d clocks after %s %u/%u", names[command->kind], command->rank,
                  command->bank, (int)passed, names[before->kind], before->rank, before->bank);
        activates += before->kind == DRAM_ACTIVATE && before->rank == command->rank &&
                     passed < machine->memory.tFAW;
    }
    if (command->kind == DRAM_ACTIVATE && activates > 3)
        found(checker, "five activates within tFAW");
    check_rows(checker, command);
    /* Eight refreshes may be postponed, and the first is due after an interval. */
    if (machine->memory.refresh == MACHINE_ON &&
        checker->refreshes[command->rank] + 9 < command->clock / machine->memory.tREFI)
        found(checker, "refreshes are missing");
    checker->commands[checker->count++] = *command;
}

/* --- the requests --- */

struct stream {
    struct checker checker;
    struct dram dram;
    uint64_t state;
    uint64_t *last_of_block; /* the number of the request of the block that was served last */
    uint64_t served, *ended; /* a request: its clock, or NOT_SERVED */
    uint64_t *arrived;
    uint32_t *older; /* a request: those not served when it came */
};

static uint64_t below(struct stream *stream, uint64_t limit)
{
    stream->state ^= stream->state << 13;
    stream->state ^= stream->state >> 7;
    stream->state ^= stream->state << 17;
    return (stream->state >> 11) % limit;
}

/* The last command has to be the request's, on its row, and the end that of its data. */
static void served(void *owner, const struct dram_request *request, uint64_t clock)
{
    struct stream *stream = owner;
    struct checker *checker = &stream->checker;
    const struct machine *machine = checker->machine;
    const struct dram_command *command = &checker->commands[checker->count - 1];
    uint64_t latency = request->write ? machine->memory.tCWL : machine->memory.tCL;
    uint64_t number = request->cycle;

    if (command->kind != (request->write ? DRAM_WRITE : DRAM_READ) ||
        command->rank != request->rank || command->bank != request->bank ||
        checker->row[request->rank][request->bank] != request->row)
        found(checker, "a request got another place");
    if (clock != command->clock + latency + machine->memory.burst / 2)
        found(checker, "a request ends with other data");
    if (stream->ended[number] != NOT_SERVED)
        found(checker, "a request is served twice");
    if (number < stream->last_of_block[request->block])
        found(checker, "requests of a block change their order");
    stream->last_of_block[request->block] = number;
    stream->ended[number] = clock;
    stream->served++;
}

/*
 * What a request may take with `older` ones before it. The oldest in the queue lets others pass for
 * memory.wait_most; then it is alone, and takes at most all timings once before and once after a
 * refresh. So the queue's requests are all served after the one time and as often the other.
 */
static uint64_t longest(const struct machine *machine, uint32_t older)
{
    const uint64_t all = machine->memory.tCL + machine->memory.tCWL + machine->memory.tRCD +
                         machine->memory.tRP + machine->memory.tRAS + machine->memory.tRC +
                         machine->memory.tFAW + machine->memory.tWR + machine->memory.tWTR +
                         machine->memory.tWTR_L + machine->memory.tRFC + machine->memory.burst;
    const uint64_t queue = machine->memory.queue;

    return (older / queue + 1) * (machine->memory.wait_most + (queue + 1) * 2 * all);
}

static void arrive(struct stream *stream, const struct dram_request *request)
{
    stream->arrived[request->cycle] = request->arrived;
    stream->older[request->cycle] = (uint32_t)(request->cycle - stream->served);
    dram_arrive(&stream->dram, request);
}

/* More reads of one row than the bus can take, and among them one of another row of its bank. */
static uint64_t send_hits(struct stream *stream, uint64_t clock)
{
    for (uint64_t i = 0; i < HITS; i++) {
        struct dram_request request = {
            .cycle = i,
            .block = i == ODD ? 4 * BANKS_MOST : 0,
            .row = i == ODD,
            .arrived = clock += stream->checker.machine->memory.burst / 2 - 1,
        };

        arrive(stream, &request);
    }
    return clock;
}

/* Phases: few or many rows and banks, reads or writes prevailing, calm or bursts. */
static void send_all(struct stream *stream, uint64_t requests)
{
    const struct machine *machine = stream->checker.machine;
    uint64_t clock = send_hits(stream, 0), rows = 1, banks = 1, gap = 1, writes = 30;

    for (uint64_t i = HITS; i < requests && stream->checker.finding[0] == '\0'; i++) {
        struct dram_request request = {.cycle = i};

        if (i % 64 == 0) {
            rows = 1 + below(stream, 4);
            banks = 1 + below(stream, machine->memory.banks);
            gap = 1 + below(stream, below(stream, 3) == 0 ? 120 : 12);
            writes = below(stream, 100);
        }
        clock += below(stream, gap);
        if (below(stream, 2000) == 0)
            clock += 20 * machine->memory.tREFI;
        /* A block is one place: rank, bank and row follow from it. */
        request.bank = (uint8_t)below(stream, banks);
        request.block = 4 * BANKS_MOST * below(stream, rows) + 4 * request.bank + below(stream, 4);
        request.rank = (uint8_t)(request.block % machine->memory.ranks);
        request.row = request.block / (4 * BANKS_MOST);
        request.arrived = clock;
        request.write = below(stream, 100) < writes;
        arrive(stream, &request);
    }
    dram_finish(&stream->dram);
}

static void run(const struct machine *machine, uint64_t requests, uint64_t seed,
                enum dram_mutant mutant, char *finding)
{
    struct stream stream = {.state = seed * 0x9e3779b97f4a7c15ull, .checker.machine = machine};

    if (requests < HITS)
        requests = HITS;
    stream.ended = calloc(requests, sizeof *stream.ended);
    stream.arrived = calloc(requests, sizeof *stream.arrived);
    stream.older = calloc(requests, sizeof *stream.older);
    stream.last_of_block = calloc(BLOCKS, sizeof *stream.last_of_block);
    ck_assert(stream.ended != NULL && stream.arrived != NULL && stream.older != NULL &&
              stream.last_of_block != NULL && dram_init(&stream.dram, machine));
    stream.dram.timing.mutant = mutant;
    stream.dram.done = served;
    stream.dram.owner = &stream;
    stream.dram.issued = check_command;
    stream.dram.watcher = &stream.checker;
    send_all(&stream, requests);
    for (uint64_t i = 0; i < requests && stream.checker.finding[0] == '\0'; i++) {
        if (stream.ended[i] == NOT_SERVED)
            found(&stream.checker, "request %u is lost", (unsigned)i);
        else if (stream.ended[i] - stream.arrived[i] > longest(machine, stream.older[i]))
            found(&stream.checker, "request %u took %u clocks", (unsigned)i,
                  (unsigned)(stream.ended[i] - stream.arrived[i]));
    }
    strcpy(finding, stream.checker.finding);
    dram_destroy(&stream.dram);
    free(stream.checker.commands);
    free(stream.last_of_block);
    free(stream.older);
    free(stream.arrived);
    free(stream.ended);
}

static const struct {
    const char *part, *settings[12];
} machines[] = {
    {"ddr2-800", {"memory.ranks", "2", "memory.wait_most", "150", "memory.queue", "8", NULL}},
    {"ddr2-800", {"memory.refresh", "off", "memory.wait_most", "100", "memory.queue", "4", NULL}},
    {"ddr2-800", {"memory.tREFI", "700", "memory.bus_bytes", "4", "memory.ranks", "4", NULL}},
    {"ddr3-1600", {"memory.tREFI", "1000", "memory.page", "closed", NULL}},
    {"ddr4-3200", {"memory.ranks", "2", NULL}},
    {"ddr5-3200", {"memory.queue", "64", "memory.page", "closed", NULL}},
    {"ddr4-3200", {"memory.tREFI", "2000", "memory.queue", "2", NULL}},
};

START_TEST(no_command_breaks_a_rule_and_no_request_is_lost_or_starves)
{
    const char *text = getenv("CHIP_DRAM_REQUESTS");
    struct machine machine = dram_machine(machines[_i].part, machines[_i].settings);
    char finding[FINDING];

    for (uint64_t seed = 1; seed <= 2; seed++) {
        run(&machine, text != NULL ? strtoull(text, NULL, 10) : 10000, seed, DRAM_MUTANT_NONE,
            finding);
        ck_assert_msg(finding[0] == '\0', "machine %d, seed %u: %s", _i, (unsigned)seed, finding);
    }
}
END_TEST

/* A rule, the place of a machine in the list above that has it, and what is to be found. */
static const struct {
    enum dram_mutant mutant;
    int machine;
    const char *finding;
} rules[] = {
    {DRAM_MUTANT_RCD_IGNORED, 0, "clocks after ACT"},
    {DRAM_MUTANT_RP_IGNORED, 0, "clocks after PRE"},
    {DRAM_MUTANT_RAS_IGNORED, 0, "clocks after ACT"},
    {DRAM_MUTANT_RTP_IGNORED, 0, "clocks after RD"},
    {DRAM_MUTANT_WR_IGNORED, 0, "clocks after WR"},
    {DRAM_MUTANT_RRD_IGNORED, 0, "clocks after ACT"},
    {DRAM_MUTANT_FAW_IGNORED, 0, "within tFAW"},
    {DRAM_MUTANT_WTR_IGNORED, 0, "clocks after WR"},
    {DRAM_MUTANT_GROUP_IGNORED, 4, "clocks after"},
    {DRAM_MUTANT_BUS_IGNORED, 0, "clocks after"},
    {DRAM_MUTANT_RFC_IGNORED, 3, "clocks after REF"},
    {DRAM_MUTANT_REFRESH_FORGOTTEN, 3, "refreshes are missing"},
    {DRAM_MUTANT_ROW_NOT_COMPARED, 0, "another place"},
    {DRAM_MUTANT_HITS_FOREVER, 1, "took"},
    {DRAM_MUTANT_REQUEST_LOST, 5, ""},
    {DRAM_MUTANT_OVERTAKEN, 0, "change their order"},
};

_Static_assert(sizeof rules / sizeof rules[0] == DRAM_MUTANTS - 1, "each rule is in the list");

START_TEST(a_rule_taken_out_is_found)
{
    int place = rules[_i].machine;
    struct machine machine = dram_machine(machines[place].part, machines[place].settings);
    char finding[FINDING];

    run(&machine, 10000, 1, rules[_i].mutant, finding);
    ck_assert_msg(finding[0] != '\0' && strstr(finding, rules[_i].finding) != NULL,
                  "rule %u: '%s' is found, not '%s'", (unsigned)rules[_i].mutant, finding,
                  rules[_i].finding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip_dram_rules");
    TCase *tests = tcase_create("chip_dram_rules");

    tcase_add_loop_test(tests, no_command_breaks_a_rule_and_no_request_is_lost_or_starves, 0,
                        sizeof machines / sizeof machines[0]);
    tcase_add_loop_test(tests, a_rule_taken_out_is_found, 0, sizeof rules / sizeof rules[0]);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
