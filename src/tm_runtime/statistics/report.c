/*
 * SPDX-License-Identifier: MIT
 *
 * The report of TM_STATS: the tables of all threads added up, the transactions that cost most
 * first. As text for people, or as JSON if the file's name ends in .json. Written when the process
 * ends, while other threads may still run: numbers of theirs may miss the last transactions.
 */
#include "tm_runtime/statistics/report.h"

#include "base/code/code_location.h"
#include "base/pages.h"
#include "tm_runtime/statistics/statistics.h"

#include <string.h>
#include <unistd.h>

static const char *const cause_names[TM_CAUSES] = {
    [TM_READ_LOCKED] = "read_locked",
    [TM_WRITE_LOCKED] = "write_locked",
    [TM_READ_CHANGED] = "read_changed",
    [TM_COMMIT_CHANGED] = "commit_changed",
    [TM_SERIAL_TAKEN] = "serial_taken",
    [TM_NO_MEMORY] = "no_memory",
    [TM_HARDWARE_CONFLICT] = "hardware_conflict",
    [TM_HARDWARE_CAPACITY] = "hardware_capacity",
    [TM_HARDWARE_BUSY] = "hardware_busy",
    [TM_HARDWARE_OTHER] = "hardware_other",
    [TM_CANCELLED] = "cancelled",
};

/* The sums, in pages of their own. */
struct sums {
    struct statistics_row total;
    size_t count;
    struct statistics_row rows[STATISTICS_ROWS];
    size_t switches;
    uint64_t switches_dropped;
    struct statistics_switch switch_rows[STATISTICS_SWITCHES];
};

static uint64_t aborts_of(const struct statistics_row *row)
{
    uint64_t sum = 0;

    for (int cause = 0; cause < TM_CAUSES; cause++)
        sum += row->aborts[cause];
    return sum;
}

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void add_row(struct statistics_row *to, const struct statistics_row *from)
{
    to->started += load(&from->started);
    to->committed += load(&from->committed);
    to->committed_in_hardware += load(&from->committed_in_hardware);
    to->switches += load(&from->switches);
    for (int reason = 0; reason < TM_SERIAL_REASONS; reason++)
        to->serial[reason] += load(&from->serial[reason]);
    for (int cause = 0; cause < TM_CAUSES; cause++)
        to->aborts[cause] += load(&from->aborts[cause]);
}

static bool is_used(const struct statistics_row *row)
{
    return load(&row->started) != 0 || aborts_of(row) != 0;
}

static void add_to_rows(struct sums *sums, const struct statistics_row *row)
{
    size_t at = 0;

    while (at < sums->count && sums->rows[at].begin != row->begin)
        at++;
    if (at == sums->count && sums->count == STATISTICS_ROWS)
        at = STATISTICS_ROWS - 1;
    else if (at == sums->count)
        sums->rows[sums->count++].begin = row->begin;
    add_row(&sums->rows[at], row);
}

static void add_switch(struct sums *sums, const struct statistics_switch *from)
{
    size_t at;

    for (at = 0; at < sums->switches; at++) {
        struct statistics_switch *known = &sums->switch_rows[at];

        if (known->begin == from->begin && known->function == from->function &&
            memcmp(known->frames, from->frames, sizeof from->frames) == 0) {
            known->count += load(&from->count);
            return;
        }
    }
    if (at < STATISTICS_SWITCHES)
        sums->switch_rows[sums->switches++] = *from;
    else
        sums->switches_dropped += load(&from->count);
}

/* What a row costs: work that was thrown away, and time that others waited. */
static uint64_t cost_of(const struct statistics_row *row)
{
    return aborts_of(row) + row->switches + row->serial[TM_SERIAL_FROM_START] +
           row->serial[TM_SERIAL_ABORTS];
}

static bool comes_before(const struct statistics_row *a, const struct statistics_row *b)
{
    if (cost_of(a) != cost_of(b))
        return cost_of(a) > cost_of(b);
    if (a->started != b->started)
        return a->started > b->started;
    return a->begin < b->begin;
}

static void sort(struct sums *sums)
{
    for (size_t i = 1; i < sums->count; i++) {
        struct statistics_row row = sums->rows[i];
        size_t at = i;

        for (; at > 0 && comes_before(&row, &sums->rows[at - 1]); at--)
            sums->rows[at] = sums->rows[at - 1];
        sums->rows[at] = row;
    }
    for (size_t i = 1; i < sums->switches; i++) {
        struct statistics_switch entry = sums->switch_rows[i];
        size_t at = i;

        for (; at > 0 && entry.count > sums->switch_rows[at - 1].count; at--)
            sums->switch_rows[at] = sums->switch_rows[at - 1];
        sums->switch_rows[at] = entry;
    }
}

static void add_up(struct sums *sums)
{
    for (const struct statistics_table *table = statistics_first(); table != NULL;
         table = table->next) {
        uint32_t switches = __atomic_load_n(&table->switches_used, __ATOMIC_ACQUIRE);

        for (size_t i = 0; i < STATISTICS_ROWS; i++) {
            if (is_used(&table->rows[i])) {
                add_row(&sums->total, &table->rows[i]);
                add_to_rows(sums, &table->rows[i]);
            }
        }
        for (uint32_t i = 0; i < switches; i++)
            add_switch(sums, &table->switches[i]);
        sums->switches_dropped += load(&table->switches_dropped);
    }
    sort(sums);
}

/* ---- text ---- */

static void write_place(struct report *report, const void *address)
{
    static struct code_location place;

    if (address == NULL) {
        report_format(report, "(others)");
        return;
    }
    code_location_of_call(address, &place);
    if (place.kind == CODE_IN_FUNCTION)
        report_format(report, "%s+0x%lx  %s+0x%lx", place.function, place.function_offset,
                      place.file, place.offset);
    else if (place.kind == CODE_IN_FILE)
        report_format(report, "%s+0x%lx", place.file, place.offset);
    else
        report_format(report, "%p", address);
}

static void write_share(struct report *report, uint64_t part, uint64_t whole)
{
    uint64_t tenths = whole == 0 ? 0 : part * 1000 / whole;

    report_format(report, "%12lu (%lu.%lu%%)", part, tenths / 10, tenths % 10);
}

static void write_counts(struct report *report, const struct statistics_row *row)
{
    const char *before = "    aborts            ";

    report_format(report, "    started           %12lu\n    committed         %12lu\n",
                  row->started, row->committed);
    if (row->committed_in_hardware != 0)
        report_format(report, "      in hardware     %12lu\n", row->committed_in_hardware);
    report_format(report, "    in-flight switch  ");
    write_share(report, row->switches, row->started);
    report_format(report, "\n    start serial      ");
    write_share(report, row->serial[TM_SERIAL_FROM_START], row->started);
    report_format(report, "\n    abort serial      ");
    write_share(report, row->serial[TM_SERIAL_ABORTS], row->started);
    report_format(report, "\n");
    if (row->serial[TM_SERIAL_MEMORY] != 0)
        report_format(report, "    no memory for logs%12lu\n", row->serial[TM_SERIAL_MEMORY]);
    for (int cause = 0; cause < TM_CAUSES; cause++) {
        if (row->aborts[cause] != 0) {
            report_format(report, "%s%12lu %s\n", before, row->aborts[cause], cause_names[cause]);
            before = "                      ";
        }
    }
}

static void write_text(struct report *report, const struct sums *sums,
                       const struct report_facts *facts)
{
    report_format(report, "mplace: transactions of process %d under libtm_runtime\n",
                  (int)getpid());
    report_format(report, "  algorithm           %s\n  contention          %s\n  all\n",
                  facts->algorithm, facts->contention);
    write_counts(report, &sums->total);
    for (size_t i = 0; i < sums->count; i++) {
        report_format(report, "  transaction ");
        write_place(report, sums->rows[i].begin);
        report_format(report, "\n");
        write_counts(report, &sums->rows[i]);
    }
    for (size_t i = 0; i < sums->switches; i++) {
        const struct statistics_switch *entry = &sums->switch_rows[i];

        report_format(report, "  switch, %lu times, of the transaction ", entry->count);
        write_place(report, entry->begin);
        report_format(report, "\n");
        if (entry->function != NULL) {
            report_format(report, "    calls without a clone ");
            write_place(report, (const char *)entry->function + 1);
            report_format(report, "\n");
        }
        for (int frame = 0; frame < STATISTICS_FRAMES && entry->frames[frame] != NULL; frame++) {
            report_format(report, "    %s ", frame == 0 ? "in" : "by");
            write_place(report, entry->frames[frame]);
            report_format(report, "\n");
        }
    }
    if (sums->switches_dropped != 0)
        report_format(report, "  %lu more switches, at places for which there was no room\n",
                      sums->switches_dropped);
}

/* ---- JSON ---- */

enum { VERSION = 1 };

static void write_json_place(struct report *report, const char *name, const void *address)
{
    static struct code_location place;

    report_format(report, "\"%s\": ", name);
    if (address == NULL) {
        report_format(report, "null");
        return;
    }
    code_location_of_call(address, &place);
    report_format(report, "{\"address\": \"%p\"", address);
    if (place.kind == CODE_IN_FUNCTION) {
        report_format(report, ", \"function\": \"");
        report_json_text(report, place.function);
        report_format(report, "\", \"function_offset\": %lu", place.function_offset);
    }
    if (place.kind == CODE_IN_FUNCTION || place.kind == CODE_IN_FILE) {
        report_format(report, ", \"file\": \"");
        report_json_text(report, place.file);
        report_format(report, "\", \"file_offset\": %lu", place.offset);
    }
    report_format(report, "}");
}

static void write_json_counts(struct report *report, const struct statistics_row *row)
{
    report_format(report,
                  "\"started\": %lu, \"committed\": %lu, \"committed_in_hardware\": %lu, "
                  "\"in_flight_switch\": %lu, \"start_serial\": %lu, \"abort_serial\": %lu, "
                  "\"memory_serial\": %lu, \"aborts\": {",
                  row->started, row->committed, row->committed_in_hardware, row->switches,
                  row->serial[TM_SERIAL_FROM_START], row->serial[TM_SERIAL_ABORTS],
                  row->serial[TM_SERIAL_MEMORY]);
    for (int cause = 0; cause < TM_CAUSES; cause++)
        report_format(report, "%s\"%s\": %lu", cause == 0 ? "" : ", ", cause_names[cause],
                      row->aborts[cause]);
    report_format(report, "}");
}

static void write_json(struct report *report, const struct sums *sums,
                       const struct report_facts *facts)
{
    report_format(report,
                  "{\n  \"version\": %d,\n  \"process\": %d,\n  \"library\": \"libtm_runtime\",\n"
                  "  \"algorithm\": \"%s\",\n  \"contention\": \"%s\",\n  \"totals\": {",
                  VERSION, (int)getpid(), facts->algorithm, facts->contention);
    write_json_counts(report, &sums->total);
    report_format(report, "},\n  \"transactions\": [");
    for (size_t i = 0; i < sums->count; i++) {
        report_format(report, "%s\n    {", i == 0 ? "" : ",");
        write_json_place(report, "begin", sums->rows[i].begin);
        report_format(report, ", ");
        write_json_counts(report, &sums->rows[i]);
        report_format(report, "}");
    }
    report_format(report, "\n  ],\n  \"switches\": [");
    for (size_t i = 0; i < sums->switches; i++) {
        const struct statistics_switch *entry = &sums->switch_rows[i];

        report_format(report, "%s\n    {\"count\": %lu, ", i == 0 ? "" : ",", entry->count);
        write_json_place(report, "begin", entry->begin);
        report_format(report, ", ");
        write_json_place(report, "called",
                         entry->function == NULL ? NULL : (const char *)entry->function + 1);
        report_format(report, ", \"frames\": [");
        for (int frame = 0; frame < STATISTICS_FRAMES && entry->frames[frame] != NULL; frame++) {
            report_format(report, "%s{", frame == 0 ? "" : ", ");
            write_json_place(report, "call", entry->frames[frame]);
            report_format(report, "}");
        }
        report_format(report, "]}");
    }
    report_format(report, "\n  ],\n  \"dropped_switches\": %lu\n}\n", sums->switches_dropped);
}

void report_write(struct report *report, const struct report_facts *facts)
{
    struct sums *sums = pages_map(sizeof *sums, 0);

    if (sums == NULL) {
        report_format(report, "mplace: libtm_runtime: no memory for the report\n");
        return;
    }
    add_up(sums);
    if (facts->is_json)
        write_json(report, sums, facts);
    else
        write_text(report, sums, facts);
    pages_unmap(sums, sizeof *sums);
}
