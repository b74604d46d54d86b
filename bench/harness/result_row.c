/*
 * SPDX-License-Identifier: MIT
 *
 * The result row; see result_row.h. Header and row come from one table: they cannot drift apart.
 */
#include "harness/result_row.h"

#include <inttypes.h>
#include <string.h>

enum column_kind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_RATE, COLUMN_LOCK };

struct value {
    const char *text;
    uint64_t number;
};

/* X(column, kind, text, number): one of the last two applies, by kind. */
#define COLUMNS(X)                                                                                 \
    X("bench", COLUMN_TEXT, row->bench, 0)                                                         \
    X("malloc", COLUMN_TEXT, row->labels->malloc, 0)                                               \
    X("lock", COLUMN_TEXT, row->labels->lock, 0)                                                   \
    X("htm", COLUMN_TEXT, row->labels->htm, 0)                                                     \
    X("size", COLUMN_NUMBER, NULL, row->size)                                                      \
    X("nodes", COLUMN_NUMBER, NULL, row->nodes)                                                    \
    X("threads", COLUMN_NUMBER, NULL, row->threads)                                                \
    X("seed", COLUMN_NUMBER, NULL, row->seed)                                                      \
    X("rate", COLUMN_RATE, NULL, 0)                                                                \
    X("unit", COLUMN_TEXT, row->unit, 0)                                                           \
    X("sets_used", COLUMN_NUMBER, NULL, row->histogram->sets_used)                                 \
    X("max_per_set", COLUMN_NUMBER, NULL, row->histogram->max_per_set)                             \
    X("acquisitions", COLUMN_LOCK, NULL, lock->acquisitions)                                       \
    X("slow_path", COLUMN_LOCK, NULL, lock->slow_path)                                             \
    X("tx_started", COLUMN_LOCK, NULL, lock->tx_started)                                           \
    X("tx_committed", COLUMN_LOCK, NULL, lock->tx_committed)                                       \
    X("abort_conflict", COLUMN_LOCK, NULL, lock->abort_conflict)                                   \
    X("abort_capacity", COLUMN_LOCK, NULL, lock->abort_capacity)                                   \
    X("abort_explicit", COLUMN_LOCK, NULL, lock->abort_explicit)                                   \
    X("abort_other", COLUMN_LOCK, NULL, other_aborts(lock))                                        \
    X("host", COLUMN_TEXT, row->machine->host, 0)                                                  \
    X("cpu", COLUMN_TEXT, row->machine->cpu, 0)                                                    \
    X("date", COLUMN_TEXT, row->machine->date, 0)                                                  \
    X("policy", COLUMN_TEXT, row->labels->policy, 0)                                               \
    X("wait", COLUMN_TEXT, row->labels->wait, 0)                                                   \
    X("pinned", COLUMN_TEXT, row->machine->pinned, 0)                                              \
    X("counters", COLUMN_TEXT, row->counters, 0)

/* The row has no column for nested and debug aborts: with them here the aborts add up. */
static uint64_t other_aborts(const struct mplace_lock_statistics *lock)
{
    return lock->abort_nested + lock->abort_debug + lock->abort_other;
}

void result_row_header(FILE *stream)
{
    const char *separator = "";

#define NAME(column, kind, text, number)                                                           \
    fprintf(stream, "%s%s", separator, column);                                                    \
    separator = ",";
    COLUMNS(NAME)
#undef NAME
    putc('\n', stream);
}

static void put_text(const char *text, FILE *stream)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, stream);
        return;
    }
    putc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text, stream);
    }
    putc('"', stream);
}

static void put_column(const struct result_row *row, enum column_kind kind, struct value value,
                       FILE *stream)
{
    switch (kind) {
    case COLUMN_TEXT:
        put_text(value.text, stream);
        break;
    case COLUMN_NUMBER:
        fprintf(stream, "%" PRIu64, value.number);
        break;
    case COLUMN_RATE:
        if (!row->labels->time_is_meaningless)
            fprintf(stream, "%.1f", row->rate);
        break;
    case COLUMN_LOCK:
        if (row->interval->has_lock_statistics)
            fprintf(stream, "%" PRIu64, value.number);
        break;
    }
}

void result_row_csv(const struct result_row *row, FILE *stream)
{
    const struct mplace_lock_statistics *lock = &row->interval->lock_statistics;
    const char *separator = "";

#define FIELD(column, kind, text, number)                                                          \
    fputs(separator, stream);                                                                      \
    put_column(row, kind, (struct value){text, number}, stream);                                   \
    separator = ",";
    COLUMNS(FIELD)
#undef FIELD
    putc('\n', stream);
}

void result_row_text(const struct result_row *row, FILE *stream)
{
    const struct labels *labels = row->labels;
    const struct machine *machine = row->machine;
    const struct l1d_geometry *l1d = &row->histogram->geometry;
    const struct mplace_lock_statistics *lock = &row->interval->lock_statistics;

    fprintf(
        stream, "%s: %" PRIu64 " nodes of %" PRIu64 " B, %" PRIu64 " thread%s, seed %" PRIu64 "\n",
        row->bench, row->nodes, row->size, row->threads, row->threads == 1 ? "" : "s", row->seed);
    fprintf(stream, "  malloc        %s\n", labels->malloc);
    fprintf(stream, "  lock          %s%s%s%s%s\n", labels->lock,
            *labels->wait != '\0' ? ", wait " : "", labels->wait,
            *labels->policy != '\0' ? ", policy " : "", labels->policy);
    fprintf(stream, "  htm           %s\n", labels->htm);
    if (labels->time_is_meaningless)
        fprintf(stream, "  rate          none: times mean nothing under emulation\n");
    else
        fprintf(stream, "  rate          %.0f %s\n", row->rate, row->unit);
    fprintf(stream, "  L1D sets      %u of %u used, at most %u node%s in one (%u ways)\n",
            row->histogram->sets_used, l1d->sets, row->histogram->max_per_set,
            row->histogram->max_per_set == 1 ? "" : "s", l1d->ways);
    if (row->interval->has_lock_statistics) {
        fprintf(stream, "  acquisitions  %" PRIu64 ", %" PRIu64 " of them on the slow path\n",
                lock->acquisitions, lock->slow_path);
        fprintf(stream,
                "  transactions  %" PRIu64 " started, %" PRIu64 " committed; aborts: %" PRIu64
                " conflict, %" PRIu64 " capacity, %" PRIu64 " explicit, %" PRIu64 " other\n",
                lock->tx_started, lock->tx_committed, lock->abort_conflict, lock->abort_capacity,
                lock->abort_explicit, other_aborts(lock));
    }
    if (*row->counters != '\0')
        fprintf(stream, "  counters      %s\n", row->counters);
    fprintf(stream, "  measured on   %s, %s, %s%s%s\n", machine->host, machine->cpu, machine->date,
            *machine->pinned != '\0' ? ", pinned to CPU " : "", machine->pinned);
}
