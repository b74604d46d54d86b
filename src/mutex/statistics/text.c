/*
 * SPDX-License-Identifier: MIT
 *
 * The report as text; see output.h. One column of totals, then one line a lock.
 */
#include "base/code/code_location.h"
#include "mutex/statistics/output.h"

#include <string.h>

struct number {
    char text[32];
};

/* value / 10^decimals, with that many digits after the point. */
static struct number decimal(uint64_t value, unsigned decimals)
{
    struct number number;
    char digits[32];
    size_t count = 0;
    size_t length = 0;

    while (value != 0 || count <= decimals) {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    }
    while (count != 0) {
        if (count == decimals)
            number.text[length++] = '.';
        number.text[length++] = digits[--count];
    }
    number.text[length] = '\0';
    return number;
}

static struct number milliseconds(uint64_t nanoseconds)
{
    return decimal((nanoseconds + 500) / 1000, 3);
}

/* Percent with one decimal; a dash of nothing. */
static struct number percent(uint64_t n, uint64_t all)
{
    if (all == 0)
        return (struct number){.text = "-"};
    return decimal((lock_ranking_share(n, all) + 5) / 10, 1);
}

/* A file or function name may hold any byte; a terminal gets none that it would obey. */
static void write_name(struct report *report, const char *name)
{
    for (; *name != '\0'; name++)
        report_format(report, "%c", (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void write_caller(struct report *report, const void *caller)
{
    static struct code_location location;

    code_location_of_call(caller, &location);
    switch (location.kind) {
    case CODE_IN_FUNCTION:
        write_name(report, location.function);
        report_format(report, "+0x%lx (", location.function_offset);
        write_name(report, base_name(location.file));
        report_format(report, ")\n");
        return;
    case CODE_IN_FILE:
        write_name(report, location.file);
        report_format(report, "+0x%lx\n", location.offset);
        return;
    case CODE_WITHOUT_FILE:
        report_format(report, "%p (code without a file)\n", caller);
        return;
    case CODE_UNMAPPED:
        report_format(report, "%p (code that was unloaded)\n", caller);
        return;
    case CODE_UNKNOWN:
        break;
    }
    report_format(report, "%p (no /proc to look it up in)\n", caller);
}

/* ---- totals ---- */

static void write_total(struct report *report, const char *name, uint64_t value)
{
    report_format(report, "  %-19s%14lu\n", name, value);
}

static void write_total_of(struct report *report, const char *name, uint64_t value,
                           const char *of_what, uint64_t all)
{
    report_format(report, "  %-19s%14lu", name, value);
    if (all != 0)
        report_format(report, "  %6s %% of %s", percent(value, all).text, of_what);
    report_format(report, "\n");
}

static void write_aborts(struct report *report, const struct lock_row *total)
{
    static const char *const names[ABORT_CAUSES] = {
        [ABORT_CONFLICT] = "aborts: conflict", [ABORT_CAPACITY] = "        capacity",
        [ABORT_EXPLICIT] = "        explicit", [ABORT_NESTED] = "        nested",
        [ABORT_DEBUG] = "        debug",       [ABORT_OTHER] = "        other",
    };

    for (int cause = 0; cause < ABORT_CAUSES; cause++)
        write_total_of(report, names[cause], total->counts[COUNT_FIRST_ABORT + cause], "aborts",
                       lock_row_aborts(total));
}

static void write_totals(struct report *report, const struct statistics_facts *facts)
{
    const struct lock_row *total = &facts->ranking->total;
    uint64_t acquisitions = lock_row_acquisitions(total);
    uint64_t started = total->counts[COUNT_COMMITTED] + lock_row_aborts(total);

    write_total(report, "acquisitions", acquisitions);
    write_total_of(report, "slow path", total->counts[COUNT_PHYSICAL], "acquisitions",
                   acquisitions);
    write_total_of(report, "waits", total->counts[COUNT_WAITS], "acquisitions", acquisitions);
    report_format(report, "  %-19s%14s ms\n", "wait time",
                  milliseconds(total->counts[COUNT_WAIT_NS]).text);
    report_format(report, "  %-19s%14s ms\n", "longest wait",
                  milliseconds(total->longest_wait_ns).text);
    if (facts->policy == NULL)
        return;
    write_total(report, "tx started", started);
    if (started == 0)
        return;
    write_total_of(report, "tx committed", total->counts[COUNT_COMMITTED], "those started",
                   started);
    write_aborts(report, total);
}

/* ---- locks ---- */

static void write_columns(struct report *report, bool elides)
{
    report_format(report, "  %11s %5s %9s %12s %10s", "wait ms", "%", "waits", "acquisitions",
                  "longest ms");
    if (elides)
        report_format(report, " %8s %9s %5s %9s %9s %9s %9s", "elided %", "aborts", "%", "conflict",
                      "capacity", "explicit", "other");
    report_format(report, "  %-6s  %-14s  first locked by\n", "kind", "lock");
}

static void write_counts(struct report *report, const struct lock_row *row,
                         const struct lock_row *total, bool elides)
{
    uint64_t acquisitions = lock_row_acquisitions(row);
    uint64_t aborts = lock_row_aborts(row);
    const uint64_t *by_cause = &row->counts[COUNT_FIRST_ABORT];

    report_format(report, "  %11s %5s %9lu %12lu", milliseconds(row->counts[COUNT_WAIT_NS]).text,
                  percent(row->counts[COUNT_WAIT_NS], total->counts[COUNT_WAIT_NS]).text,
                  row->counts[COUNT_WAITS], acquisitions);
    report_format(report, " %10s",
                  row->lock != NULL ? milliseconds(row->longest_wait_ns).text : "");
    if (elides)
        report_format(report, " %8s %9lu %5s %9lu %9lu %9lu %9lu",
                      percent(acquisitions - row->counts[COUNT_PHYSICAL], acquisitions).text,
                      aborts, percent(aborts, lock_row_aborts(total)).text,
                      by_cause[ABORT_CONFLICT], by_cause[ABORT_CAPACITY], by_cause[ABORT_EXPLICIT],
                      by_cause[ABORT_NESTED] + by_cause[ABORT_DEBUG] + by_cause[ABORT_OTHER]);
}

static void write_locks(struct report *report, const struct statistics_facts *facts)
{
    const struct lock_ranking *ranking = facts->ranking;
    bool elides = ranking->total.counts[COUNT_COMMITTED] + lock_row_aborts(&ranking->total) != 0;

    if (facts->wanted == 0)
        return;
    if (!ranking->merged) {
        report_format(report, "  no memory to sum up by lock\n");
        return;
    }
    if (ranking->count == 0)
        return;
    report_format(report, "  %s %u of %s%lu locks, by %s:\n",
                  ranking->count < ranking->locks ? "the first" : "all", ranking->count,
                  ranking->dropped_rows != 0 ? "more than " : "", ranking->locks,
                  elides ? "the larger of their shares of all waiting and of all aborts"
                         : "their share of all waiting");
    write_columns(report, elides);
    for (unsigned i = 0; i < ranking->count; i++) {
        write_counts(report, &ranking->top[i], &ranking->total, elides);
        report_format(report, "  %-6s  %14p  ", lock_kind_name(lock_key_kind(ranking->top[i].lock)),
                      lock_key_address(ranking->top[i].lock));
        write_caller(report, ranking->top[i].first_caller);
    }
    if (lock_row_acquisitions(&ranking->others) != 0 || lock_row_aborts(&ranking->others) != 0 ||
        ranking->others.counts[COUNT_WAITS] != 0) {
        write_counts(report, &ranking->others, &ranking->total, elides);
        report_format(report, "  all others\n");
    }
}

static void write_limits(struct report *report, const struct statistics_facts *facts)
{
    const struct lock_ranking *ranking = facts->ranking;

    if (ranking->unattributed != 0)
        report_format(report, "  %lu acquisitions are in \"all others\" without their lock: %s\n",
                      ranking->unattributed,
                      ranking->dropped_rows != 0
                          ? "a thread keeps count of 1023 locks and met more"
                          : "more than 8 locks in one transaction, or counting began inside it");
    if (facts->uncounted != 0)
        report_format(report,
                      "  %lu lock operations were not counted: no memory for a table, or a signal "
                      "handler locked while its thread emptied its own\n",
                      facts->uncounted);
}

void statistics_write_text(struct report *report, const struct statistics_facts *facts)
{
    report_format(report, "mplace: locks of process %d under %s\n", facts->process, facts->library);
    report_format(report, "  htm                %s\n", facts->htm);
    if (facts->policy != NULL)
        report_format(report, "  policy             %s\n", facts->policy);
    report_format(report, "  wait               %s\n", facts->wait);
    write_totals(report, facts);
    write_locks(report, facts);
    write_limits(report, facts);
}
