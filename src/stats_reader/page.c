/*
 * SPDX-License-Identifier: MIT
 *
 * See page.h. A rate is what happened a second, a change what is more than at the look before.
 */
#include "stats_reader/page.h"

#include "stats_reader/place.h"
#include "stats_reader/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- lines ---- */

static void put(struct page *page, const char *text, size_t length)
{
    if (page->length + length > sizeof page->text)
        return;
    memcpy(page->text + page->length, text, length);
    page->length += length;
}

void page_begin(struct page *page, bool is_screen, int rows, int columns)
{
    page->is_screen = is_screen;
    page->rows = rows;
    page->columns = columns < PAGE_COLUMNS_MOST ? columns : PAGE_COLUMNS_MOST;
    page->row = 0;
    page->length = 0;
    if (is_screen)
        put(page, "\033[H", 3);
}

void page_line(struct page *page, const char *format, ...)
{
    char line[PAGE_COLUMNS_MOST + 1];
    va_list arguments;
    int length;

    if (page->is_screen && page->row >= page->rows)
        return;
    va_start(arguments, format);
    length = vsnprintf(line, (size_t)page->columns + 1, format, arguments);
    va_end(arguments);
    length = length < 0 ? 0 : length > page->columns ? page->columns : length;
    for (int i = 0; i < length; i++) {
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
    }
    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (page->is_screen && page->row > 0)
        put(page, "\r\n", 2);
    put(page, line, (size_t)length);
    /* Behind a full line the cursor is still on its last column. */
    if (page->is_screen && length < page->columns)
        put(page, "\033[K", 3);
    if (!page->is_screen)
        put(page, "\n", 1);
    page->row++;
}

void page_end(struct page *page)
{
    if (page->is_screen && page->row < page->rows)
        put(page, "\r\n\033[J", 5);
    if (!page->is_screen)
        put(page, "\n", 1);
}

/* ---- rates ---- */

enum { UNKNOWN = -1 };

static struct units rate_text(double rate)
{
    return rate < 0 ? (struct units){"-"} : units_count(rate);
}

static struct units time_text(double rate)
{
    return rate < 0 ? (struct units){"-"} : units_time(rate);
}

/* Counts are read while the process works: one that seems to have gone back stood still. */
static double rate_of(uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

static double change_of(uint64_t now, uint64_t before)
{
    return now >= before ? (double)(now - before) : -(double)(before - now);
}

/* ---- classes ---- */

struct class_line {
    size_t block_bytes;
    uint64_t live, free;
    double live_bytes, change, rate;
};

/* The columns by which both tables can be sorted, in this order. */
static const char *const order_names[PAGE_ORDERS] = {"rate", "live bytes and time waited",
                                                     "change and waits", "block and aborts"};

/* What a line has in those columns: the largest comes first. */
struct sort_keys {
    double of[PAGE_ORDERS];
};

static int sorted_by;

/* What is sorted by is 0 for most lines: then those come first where something happens, by rate,
 * and then by change and waits. */
static int compare_keys(struct sort_keys left, struct sort_keys right)
{
    const int in_turn[] = {sorted_by, 0, 2, 1, 3};

    for (size_t i = 0; i < sizeof in_turn / sizeof in_turn[0]; i++) {
        double a = left.of[in_turn[i]], b = right.of[in_turn[i]];

        if (a != b)
            return a < b ? 1 : -1;
    }
    return 0;
}

static struct sort_keys class_keys(const struct class_line *line)
{
    double change = line->change < 0 ? -line->change : line->change;

    /* The shortest block first. */
    return (struct sort_keys){{line->rate, line->live_bytes, change, -(double)line->block_bytes}};
}

static int compare_classes(const void *left, const void *right)
{
    return compare_keys(class_keys(left), class_keys(right));
}

static int find_classes(struct class_line *lines, const struct look *now, const struct look *before,
                        double seconds)
{
    int count = 0;

    for (unsigned i = 0; i < SIZE_CLASS_COUNT; i++) {
        const struct class_totals *class = &now->cia.classes[i];
        const struct class_totals *was = before != NULL ? &before->cia.classes[i] : class;
        size_t bytes = size_class_bytes(i);

        if (class->allocations == 0)
            continue;
        lines[count++] = (struct class_line){
            .block_bytes = bytes,
            .live = class->live,
            .free = class->free,
            .live_bytes = (double)(class->live * bytes),
            .change = change_of(class->live, was->live) * (double)bytes,
            .rate =
                before != NULL ? rate_of(class->allocations, was->allocations, seconds) : UNKNOWN,
        };
    }
    qsort(lines, (size_t)count, sizeof lines[0], compare_classes);
    return count;
}

static const char *mark(int order, int column)
{
    return order == column ? "*" : "";
}

/* The title of a column that the order may mark. */
struct title {
    char text[24];
};

static struct title title_of(const char *name, int order, int column)
{
    struct title title;

    (void)snprintf(title.text, sizeof title.text, "%s%s", mark(order, column), name);
    return title;
}

static void write_classes(struct page *page, const struct class_line *lines, int count, int order)
{
    page_line(page, "%10s %12s %12s %12s %10s %10s", title_of("BLOCK", order, 3).text,
              title_of("ALLOCS/S", order, 0).text, title_of("LIVE BYTES", order, 1).text,
              title_of("CHANGE", order, 2).text, "LIVE", "FREE");
    for (int i = 0; i < count; i++) {
        const struct class_line *line = &lines[i];

        page_line(page, "%8zu B %12s %12s %12s %10s %10s", line->block_bytes,
                  rate_text(line->rate).text, units_bytes(line->live_bytes).text,
                  line->rate < 0 ? "-" : units_change(line->change).text,
                  units_count((double)line->live).text, units_count((double)line->free).text);
    }
}

/* ---- locks ---- */

struct lock_line {
    const struct lock_row *row;
    double rate, wait, waits, aborts; /* each a second */
};

/* NULL: it has none there, and so no counts, or all: they are not among the first ones. */
static const struct lock_row *row_before(const struct look *before, const void *lock)
{
    static const struct lock_row nothing;
    const struct lock_ranking *ranking = &before->locks.ranking;

    for (unsigned i = 0; i < ranking->count; i++) {
        if (ranking->top[i].lock == lock)
            return &ranking->top[i];
    }
    return ranking->count < LOCK_RANKING_MOST ? &nothing : NULL;
}

static struct lock_line lock_line_of(const struct lock_row *row, const struct lock_row *was,
                                     double seconds)
{
    struct lock_line line = {row, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};

    if (was == NULL)
        return line;
    line.rate = rate_of(lock_row_acquisitions(row), lock_row_acquisitions(was), seconds);
    line.wait = rate_of(row->counts[COUNT_WAIT_NS], was->counts[COUNT_WAIT_NS], seconds) / 1e9;
    line.waits = rate_of(row->counts[COUNT_WAITS], was->counts[COUNT_WAITS], seconds);
    line.aborts = rate_of(lock_row_aborts(row), lock_row_aborts(was), seconds);
    return line;
}

static int compare_locks(const void *left, const void *right)
{
    const struct lock_line *a = left, *b = right;
    int compared = compare_keys((struct sort_keys){{a->rate, a->wait, a->waits, a->aborts}},
                                (struct sort_keys){{b->rate, b->wait, b->waits, b->aborts}});

    /* As ranked: by what they cost in all. */
    return compared != 0 ? compared : a->row < b->row ? -1 : a->row > b->row;
}

static int find_locks(struct lock_line *lines, const struct look *now, const struct look *before,
                      double seconds)
{
    const struct lock_ranking *ranking = &now->locks.ranking;

    for (unsigned i = 0; i < ranking->count; i++) {
        const struct lock_row *row = &ranking->top[i];

        lines[i] =
            lock_line_of(row, before != NULL ? row_before(before, row->lock) : NULL, seconds);
    }
    qsort(lines, ranking->count, sizeof lines[0], compare_locks);
    return (int)ranking->count;
}

static void write_locks(struct page *page, const struct lock_line *lines, int count, int order)
{
    page_line(page, "%9s %9s %9s %9s  %-6s  %s", title_of("LOCKED/S", order, 0).text,
              title_of("WAIT/S", order, 1).text, title_of("WAITS/S", order, 2).text,
              title_of("ABORTS/S", order, 3).text, "KIND", "FIRST LOCKED BY, ADDRESS");
    for (int i = 0; i < count; i++) {
        const struct lock_line *line = &lines[i];
        char place[PLACE_ROOM];

        place_of_call(line->row->first_caller, place);
        page_line(page, "%9s %9s %9s %9s  %-6s  %s  %p", rate_text(line->rate).text,
                  time_text(line->wait).text, rate_text(line->waits).text,
                  rate_text(line->aborts).text, lock_kind_name(lock_key_kind(line->row->lock)),
                  place, lock_key_address(line->row->lock));
    }
}

/* ---- all of it ---- */

/* Narrow screens have the beginning: which process it is. */
static void write_title(struct page *page, const struct page_view *view)
{
    char when[32];
    time_t now = time(NULL);

    (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime(&now));
    page_line(page, "mplace stats  process %d (%s)  %s, every %g s", (int)view->target->process,
              view->target->name, when, view->seconds);
}

static void write_malloc(struct page *page, const struct look *now, const struct look *before,
                         double seconds)
{
    const struct cia_totals *totals = &now->cia.totals;
    const struct cia_totals *was = before != NULL ? &before->cia.totals : totals;
    bool known = before != NULL;
    uint64_t freed = totals->allocations - totals->live_blocks;
    uint64_t freed_before = was->allocations - was->live_blocks;

    page_line(
        page, "malloc  %s/s allocations  %s/s frees  change %s  huge %s",
        rate_text(known ? rate_of(totals->allocations, was->allocations, seconds) : UNKNOWN).text,
        rate_text(known ? rate_of(freed, freed_before, seconds) : UNKNOWN).text,
        known ? units_change(change_of(totals->live_bytes, was->live_bytes)).text : "-",
        units_bytes((double)totals->huge_bytes).text);
    page_line(page, "memory  live %s in %s  mapped %s  dirty %s  kept %s",
              units_bytes((double)totals->live_bytes).text,
              units_count((double)totals->live_blocks).text,
              units_bytes((double)totals->mapped_bytes).text,
              units_bytes((double)totals->dirty_bytes).text,
              units_bytes((double)totals->kept_bytes).text);
}

/* Of the acquisitions since then. */
static void format_elided(char *text, size_t room, const struct lock_row *now,
                          const struct lock_row *was)
{
    double all = change_of(lock_row_acquisitions(now), lock_row_acquisitions(was));
    double slow = change_of(now->counts[COUNT_PHYSICAL], was->counts[COUNT_PHYSICAL]);

    if (all > 0 && slow >= 0 && slow <= all)
        (void)snprintf(text, room, "%.1f %%", 100 * (all - slow) / all);
    else
        (void)snprintf(text, room, "-");
}

static void write_lock_totals(struct page *page, const struct look *now, const struct look *before,
                              double seconds)
{
    const struct lock_row *total = &now->locks.ranking.total;
    const struct lock_row *was = before != NULL ? &before->locks.ranking.total : NULL;
    struct lock_line line = lock_line_of(total, was, seconds);
    char elided[16] = "-";

    if (was != NULL)
        format_elided(elided, sizeof elided, total, was);
    page_line(page, "locks   %s/s locked  %s/s waits  %s/s waited  %s/s aborts  %s elided",
              rate_text(line.rate).text, rate_text(line.waits).text, time_text(line.wait).text,
              rate_text(line.aborts).text, elided);
}

/* How many lines each table gets of those that are left, titles aside. */
static void share(int room, int *classes, int *locks)
{
    int half = room - room / 2;

    if (*classes + *locks <= room)
        return;
    if (*locks < room / 2)
        *classes = room - *locks;
    else if (*classes < half)
        *locks = room - *classes;
    else {
        *classes = half;
        *locks = room / 2;
    }
}

static int at_most(int count, int most)
{
    return most >= 0 && count > most ? most : count;
}

void page_fill(struct page *page, const struct page_view *view, const struct look *now,
               const struct look *before)
{
    struct class_line classes[SIZE_CLASS_COUNT];
    struct lock_line locks[LOCK_RANKING_MOST];
    int class_count = 0, lock_count = 0, most = view->most > 0 ? view->most : -1;
    double seconds = before != NULL ? now->time - before->time : 0;

    if (seconds <= 0)
        before = NULL;
    sorted_by = view->order;
    write_title(page, view);
    if (now->has_cia) {
        bool known = before != NULL && before->cia_page == now->cia_page;
        const struct look *was = known ? before : NULL;

        write_malloc(page, now, was, seconds);
        class_count = at_most(find_classes(classes, now, was, seconds), most);
    }
    if (now->has_locks) {
        bool known = before != NULL && before->locks_page == now->locks_page;
        const struct look *was = known ? before : NULL;

        write_lock_totals(page, now, was, seconds);
        lock_count = at_most(find_locks(locks, now, was, seconds),
                             view->most_locks >= 0 ? view->most_locks : most);
    }
    if (page->is_screen) {
        int titles = (class_count > 0) + (lock_count > 0);
        int room = page->rows - page->row - 1 - titles;

        share(room > 0 ? room : 0, &class_count, &lock_count);
        if (view->message != NULL)
            page_line(page, "%s", view->message);
        else /* with the keys first, for narrow screens */
            page_line(page, "h: help, q: quit   by %s", order_names[view->order]);
    }
    if (class_count > 0)
        write_classes(page, classes, class_count, view->order);
    if (lock_count > 0)
        write_locks(page, locks, lock_count, view->order);
}
