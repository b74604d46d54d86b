/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See report.h. Text goes where Valgrind's messages go, unless -q; JSON to the file of --rtm-out.
 */
#include "report.h"

#include "blame.h"
#include "sites.h"

static Bool forked;

static const HChar *const cause_names[ABORT_CAUSES] = {
    [ABORT_CONFLICT] = "conflict",
    [ABORT_WRITE_CAPACITY] = "write_capacity",
    [ABORT_READ_CAPACITY] = "read_capacity",
    [ABORT_EXPLICIT] = "explicit",
    [ABORT_NESTING] = "nesting",
    [ABORT_SYSTEM_CALL] = "system_call",
    [ABORT_PAGE_FAULT] = "page_fault",
    [ABORT_FAULT] = "fault",
    [ABORT_BREAKPOINT] = "breakpoint",
    [ABORT_INSTRUCTION] = "instruction",
    [ABORT_SIGNAL] = "signal",
    [ABORT_INTERRUPT] = "interrupt",
    [ABORT_CONTEXT_SWITCH] = "context_switch",
    [ABORT_SHOOTDOWN] = "shootdown",
    [ABORT_CLIENT_REQUEST] = "client_request",
};

const HChar *report_cause_name(enum abort_cause cause)
{
    return cause_names[cause];
}

/* What the parent did is the parent's to tell. */
static void in_child(ThreadId thread)
{
    forked = True;
    sites_reset();
    blame_reset();
}

void report_init(void)
{
    sites_init();
    blame_init();
    VG_(atfork)(NULL, NULL, in_child);
}

/* The totals of all sites together. */
static struct site total_of(struct site **list, UInt count)
{
    struct site total = {0};

    for (UInt i = 0; i < count; i++) {
        total.started += list[i]->started;
        total.committed += list[i]->committed;
        for (Int cause = 0; cause < ABORT_CAUSES; cause++)
            total.aborted[cause] += list[i]->aborted[cause];
    }
    return total;
}

static void print_causes(const struct site *site, const HChar *indent)
{
    for (Int cause = 0; cause < ABORT_CAUSES; cause++) {
        if (site->aborted[cause] != 0)
            VG_(umsg)("%s%llu aborted: %s\n", indent, site->aborted[cause], cause_names[cause]);
    }
}

/* The name is good until the next call. */
static const HChar *describe(Addr instruction)
{
    return VG_(describe_IP)(VG_(current_DiEpoch)(), instruction, NULL);
}

static void print_place(const struct abort_place *place)
{
    VG_(umsg)("%llu times %s\n", place->count, cause_names[place->cause]);
    if (place->instruction != 0)
        VG_(umsg)("    at %s\n", describe(place->instruction));
    if (place->requester != 0)
        VG_(umsg)("    for another thread at %s\n", describe(place->requester));
    if (place->data != 0) {
        const HChar *name;
        PtrdiffT offset;
        VG_(umsg)
        ("    data at %#lx, set %u", place->data,
         cache_model_set_of(&transactions[0].footprint.l1d, place->data));
        if (VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), place->data, &name, &offset))
            VG_(umsg)(": %s+%ld", name, (long)offset);
        VG_(umsg)("\n");
    }
    VG_(umsg)("    in the transaction of %s\n", describe(place->begin));
}

static void print_text(struct site **list, UInt count, const struct site *total)
{
    static struct abort_place *places[TOP_MOST];
    UInt most = (UInt)options.top < count ? (UInt)options.top : count;

    VG_(umsg)
    ("transactions: %llu started, %llu committed; seed %lld\n", total->started, total->committed,
     options.seed);
    print_causes(total, "  ");
    for (UInt i = 0; i < most; i++) {
        VG_(umsg)("\n");
        VG_(umsg)
        ("%llu started, %llu committed %s\n", list[i]->started, list[i]->committed,
         list[i]->begin == 0 ? "at other sites" : describe(list[i]->begin));
        print_causes(list[i], "    ");
    }
    UInt worst = sites_worst_places(places, (UInt)options.top);
    for (UInt i = 0; i < worst; i++) {
        VG_(umsg)("\n");
        print_place(places[i]);
    }
    if (sites_places_lost() != 0)
        VG_(umsg)("%llu aborts at more places than there is room for\n", sites_places_lost());
    blame_print_text();
}

void report_write_string(VgFile *file, const HChar *text)
{
    VG_(fprintf)(file, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            VG_(fprintf)(file, "\\%c", *text);
        else if ((UChar)*text < ' ')
            VG_(fprintf)(file, "\\u%04x", (UChar)*text);
        else
            VG_(fprintf)(file, "%c", *text);
    }
    VG_(fprintf)(file, "\"");
}

static void write_counts(VgFile *file, const struct site *site)
{
    VG_(fprintf)
    (file, "\"started\": %llu, \"committed\": %llu, \"aborted\": {", site->started,
     site->committed);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        VG_(fprintf)
    (file, "%s\"%s\": %llu", cause == 0 ? "" : ", ", cause_names[cause], site->aborted[cause]);
    VG_(fprintf)(file, "}");
}

static void write_instruction(VgFile *file, const HChar *key, Addr instruction)
{
    if (instruction == 0)
        return;
    VG_(fprintf)(file, ", \"%s\": ", key);
    report_write_string(file, describe(instruction));
}

static void write_json(VgFile *file, struct site **list, UInt count, const struct site *total)
{
    static struct abort_place *places[TOP_MOST];
    UInt worst = sites_worst_places(places, (UInt)options.top);
    UInt most = (UInt)options.top < count ? (UInt)options.top : count;

    VG_(fprintf)
    (file, "{\"seed\": %lld, \"cpus\": %d, \"l1d\": \"%ux%u\",\n", options.seed, options.cpus,
     options.l1d.sets, options.l1d.ways);
    write_counts(file, total);
    VG_(fprintf)(file, ",\n\"sites\": [");
    for (UInt i = 0; i < most; i++) {
        VG_(fprintf)(file, "%s{\"address\": %lu", i == 0 ? "\n" : ",\n", list[i]->begin);
        write_instruction(file, "where", list[i]->begin);
        VG_(fprintf)(file, ", ");
        write_counts(file, list[i]);
        VG_(fprintf)(file, "}");
    }
    VG_(fprintf)(file, "],\n\"aborts\": [");
    for (UInt i = 0; i < worst; i++) {
        VG_(fprintf)
        (file, "%s{\"count\": %llu, \"cause\": \"%s\", \"data\": %lu", i == 0 ? "\n" : ",\n",
         places[i]->count, cause_names[places[i]->cause], places[i]->data);
        write_instruction(file, "begin", places[i]->begin);
        write_instruction(file, "instruction", places[i]->instruction);
        write_instruction(file, "requester", places[i]->requester);
        VG_(fprintf)(file, "}");
    }
    /* At more places than --top, or than there is room for. */
    ULong unlisted = 0;
    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        unlisted += total->aborted[cause];
    for (UInt i = 0; i < worst; i++)
        unlisted -= places[i]->count;
    VG_(fprintf)(file, "],\n\"unlisted_aborts\": %llu", unlisted);
    blame_write_json(file);
    VG_(fprintf)(file, "}\n");
}

static void print_json(struct site **list, UInt count, const struct site *total)
{
    /* A child must not write over its parent's file. */
    if (forked && VG_(strstr)(options.output, "%p") == NULL)
        return;
    HChar *name = VG_(expand_file_name)("--rtm-out", options.output);
    VgFile *file = VG_(fopen)(name, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY,
                              VKI_S_IRUSR | VKI_S_IWUSR | VKI_S_IRGRP | VKI_S_IROTH);

    if (file == NULL) {
        VG_(umsg)("the report cannot be written to %s\n", name);
    } else {
        write_json(file, list, count, total);
        VG_(fclose)(file);
    }
    VG_(free)(name);
}

void report_print(void)
{
    enum { SITES_MOST = 1 << 12 };
    static struct site *list[SITES_MOST];
    UInt count = sites_busiest(list, SITES_MOST);
    struct site total = total_of(list, count);

    if (VG_(clo_verbosity) > 0 && !(forked && total.started == 0))
        print_text(list, count, &total);
    if (options.output != NULL)
        print_json(list, count, &total);
}
