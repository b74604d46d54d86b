/*
 * SPDX-License-Identifier: MIT
 *
 * See prometheus.h. A name ends in its unit, bytes or seconds; a counter's in "_total".
 */
#include "stats_reader/prometheus.h"

#include "base/text/utf8.h"

#include <inttypes.h>
#include <string.h>

/* ---- the format ---- */

static void write_head(FILE *out, const char *prefix, const char *name, bool counts,
                       const char *help)
{
    (void)fprintf(out, "# HELP mplace_%s%s %s\n# TYPE mplace_%s%s %s\n", prefix, name, help, prefix,
                  name, counts ? "counter" : "gauge");
}

/* Backslash, quote and line feed are escaped; what is no UTF-8 becomes U+FFFD, a byte each. */
static void write_label(FILE *out, char before, const char *name, const char *value)
{
    (void)fprintf(out, "%c%s=\"", before, name);
    for (const char *at = value; *at != '\0';) {
        unsigned length = utf8_length((const unsigned char *)at);

        if (*at == '\n')
            (void)fputs("\\n", out);
        else if (*at == '\\' || *at == '"')
            (void)fprintf(out, "\\%c", *at);
        else if (length == 0)
            (void)fputs("\xef\xbf\xbd", out);
        else
            (void)fwrite(at, 1, length, out);
        at += length != 0 ? length : 1;
    }
    (void)fputc('"', out);
}

/* The name of a sample and the labels that all have; more labels may follow, then write_value. */
static void begin(FILE *out, const char *prefix, const char *name,
                  const struct shown_process *shown)
{
    char process[16];

    (void)snprintf(process, sizeof process, "%d", shown->process);
    (void)fprintf(out, "mplace_%s%s", prefix, name);
    write_label(out, '{', "process", process);
    write_label(out, ',', "program", shown->program);
}

static void write_value(FILE *out, uint64_t value)
{
    (void)fprintf(out, "} %" PRIu64 "\n", value);
}

static void write_seconds(FILE *out, uint64_t nanoseconds)
{
    (void)fprintf(out, "} %" PRIu64 ".%09" PRIu64 "\n", nanoseconds / 1000000000,
                  nanoseconds % 1000000000);
}

/* ---- the allocator ---- */

static void write_figure(FILE *out, const struct cia_figure *figure,
                         struct shown_process *const *processes, unsigned count)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s%s", figure->key, figure->counts ? "_total" : "");
    write_head(out, "malloc_", name, figure->counts, figure->help);
    for (unsigned i = 0; i < count; i++) {
        const struct look *look = &processes[i]->look;

        if (!look->has_cia)
            continue;
        begin(out, "malloc_", name, processes[i]);
        write_value(out, cia_figure_value(figure, &look->cia.totals));
    }
}

static const struct class_metric {
    const char *name, *help;
    bool counts;
    size_t offset; /* of its field in struct class_totals */
} class_metrics[] = {
    {"served_total", "Blocks of the class ever handed out.", true,
     offsetof(struct class_totals, allocations)},
    {"live_blocks", "Blocks of the class that the program has.", false,
     offsetof(struct class_totals, live)},
    {"free_blocks", "Blocks of the class that wait for the next malloc.", false,
     offsetof(struct class_totals, free)},
};

static void write_classes(FILE *out, const struct class_metric *metric,
                          const struct shown_process *shown)
{
    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        const struct class_totals *class = &shown->look.cia.classes[i];
        uint64_t value;
        char bytes[16];

        if (class->allocations == 0)
            continue;
        (void)snprintf(bytes, sizeof bytes, "%zu", size_class_bytes(i));
        begin(out, "malloc_class_", metric->name, shown);
        write_label(out, ',', "block_bytes", bytes);
        memcpy(&value, (const char *)class + metric->offset, sizeof value);
        write_value(out, value);
    }
}

/* ---- locks, all together and one by one ---- */

static uint64_t slow_of(const struct lock_row *row)
{
    return row->counts[COUNT_PHYSICAL];
}

static uint64_t nested_of(const struct lock_row *row)
{
    return row->counts[COUNT_NESTED];
}

static uint64_t waits_of(const struct lock_row *row)
{
    return row->counts[COUNT_WAITS];
}

static uint64_t wait_time_of(const struct lock_row *row)
{
    return row->counts[COUNT_WAIT_NS];
}

static uint64_t longest_of(const struct lock_row *row)
{
    return row->longest_wait_ns;
}

static uint64_t committed_of(const struct lock_row *row)
{
    return row->counts[COUNT_COMMITTED];
}

static uint64_t started_of(const struct lock_row *row)
{
    return row->counts[COUNT_COMMITTED] + lock_row_aborts(row);
}

static const struct lock_metric {
    const char *name, *help;
    bool counts, is_time;
    uint64_t (*value)(const struct lock_row *row);
} lock_metrics[] = {
    {"acquisitions_total", "Successful locks of any kind, elided ones included.", true, false,
     lock_row_acquisitions},
    {"slow_path_total", "Acquisitions that took the lock word.", true, false, slow_of},
    {"elided_nested_total", "Sections elided inside another lock's transaction.", true, false,
     nested_of},
    {"waits_total", "Acquisitions that could not be had at once.", true, false, waits_of},
    {"wait_seconds_total", "Time that all threads waited.", true, true, wait_time_of},
    {"longest_wait_seconds", "The longest wait.", false, true, longest_of},
    {"transactions_started_total", "Outermost transactions begun.", true, false, started_of},
    {"transactions_committed_total", "Outermost transactions committed.", true, false,
     committed_of},
};

/* number: of a lock in top; below 0 the sum of all. */
static void begin_lock(FILE *out, const char *prefix, const char *name,
                       const struct shown_process *shown, int number)
{
    char address[24];

    begin(out, prefix, name, shown);
    if (number < 0)
        return;
    const struct lock_row *row = &shown->look.locks.ranking.top[number];
    (void)snprintf(address, sizeof address, "%p", lock_key_address(row->lock));
    write_label(out, ',', "lock", address);
    write_label(out, ',', "kind", lock_kind_name(lock_key_kind(row->lock)));
    write_label(out, ',', "first_locked_by", shown->places[number]);
}

static void write_lock(FILE *out, const char *prefix, const struct lock_metric *metric,
                       const struct shown_process *shown, int number, const struct lock_row *row)
{
    begin_lock(out, prefix, metric->name, shown, number);
    (metric->is_time ? write_seconds : write_value)(out, metric->value(row));
}

static void write_aborts(FILE *out, const char *prefix, const struct shown_process *shown,
                         int number, const struct lock_row *row)
{
    for (int cause = 0; cause < ABORT_CAUSES; cause++) {
        begin_lock(out, prefix, "aborts_total", shown, number);
        write_label(out, ',', "cause", abort_cause_name(cause));
        write_value(out, row->counts[COUNT_FIRST_ABORT + cause]);
    }
}

/* metric: NULL for aborts by cause. */
static void write_locks(FILE *out, const char *prefix, const struct lock_metric *metric, bool each,
                        struct shown_process *const *processes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct lock_ranking *ranking = &processes[i]->look.locks.ranking;
        int first = each ? 0 : -1;
        int last = each ? (int)ranking->count : 0;

        for (int number = first; processes[i]->look.has_locks && number < last; number++) {
            const struct lock_row *row = number < 0 ? &ranking->total : &ranking->top[number];

            if (metric != NULL)
                write_lock(out, prefix, metric, processes[i], number, row);
            else
                write_aborts(out, prefix, processes[i], number, row);
        }
    }
}

static void write_all_locks(FILE *out, const char *prefix, bool each,
                            struct shown_process *const *processes, unsigned count)
{
    for (unsigned m = 0; m < sizeof lock_metrics / sizeof lock_metrics[0]; m++) {
        write_head(out, prefix, lock_metrics[m].name, lock_metrics[m].counts, lock_metrics[m].help);
        write_locks(out, prefix, &lock_metrics[m], each, processes, count);
    }
    write_head(out, prefix, "aborts_total", true, "Transactions ended by an abort, by cause.");
    write_locks(out, prefix, NULL, each, processes, count);
}

/* ---- all of it ---- */

static bool any_has(struct shown_process *const *processes, unsigned count, bool locks)
{
    for (unsigned i = 0; i < count; i++) {
        if (locks ? processes[i]->look.has_locks : processes[i]->look.has_cia)
            return true;
    }
    return false;
}

static bool any_lock_is_shown(struct shown_process *const *processes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (processes[i]->look.has_locks && processes[i]->look.locks.ranking.count > 0)
            return true;
    }
    return false;
}

static void write_facts(FILE *out, struct shown_process *const *processes, unsigned count)
{
    write_head(out, "lock_", "info", false, "How the lock library works; always 1.");
    for (unsigned i = 0; i < count; i++) {
        const struct statistics_facts *facts = &processes[i]->look.locks.facts;

        if (!processes[i]->look.has_locks)
            continue;
        begin(out, "lock_", "info", processes[i]);
        write_label(out, ',', "library", facts->library);
        write_label(out, ',', "htm", facts->htm);
        write_label(out, ',', "policy", facts->policy != NULL ? facts->policy : "");
        write_label(out, ',', "wait", facts->wait);
        write_value(out, 1);
    }
}

void prometheus_write(FILE *out, struct shown_process *const *processes, unsigned count)
{
    write_head(out, "", "processes", false, "Processes whose figures follow.");
    (void)fprintf(out, "mplace_processes %u\n", count);
    if (any_has(processes, count, false)) {
        for (unsigned i = 0; i < CIA_FIGURES; i++)
            write_figure(out, &cia_figures[i], processes, count);
        for (unsigned m = 0; m < sizeof class_metrics / sizeof class_metrics[0]; m++) {
            write_head(out, "malloc_class_", class_metrics[m].name, class_metrics[m].counts,
                       class_metrics[m].help);
            for (unsigned i = 0; i < count; i++) {
                if (processes[i]->look.has_cia)
                    write_classes(out, &class_metrics[m], processes[i]);
            }
        }
    }
    if (any_has(processes, count, true)) {
        write_facts(out, processes, count);
        write_all_locks(out, "lock_", false, processes, count);
    }
    if (any_lock_is_shown(processes, count))
        write_all_locks(out, "single_lock_", true, processes, count);
}
