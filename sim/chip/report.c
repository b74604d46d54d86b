/*
 * SPDX-License-Identifier: MIT
 *
 * The report of a run; see report.h.
 */
#include "chip/report.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { ALL = -1 };

struct figures {
    struct counts counts;
    uint64_t cycles;
    double latency; /* cycles an access */
    double energy;  /* pJ */
};

static uint64_t cycles_of(const struct cores *cores, int core)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < cores->fabric.machine->core.count; i++)
        if ((core == ALL || (int)i == core) && cores->core[i].ended > end)
            end = cores->core[i].ended;
    if (cores->left && end > cores->region_end)
        end = cores->region_end;
    return end > cores->region_begin ? end - cores->region_begin : 0;
}

/* Energies of machine files are in units of 0.1 pJ. */
static double energy_of(const struct machine *machine, const uint64_t *of)
{
    return 0.1 * ((double)of[COUNT_ACCESSES] * machine->energy.l1 +
                  (double)of[COUNT_L2_LOOKUPS] * machine->energy.l2 +
                  (double)of[COUNT_SNOOPS] * machine->energy.snoop +
                  (double)of[COUNT_LLC_LOOKUPS] * machine->energy.llc_tag +
                  (double)of[COUNT_LLC_BLOCKS] * machine->energy.llc_data +
                  (double)of[COUNT_DIRECTORY_LOOKUPS] * machine->energy.directory +
                  (double)of[COUNT_FILTER_LOOKUPS] * machine->energy.filter +
                  (double)of[COUNT_FLIT_ROUTERS] * machine->energy.router +
                  (double)of[COUNT_FLIT_HOPS] * machine->energy.link);
}

static struct figures figures_of(const struct cores *cores, int core)
{
    const struct counts *counts = cores->left ? cores->region : cores->fabric.counts;
    struct figures figures = {.cycles = cycles_of(cores, core)};

    for (uint32_t i = 0; i < cores->fabric.machine->core.count; i++)
        for (unsigned what = 0; what < COUNTS && (core == ALL || (int)i == core); what++)
            figures.counts.of[what] += counts[i].of[what];
    if (figures.counts.of[COUNT_ACCESSES] > 0)
        figures.latency =
            (double)figures.counts.of[COUNT_LATENCY] / (double)figures.counts.of[COUNT_ACCESSES];
    figures.energy = energy_of(cores->fabric.machine, figures.counts.of);
    return figures;
}

struct row {
    const char *key, *text;
    enum count what;
};

static const struct row rows[] = {
    {"accesses", "accesses", COUNT_ACCESSES},
    {"l1_hits", "hits in the first level", COUNT_L1_HITS},
    {"l2_hits", "hits in the second level", COUNT_L2_HITS},
    {"llc_hits", "hits in the last level", COUNT_LLC_HITS},
    {"memory_reads", "blocks read from memory", COUNT_MEMORY_READS},
    {"coherence_misses", "misses that cores served", COUNT_COHERENCE_MISSES},
    {"average_latency", "cycles an access", COUNTS},
    {"messages", "messages", COUNT_MESSAGES},
    {"flit_hops", "flits times links", COUNT_FLIT_HOPS},
    {"snoops", "lookups in cores for others", COUNT_SNOOPS},
    {"multicasts", "multicasts", COUNT_MULTICASTS},
    {"directory_allocations", "directory entries made", COUNT_DIRECTORY_ALLOCATIONS},
    {"directory_evictions", "directory entries evicted", COUNT_DIRECTORY_EVICTIONS},
    {"directory_invalidations", "copies lost to that", COUNT_DIRECTORY_INVALIDATIONS},
    {"reconstructions", "entries reconstructed", COUNT_RECONSTRUCTIONS},
    {"filter_true_positives", "filter: true positives", COUNT_FILTER_TRUE_POSITIVES},
    {"filter_false_positives", "filter: false positives", COUNT_FILTER_FALSE_POSITIVES},
    {"filter_overflows", "filter: overflows", COUNT_FILTER_OVERFLOWS},
};

/* With memory.model = dram; those of a core and of a controller. */
static const struct row dram_rows[] = {
    {"memory_writes", "blocks written to memory", COUNT_MEMORY_WRITES},
    {"row_hits", "  the row was open", COUNT_ROW_HITS},
    {"row_misses", "  the bank had no open row", COUNT_ROW_MISSES},
    {"row_conflicts", "  another row was open", COUNT_ROW_CONFLICTS},
};

enum {
    ROWS = sizeof rows / sizeof rows[0],
    DRAM_ROWS = sizeof dram_rows / sizeof dram_rows[0],
};

static const struct {
    const char *key, *text;
    size_t at;
} persistence_rows[] = {
#define ROW(name, text)                                                                            \
    {                                                                                              \
#name, text, offsetof(struct persistence_counts, name)                                     \
    }
    ROW(transactions, "transactions committed"), ROW(log_writes, "blocks written to the log"),
    ROW(home_writes, "blocks written home"),     ROW(forced_evictions, "blocks evicted to the log"),
    ROW(version_overflows, "version overflows"), ROW(coalesced_writes, "versions never written"),
    ROW(log_bytes, "bytes written to the log"),
#undef ROW
};

enum { PERSISTENCE_ROWS = sizeof persistence_rows / sizeof persistence_rows[0] };

static uint64_t persistence_value(const struct cores *cores, unsigned row)
{
    const char *counts = (const char *)persistence_counts(cores->persistence);
    uint64_t value;

    memcpy(&value, counts + persistence_rows[row].at, sizeof value);
    return value;
}

/* Whether the run has something to say of persistent memory. */
static bool is_persistent(const struct cores *cores)
{
    return !persistence_is_none(cores->persistence) ||
           persistence_counts(cores->persistence)->transactions > 0;
}

static void json_persistence(const struct cores *cores, FILE *out, int indent)
{
    for (unsigned i = 0; i < PERSISTENCE_ROWS && is_persistent(cores); i++)
        fprintf(out, ",\n%*s\"%s\": %" PRIu64, indent, "", persistence_rows[i].key,
                persistence_value(cores, i));
}

static void json_power_cuts(const struct cores *cores, FILE *out, int indent)
{
    const struct power_cuts *cuts = &cores->power_cuts;

    if (cuts->cuts > 0)
        fprintf(out, ",\n%*s\"power_cuts\": %" PRIu64 ",\n%*s\"power_cut_findings\": %" PRIu64,
                indent, "", cuts->cuts, indent, "", cuts->findings);
}

static void json_dram(const uint64_t *of, FILE *out, int indent)
{
    for (unsigned i = 0; i < DRAM_ROWS; i++)
        fprintf(out, "%*s\"%s\": %" PRIu64 ",\n", indent, "", dram_rows[i].key,
                of[dram_rows[i].what]);
}

/* The controllers: what each did, and cycles of a read from its arrival there to its data. */
static void json_controllers(const struct cores *cores, FILE *out, int indent)
{
    const struct machine *machine = cores->fabric.machine;
    const struct counts *counts = cores->left ? cores->region : cores->fabric.counts;

    fprintf(out, ",\n%*s\"controllers\": [", indent, "");
    for (uint32_t i = 0; i < machine->memory.controllers; i++) {
        const uint64_t *of = counts[machine->core.count + i].of;
        uint64_t reads = of[COUNT_MEMORY_READS];

        fprintf(out, "%s\n%*s{\n", i == 0 ? "" : ",", indent + 2, "");
        fprintf(out, "%*s\"memory_reads\": %" PRIu64 ",\n", indent + 4, "", reads);
        json_dram(of, out, indent + 4);
        fprintf(out, "%*s\"average_latency\": %.3f\n%*s}", indent + 4, "",
                reads == 0 ? 0.0 : (double)of[COUNT_LATENCY] / (double)reads, indent + 2, "");
    }
    fprintf(out, "\n%*s]", indent, "");
}

static void json_object(const struct figures *figures, bool dram, FILE *out, int indent)
{
    fprintf(out, "%*s\"cycles\": %" PRIu64 ",\n", indent, "", figures->cycles);
    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].what == COUNTS)
            fprintf(out, "%*s\"%s\": %.3f,\n", indent, "", rows[i].key, figures->latency);
        else
            fprintf(out, "%*s\"%s\": %" PRIu64 ",\n", indent, "", rows[i].key,
                    figures->counts.of[rows[i].what]);
    }
    if (dram)
        json_dram(figures->counts.of, out, indent);
    fprintf(out, "%*s\"energy_pj\": %.1f,\n", indent, "", figures->energy);
    fprintf(out, "%*s\"edp\": %.6g", indent, "", figures->energy * (double)figures->cycles);
}

void report_json(const struct cores *cores, FILE *out, int indent)
{
    struct figures figures = figures_of(cores, ALL);
    bool dram = memory_is_dram(&cores->fabric.memory);

    fprintf(out, "{\n%*s\"simulated\": true,\n%*s\"protocol\": \"%s\",\n", indent + 2, "",
            indent + 2, "", cores->fabric.protocol->name);
    json_object(&figures, dram, out, indent + 2);
    json_persistence(cores, out, indent + 2);
    json_power_cuts(cores, out, indent + 2);
    if (dram)
        json_controllers(cores, out, indent + 2);
    fprintf(out, ",\n%*s\"cores\": [", indent + 2, "");
    for (uint32_t i = 0; i < cores->fabric.machine->core.count; i++) {
        figures = figures_of(cores, (int)i);
        fprintf(out, "%s\n%*s{\n", i == 0 ? "" : ",", indent + 4, "");
        json_object(&figures, dram, out, indent + 6);
        fprintf(out, "\n%*s}", indent + 4, "");
    }
    fprintf(out, "\n%*s]\n%*s}", indent + 2, "", indent, "");
}

void report_text(const struct cores *cores, FILE *out)
{
    struct figures figures = figures_of(cores, ALL);

    fprintf(out, "Simulated: %u cores, protocol %s, %u threads\n",
            cores->fabric.machine->core.count, cores->fabric.protocol->name, cores->thread_count);
    fprintf(out, "  %-30s %15" PRIu64 "\n", "cycles", figures.cycles);
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t value = rows[i].what == COUNTS ? 1 : figures.counts.of[rows[i].what];

        if (rows[i].what == COUNTS)
            fprintf(out, "  %-30s %15.2f\n", rows[i].text, figures.latency);
        else if (value > 0)
            fprintf(out, "  %-30s %15" PRIu64 "\n", rows[i].text, value);
    }
    for (unsigned i = 0; i < DRAM_ROWS && memory_is_dram(&cores->fabric.memory); i++)
        fprintf(out, "  %-30s %15" PRIu64 "\n", dram_rows[i].text,
                figures.counts.of[dram_rows[i].what]);
    for (unsigned i = 0; i < PERSISTENCE_ROWS && is_persistent(cores); i++)
        fprintf(out, "  %-30s %15" PRIu64 "\n", persistence_rows[i].text,
                persistence_value(cores, i));
    if (cores->power_cuts.cuts > 0)
        fprintf(out, "  %-30s %15" PRIu64 "\n  %-30s %15" PRIu64 "\n", "power cuts",
                cores->power_cuts.cuts, "power cuts with a finding", cores->power_cuts.findings);
    fprintf(out, "  %-30s %15.3f\n", "energy on chip, uJ (modelled)", figures.energy * 1e-6);
}

void report_line(const struct cores *cores, FILE *out)
{
    struct figures figures = figures_of(cores, ALL);

    fprintf(out, "%15" PRIu64 " %10.2f %15" PRIu64 " %12.3f", figures.cycles, figures.latency,
            figures.counts.of[COUNT_FLIT_HOPS], figures.energy * 1e-6);
}
