/*
 * SPDX-License-Identifier: MIT
 *
 * See statistics.h.
 */
#include "tm_runtime/statistics/statistics.h"

#include "base/pages.h"

#include <execinfo.h>
#include <string.h>

bool statistics_wanted;

static struct statistics_table *tables;

/* The bounds of this library's code, whose frames the report leaves out. Defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[];

/* backtrace loads libgcc_s and allocates when it is called first: now, and not in a transaction. */
void statistics_start(void)
{
    void *frame;

    (void)backtrace(&frame, 1);
    statistics_wanted = true;
}

struct statistics_table *statistics_table_of(struct statistics_table *old)
{
    struct statistics_table *table;

    if (!statistics_wanted || old != NULL)
        return old;
    table = pages_map(sizeof *table, 0);
    if (table == NULL)
        return NULL;
    table->next = __atomic_load_n(&tables, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&tables, &table->next, table, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return table;
}

const struct statistics_table *statistics_first(void)
{
    return __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
}

/* The child counts from zero: its own transactions, in its own report. */
void statistics_after_fork_in_child(void)
{
    for (struct statistics_table *table = tables; table != NULL; table = table->next) {
        for (size_t i = 0; i < STATISTICS_ROWS; i++) {
            const void *begin = table->rows[i].begin;

            memset(&table->rows[i], 0, sizeof table->rows[i]);
            table->rows[i].begin = begin;
        }
        table->switches_used = 0;
        table->switches_dropped = 0;
    }
}

void statistics_row_of(struct tm_thread *self, const void *begin)
{
    struct statistics_row *rows = self->statistics->rows;
    size_t at = (size_t)((uint64_t)(uintptr_t)begin * 0x9e3779b97f4a7c15u >> 40);

    for (size_t look = 0; look < STATISTICS_ROWS - 1; look++) {
        struct statistics_row *row = &rows[(at + look) % (STATISTICS_ROWS - 1)];

        if (row->begin == NULL)
            __atomic_store_n(&row->begin, begin, __ATOMIC_RELAXED);
        if (row->begin == begin) {
            self->row = row;
            return;
        }
    }
    self->row = &rows[STATISTICS_ROWS - 1];
}

static bool is_ours(const void *address)
{
    return (const char *)address >= __ehdr_start && (const char *)address < etext;
}

/* Return addresses of the program's frames, innermost first. */
static void find_frames(const void *frames[STATISTICS_FRAMES])
{
    void *all[STATISTICS_FRAMES + 8];
    int count = backtrace(all, STATISTICS_FRAMES + 8);
    int used = 0;

    memset(frames, 0, STATISTICS_FRAMES * sizeof *frames);
    for (int i = 0; i < count && used < STATISTICS_FRAMES; i++) {
        if (used > 0 || !is_ours(all[i]))
            frames[used++] = all[i];
    }
}

void statistics_record_switch(struct tm_thread *self)
{
    struct statistics_table *table = self->statistics;
    struct statistics_switch found = {.begin = self->row->begin, .function = self->unsafe_function};
    uint32_t at;

    self->unsafe_function = NULL;
    find_frames(found.frames);
    for (at = 0; at < table->switches_used; at++) {
        struct statistics_switch *known = &table->switches[at];

        if (known->begin == found.begin && known->function == found.function &&
            memcmp(known->frames, found.frames, sizeof found.frames) == 0) {
            statistics_add(&known->count);
            return;
        }
    }
    if (at == STATISTICS_SWITCHES) {
        statistics_add(&table->switches_dropped);
        return;
    }
    found.count = 1;
    table->switches[at] = found;
    /* Release: with it, the entry, for the report. */
    __atomic_store_n(&table->switches_used, at + 1, __ATOMIC_RELEASE);
}
