/*
 * SPDX-License-Identifier: MIT
 *
 * See statistics.h. The numbers are read with the pool locked, and written without: a report may
 * wait for a pipe.
 */
#include "bank_malloc/api/statistics.h"

#include "bank_malloc/api/allocator.h"
#include "bank_malloc/memory/kept.h"
#include "bank_malloc/memory/together.h"
#include "base/exit_report.h"

#include <stdbool.h>
#include <unistd.h>

static const char *const knowledge_names[] = {
    [FRAMES_UNKNOWN] = "unknown",
    [FRAMES_RELATIVE] = "relative",
    [FRAMES_KNOWN] = "known",
    [FRAMES_SIMULATED] = "simulated",
};

/* In the order of enum pool_source. */
static const char *const source_names[] = {"refused", "own_bank", "own_controller", "elsewhere",
                                           "split"};
enum { SOURCES = POOL_FROM_RUN + 1 };

/* Caller holds arena.lock. */
static struct bank_totals totals(void)
{
    uint64_t free_chunks = 0;

    for (uint32_t c = 0; arena.base != NULL && c <= arena.frames.controllers; c++)
        free_chunks += arena.pool.controller_free[c];
    return (struct bank_totals){
        .pool_bytes = (size_t)(arena.owned + arena.elsewhere) << arena.shift,
        .free_bytes = free_chunks << arena.shift,
    };
}

void bank_totals_read(struct bank_totals *read)
{
    arena_lock();
    *read = totals();
    arena_unlock();
}

/* Free blocks of a slab: those that its owner knows, and those that others freed. */
static uint32_t free_in_slab(struct chunk *slab)
{
    uint32_t free = 0;

    for (uint32_t i = 0; i <= (slab->blocks - 1u) / 64; i++)
        free += (uint32_t)__builtin_popcountll(
            __atomic_load_n(&slab->bits[i], __ATOMIC_RELAXED) |
            atomic_load_explicit(&chunk_remote(slab)[i], memory_order_relaxed));
    return free;
}

/* Records of chunks that are not in use are not looked at: they would get memory. */
static bool is_in_use(uint32_t chunk)
{
    return !pool_is_free(&arena.pool, chunk) && !bit_index_has(&arena.unread, chunk);
}

void bank_memory_read(struct bank_memory *memory)
{
    uint32_t chunks = 0;

    arena_lock();
    *memory = (struct bank_memory){.totals = totals()};
    for (uint32_t i = 0; arena.base != NULL && i < arena.top; i++) {
        struct chunk *slab = arena_chunk(i);

        if (is_in_use(i) && atomic_load(&slab->kind) == CHUNK_SLAB && !slab->is_inherited) {
            uint32_t blocks = free_in_slab(slab);

            memory->free_blocks += blocks;
            memory->free_bytes += (size_t)blocks * slab->size;
        }
    }
    memory->free_blocks += kept_blocks(&chunks) + (memory->totals.free_bytes >> arena.shift);
    memory->free_bytes += ((size_t)chunks << arena.shift) + memory->totals.free_bytes;
    arena_unlock();
    if (memory->free_bytes > memory->totals.pool_bytes)
        memory->free_bytes = memory->totals.pool_bytes;
}

/* What is known of one bank, copied under the lock. */
struct figures {
    uint64_t bytes, free_bytes, by_source[SOURCES];
};

static void read_bank(uint32_t colour, struct figures *figures)
{
    arena_lock();
    figures->bytes = (uint64_t)arena.pool.bank[colour].owned << arena.shift;
    figures->free_bytes = (uint64_t)arena.pool.bank[colour].free << arena.shift;
    for (int i = 0; i < SOURCES; i++)
        figures->by_source[i] = refill_counts[colour].by_source[i];
    arena_unlock();
}

/* A bank that has memory, or was asked for. */
static bool is_worth_a_line(const struct figures *figures)
{
    uint64_t any = figures->bytes;

    for (int i = 0; i < SOURCES; i++)
        any |= figures->by_source[i];
    return any != 0;
}

static const char *map_name(void)
{
    return arena.frames.knowledge == FRAMES_UNKNOWN ? "none" : arena.frames.map.name;
}

/* A number, or what stands for it if the kernel cannot be asked. */
static void write_moved(struct report *report, const char *unknown)
{
    arena_lock();
    int64_t moved = arena.frames.knowledge == FRAMES_KNOWN ? arena_count_moved(together_where) : 0;
    arena_unlock();
    if (moved >= 0)
        report_format(report, "%lu", (uint64_t)moved);
    else
        report_format(report, "%s", unknown);
}

/* Blocks of whole chunks, and chunks for shorter ones, that were asked for. */
static uint64_t count_requests(void)
{
    uint64_t requests = 0;

    arena_lock();
    for (uint32_t colour = 0; colour < arena.frames.controllers * arena.frames.banks; colour++) {
        for (int i = 0; i < SOURCES; i++)
            requests += refill_counts[colour].by_source[i];
    }
    arena_unlock();
    return requests;
}

static void write_head(struct report *report)
{
    const struct frames *frames = &arena.frames;

    report_format(report,
                  "mplace bank: requests %lu, pool %lu KiB in chunks of %lu B; map %s, frames %s, "
                  "%u controllers, %u banks each\n",
                  count_requests(), (uint64_t)(arena.owned + arena.elsewhere) << arena.shift >> 10,
                  1ul << arena.shift, map_name(), knowledge_names[frames->knowledge],
                  frames->controllers, frames->banks);
    if (bank_settings.banks_lost + bank_settings.controllers_lost != 0)
        report_format(report,
                      "  left out, as pages do not tell: %u functions of banks, %u of "
                      "controllers\n",
                      bank_settings.banks_lost, bank_settings.controllers_lost);
    if (frames->knowledge == FRAMES_RELATIVE)
        report_format(report, "  no frame numbers: banks are right relative to each other within a "
                              "huge page, and no more is known\n");
    if (frames->knowledge == FRAMES_KNOWN) {
        report_format(report, "  chunks that are in another bank now: ");
        write_moved(report, "not known");
        report_format(report, "\n");
    }
    report_format(report,
                  "  chunks of no one bank %u, lost %u, from the parent %u; moved pieces "
                  "%u of %u\n",
                  arena.mixed + arena.elsewhere, arena.lost, arena.inherited, together.pieces,
                  together.pieces_most);
}

void bank_report(struct report *report)
{
    struct figures figures;

    if (arena.base == NULL)
        return;
    write_head(report);
    report_format(report, "  controller bank       KiB  free KiB");
    for (int i = 1; i <= SOURCES; i++)
        report_format(report, "%15s", source_names[i % SOURCES]);
    report_format(report, "\n");
    for (uint32_t colour = 0; colour < arena.frames.controllers * arena.frames.banks; colour++) {
        read_bank(colour, &figures);
        if (!is_worth_a_line(&figures))
            continue;
        report_format(report, "  %10u %4u %9lu %9lu", colour / arena.frames.banks,
                      colour % arena.frames.banks, figures.bytes >> 10, figures.free_bytes >> 10);
        for (int i = 1; i <= SOURCES; i++)
            report_format(report, "%15lu", figures.by_source[i % SOURCES]);
        report_format(report, "\n");
    }
}

static void write_json(struct report *report)
{
    struct figures figures;
    bool is_first = true;

    report_format(report,
                  "{\n  \"version\": 1,\n  \"process\": %d,\n  \"library\": \"libbank_malloc\",\n"
                  "  \"map\": \"",
                  (int)getpid());
    report_json_text(report, map_name());
    report_format(report,
                  "\",\n  \"requests\": %lu,\n  \"frames\": \"%s\",\n  \"controllers\": %u,\n  "
                  "\"banks\": %u,\n"
                  "  \"chunk_bytes\": %lu,\n  \"pool_bytes\": %lu,\n",
                  count_requests(), knowledge_names[arena.frames.knowledge],
                  arena.frames.controllers, arena.frames.banks, 1ul << arena.shift,
                  (uint64_t)(arena.owned + arena.elsewhere) << arena.shift);
    report_format(report,
                  "  \"bank_functions_left_out\": %u,\n  \"controller_functions_left_out\": %u,\n"
                  "  \"chunks_in_another_bank\": ",
                  bank_settings.banks_lost, bank_settings.controllers_lost);
    write_moved(report, "null");
    report_format(report,
                  ",\n  \"chunks_of_no_one_bank\": %u,\n  \"chunks_lost\": %u,\n"
                  "  \"chunks_inherited\": %u,\n  \"per_bank\": [",
                  arena.mixed + arena.elsewhere, arena.lost, arena.inherited);
    for (uint32_t colour = 0; colour < arena.frames.controllers * arena.frames.banks; colour++) {
        read_bank(colour, &figures);
        if (!is_worth_a_line(&figures))
            continue;
        report_format(report,
                      "%s\n    {\"controller\": %u, \"bank\": %u, \"bytes\": %lu, \"free\": %lu",
                      is_first ? "" : ",", colour / arena.frames.banks, colour % arena.frames.banks,
                      figures.bytes, figures.free_bytes);
        for (int i = 1; i <= SOURCES; i++)
            report_format(report, ", \"%s\": %lu", source_names[i % SOURCES],
                          figures.by_source[i % SOURCES]);
        report_format(report, "}");
        is_first = false;
    }
    report_format(report, "\n  ]\n}\n");
}

static struct exit_report exit_report;

void bank_statistics_start(void)
{
    exit_report_plan(&exit_report, "BANK_STATS");
}

__attribute__((destructor)) static void report_at_exit(void)
{
    struct report report;

    if (arena.base == NULL || !exit_report_open(&exit_report, &report))
        return;
    (exit_report_is_json(&exit_report) ? write_json : bank_report)(&report);
    exit_report_close(&exit_report, &report);
}
