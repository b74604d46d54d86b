/*
 * SPDX-License-Identifier: MIT
 *
 * The lock counts of another process: copies of its threads' tables, given to the lock libraries'
 * own ranking in place of their pool.
 */
#include "mutex/statistics/lock_table_pool.h"
#include "stats_reader/reader.h"

#include <stdlib.h>
#include <string.h>

/* More tables than threads ever were at one time, and more bytes of them: what leads on from there
   is no list, or a process that wants its reader to run out of memory. */
enum { TABLES_MOST = 1 << 15, COPIES_MOST = 256 << 20 };

/* Copies of the present look, newest first. Only the rows that are in use are there. */
static struct lock_table *copies;

struct lock_table *lock_table_first(void)
{
    return copies;
}

struct lock_table *lock_table_after(const struct lock_table *table)
{
    return table->next;
}

static void drop_copies(void)
{
    while (copies != NULL) {
        struct lock_table *next = copies->next;

        free(copies);
        copies = next;
    }
}

/* *address is moved on to the next table. NULL: it is not there, or there is no memory. */
static struct lock_table *copy_table(const struct target *target, uint64_t *address)
{
    const size_t head_bytes = offsetof(struct lock_table, rows);
    static struct lock_table head;
    struct lock_table *table;
    unsigned used;

    if (!target_read(target, *address, &head, head_bytes))
        return NULL;
    used = head.used < LOCK_TABLE_ROWS ? head.used : LOCK_TABLE_ROWS;
    table = aligned_alloc(_Alignof(struct lock_table), head_bytes + used * sizeof table->rows[0]);
    if (table == NULL)
        return NULL;
    memcpy(table, &head, head_bytes);
    table->used = used;
    if (!target_read(target, *address + head_bytes, table->rows, used * sizeof table->rows[0])) {
        free(table);
        return NULL;
    }
    *address = (uintptr_t)head.next;
    return table;
}

static void copy_tables(const struct target *target, uint64_t address)
{
    struct lock_table **last = &copies;
    size_t bytes = 0;

    drop_copies();
    for (int count = 0; count < TABLES_MOST && bytes < COPIES_MOST && address != 0; count++) {
        struct lock_table *table = copy_table(target, &address);

        if (table == NULL)
            return;
        bytes += offsetof(struct lock_table, rows) + table->used * sizeof table->rows[0];
        table->next = NULL;
        *last = table;
        last = &table->next;
    }
}

bool read_locks(const struct target *target, uint64_t page, int most, struct lock_report *report)
{
    struct live_locks *live = &report->live;

    if (!target_read(target, page, live, sizeof *live))
        return false;
    target_clean_text(live->header.library, sizeof live->header.library);
    target_clean_text(live->htm, sizeof live->htm);
    target_clean_text(live->policy, sizeof live->policy);
    target_clean_text(live->wait, sizeof live->wait);
    report->facts = (struct statistics_facts){
        .process = (int)target->process,
        .library = live->header.library,
        .htm = live->htm,
        .policy = live->policy[0] != '\0' ? live->policy : NULL,
        .wait = live->wait,
        .wanted = (unsigned)(most >= 0 ? (uint64_t)most : live->wanted),
        .uncounted = target_read_u64(target, live->uncounted),
        .ranking = &report->ranking,
    };
    if (report->facts.wanted > LOCK_RANKING_MOST)
        report->facts.wanted = LOCK_RANKING_MOST;
    /* The tables after the epoch: after a reset, those of the old one do not count. */
    uint32_t epoch = target_read_u32(target, live->epoch);
    copy_tables(target, target_read_u64(target, live->tables));
    lock_ranking_make(&report->ranking, report->facts.wanted, epoch);
    return true;
}
