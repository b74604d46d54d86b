/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See sites.h. Both tables are hash tables with linear probing, of fixed size: no program has as
 * many XBEGINs as the first has room for, and of aborts those that do not fit in the second are
 * counted together.
 */
#include "rtmgrind/counts/sites.h"

enum { SITES_ROOM = 1 << 12, PLACES_ROOM = 1 << 14 };

static struct site *sites;
static struct abort_place *places;
static UInt sites_used, places_used;
static struct site sites_beyond; /* all that found the first table full */
static ULong places_lost;

void sites_init(void)
{
    sites = VG_(calloc)("rtm.sites", SITES_ROOM, sizeof *sites);
    places = VG_(calloc)("rtm.places", PLACES_ROOM, sizeof *places);
}

static ULong mix(ULong hash, ULong value)
{
    return (hash ^ value) * 0x9E3779B97F4A7C15ULL;
}

struct site *site_at(Addr begin)
{
    UInt place = (UInt)(mix(0, begin) >> 40) % SITES_ROOM;

    while (sites[place].begin != begin) {
        if (sites[place].begin == 0) {
            if (sites_used == SITES_ROOM / 2)
                return &sites_beyond;
            sites_used++;
            sites[place].begin = begin;
            break;
        }
        place = (place + 1) % SITES_ROOM;
    }
    return &sites[place];
}

static Bool is_same(const struct abort_place *place, Addr begin, const struct abort_event *event,
                    const ExeContext *begun)
{
    return place->begin == begin && place->begun == begun && place->cause == event->cause &&
           place->instruction == event->instruction && place->requester == event->requester &&
           place->data == event->data;
}

void sites_count_abort(Addr begin, const struct abort_event *event, ExeContext *begun)
{
    ULong hash = mix(mix(mix(0, begin), (ULong)begun), event->cause);

    hash = mix(mix(mix(hash, event->instruction), event->requester), event->data);
    UInt at = (UInt)(hash >> 40) % PLACES_ROOM;

    site_at(begin)->aborted[event->cause]++;
    while (places[at].count != 0 && !is_same(&places[at], begin, event, begun))
        at = (at + 1) % PLACES_ROOM;
    if (places[at].count == 0) {
        if (places_used == PLACES_ROOM / 2) {
            places_lost++;
            return;
        }
        places_used++;
        places[at] = (struct abort_place){.cause = event->cause,
                                          .begin = begin,
                                          .instruction = event->instruction,
                                          .requester = event->requester,
                                          .data = event->data,
                                          .begun = begun};
    }
    places[at].count++;
}

void sites_reset(void)
{
    /* The sites stay, for transactions point at them. */
    for (UInt i = 0; i < SITES_ROOM; i++)
        sites[i] = (struct site){.begin = sites[i].begin};
    sites_beyond = (struct site){0};
    VG_(memset)(places, 0, PLACES_ROOM * sizeof *places);
    places_used = 0;
    places_lost = 0;
}

/* More aborts first; of those that have none, more transactions. */
static Bool is_busier(const struct site *one, const struct site *other)
{
    ULong aborts_of_one = one->started - one->committed;
    ULong aborts_of_other = other->started - other->committed;

    if (aborts_of_one != aborts_of_other)
        return aborts_of_one > aborts_of_other;
    return one->started > other->started;
}

UInt sites_busiest(struct site **list, UInt most)
{
    UInt count = 0;

    for (UInt i = 0; i <= SITES_ROOM; i++) {
        struct site *site = i < SITES_ROOM ? &sites[i] : &sites_beyond;
        if (site->started == 0)
            continue;
        UInt at = count < most ? count++ : most;
        for (; at > 0 && is_busier(site, list[at - 1]); at--) {
            if (at < most)
                list[at] = list[at - 1];
        }
        if (at < most)
            list[at] = site;
    }
    return count;
}

UInt sites_worst_places(struct abort_place **list, UInt most)
{
    UInt count = 0;

    for (UInt i = 0; i < PLACES_ROOM; i++) {
        struct abort_place *place = &places[i];
        if (place->count == 0)
            continue;
        UInt at = count < most ? count++ : most;
        for (; at > 0 && place->count > list[at - 1]->count; at--) {
            if (at < most)
                list[at] = list[at - 1];
        }
        if (at < most)
            list[at] = place;
    }
    return count;
}

static Addr line_of(const struct abort_place *place)
{
    return place->data & ~(Addr)(LINE_BYTES - 1);
}

/* By lines; within a line, what happened most often comes first. */
static Int by_line(const void *left, const void *right)
{
    const struct abort_place *a = *(struct abort_place *const *)left;
    const struct abort_place *b = *(struct abort_place *const *)right;

    if (line_of(a) != line_of(b))
        return line_of(a) < line_of(b) ? -1 : 1;
    return a->count > b->count ? -1 : a->count < b->count;
}

/* Puts the line where it belongs in the list; returns the list's new length. */
static UInt insert_line(struct abort_line *list, UInt used, UInt most,
                        const struct abort_line *line)
{
    UInt at = used < most ? used++ : most;

    for (; at > 0 && line->count > list[at - 1].count; at--) {
        if (at < most)
            list[at] = list[at - 1];
    }
    if (at < most)
        list[at] = *line;
    return used;
}

UInt sites_worst_lines(struct abort_line *list, UInt most)
{
    struct abort_place **with_data =
        VG_(malloc)("rtm.sites.lines", PLACES_ROOM * sizeof *with_data);
    UInt count = 0, used = 0;

    for (UInt i = 0; i < PLACES_ROOM; i++) {
        if (places[i].count != 0 && places[i].data != 0)
            with_data[count++] = &places[i];
    }
    VG_(ssort)(with_data, count, sizeof *with_data, by_line);
    for (UInt i = 0; i < count;) {
        struct abort_line line = {.line = line_of(with_data[i]), .data = with_data[i]->data};
        for (; i < count && line_of(with_data[i]) == line.line; i++) {
            line.count += with_data[i]->count;
            line.aborted[with_data[i]->cause] += with_data[i]->count;
        }
        used = insert_line(list, used, most, &line);
    }
    VG_(free)(with_data);
    return used;
}

ULong sites_places_lost(void)
{
    return places_lost;
}
