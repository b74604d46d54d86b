/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See report.h. Text goes where Valgrind's messages go, unless -q; JSON to the file of --rtm-out.
 */
#include "rtmgrind/report/report.h"

#include "program_calls/core_internals.h"
#include "rtmgrind/counts/blame.h"
#include "rtmgrind/counts/calls.h"
#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/heap_blocks.h"
#include "rtmgrind/counts/sections.h"

static Bool forked;

/* What the parent did is the parent's to tell. */
static void in_child(ThreadId thread)
{
    forked = True;
    sites_reset();
    blame_reset();
    sections_reset();
}

/* Not to find out after the program ran for an hour. What root creates here goes again: if the
 * program becomes another user, that one could not write to it. */
static void check_output(void)
{
    if (options.output == NULL)
        return;
    HChar *name = VG_(expand_file_name)("--rtm-out", options.output);
    Int flags = VKI_O_CREAT | VKI_O_WRONLY;
    Int mode = VKI_S_IRUSR | VKI_S_IWUSR | VKI_S_IRGRP | VKI_S_IROTH;
    SysRes opened = VG_(open)(name, flags | VKI_O_EXCL, mode);
    Bool is_new = !sr_isError(opened);

    if (!is_new && sr_Err(opened) == VKI_EEXIST)
        opened = VG_(open)(name, flags, mode);
    if (is_new && VG_(geteuid)() == 0)
        (void)VG_(unlink)(name);
    if (sr_isError(opened)) {
        VG_(fmsg)("--rtm-out: %s cannot be written (error %lu)\n", name, sr_Err(opened));
        VG_(exit)(1);
    }
    VG_(close)((Int)sr_Res(opened));
    VG_(free)(name);
}

void report_init(void)
{
    check_output();
    sites_init();
    calls_init();
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
            VG_(umsg)("%s%llu aborted: %s\n", indent, site->aborted[cause], describe_cause(cause));
    }
}

static void print_data(Addr data)
{
    const HChar *name;
    PtrdiffT offset;

    VG_(umsg)("    data at %#lx, set %u", data, describe_set(data));
    if (describe_data(data, &name, &offset))
        VG_(umsg)(": %s+%ld", name, (long)offset);
    VG_(umsg)("\n");
}

static void print_place(const struct abort_place *place)
{
    VG_(umsg)("%llu times %s\n", place->count, describe_cause(place->cause));
    if (place->instruction != 0)
        VG_(umsg)("    at %s\n", describe_code(place->instruction));
    if (place->cause == ABORT_CONFLICT && place->requester == 0)
        VG_(umsg)("    for the kernel, in a call of another thread\n");
    if (place->requester != 0)
        VG_(umsg)("    for another thread at %s\n", describe_code(place->requester));
    if (place->data != 0)
        print_data(place->data);
    if (place->begun == NULL)
        return;
    VG_(umsg)("    in the transaction that began\n");
    VG_(pp_ExeContext)(place->begun);
}

/* What is at the line now; a block that was freed meanwhile is not known any more. */
static void print_line(const struct abort_line *line)
{
    const struct heap_block *block = heap_block_in_line(line->line);

    VG_(umsg)("%llu aborts over one line of memory\n", line->count);
    print_data(line->data);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++) {
        if (line->aborted[cause] != 0)
            VG_(umsg)("    %llu times %s\n", line->aborted[cause], describe_cause(cause));
    }
    if (block == NULL)
        return;
    VG_(umsg)
    ("    %ld bytes into a block of %lu bytes, allocated\n", (long)(line->data - block->start),
     block->size);
    VG_(pp_ExeContext)(block->origin);
}

static void print_heading(const HChar *text)
{
    VG_(umsg)("\n");
    VG_(umsg)("%s\n", text);
}

static void print_sites(struct site **list, UInt count)
{
    if (count != 0)
        print_heading("--- where transactions begin, most aborts first");
    for (UInt i = 0; i < count; i++) {
        VG_(umsg)
        ("%llu started, %llu committed %s\n", list[i]->started, list[i]->committed,
         list[i]->begin == 0 ? "at other sites" : describe_code(list[i]->begin));
        print_causes(list[i], "    ");
    }
}

static void print_aborts(void)
{
    static struct abort_place *places[TOP_MOST];
    struct abort_line *lines = VG_(malloc)("rtm.report.lines", (SizeT)TOP_MOST * sizeof *lines);
    UInt count = sites_worst_places(places, (UInt)options.top);

    if (count != 0)
        print_heading("--- the most frequent aborts");
    for (UInt i = 0; i < count; i++) {
        if (i > 0)
            VG_(umsg)("\n");
        print_place(places[i]);
    }
    if (sites_places_lost() != 0)
        VG_(umsg)("%llu aborts at more places than there is room for\n", sites_places_lost());
    count = sites_worst_lines(lines, (UInt)options.top);
    if (count != 0)
        print_heading("--- the data that most aborts were about");
    for (UInt i = 0; i < count; i++)
        print_line(&lines[i]);
    VG_(free)(lines);
}

static void print_text(struct site **list, UInt count, const struct site *total)
{
    VG_(umsg)
    ("transactions: %llu started, %llu committed; seed %lld\n", total->started, total->committed,
     options.seed);
    print_causes(total, "  ");
    print_sites(list, (UInt)options.top < count ? (UInt)options.top : count);
    print_aborts();
    blame_print_text();
}

static void print_json(struct site **list, UInt count, const struct site *total)
{
    static struct output output;

    /* A child must not write over its parent's file. */
    if (forked && VG_(strstr)(options.output, "%p") == NULL)
        return;
    if (!output_open(&output, "--rtm-out", options.output))
        return;
    report_write_json(&output, list, count, total);
    (void)output_close(&output);
}

static void print(Bool although_empty)
{
    enum { SITES_MOST = 1 << 12 };
    static struct site *list[SITES_MOST];
    UInt count = sites_busiest(list, SITES_MOST);
    struct site total = total_of(list, count);

    if (total.started == 0 && !although_empty)
        return;
    if (VG_(clo_verbosity) > 0 && !(forked && total.started == 0))
        print_text(list, count, &total);
    if (options.output != NULL)
        print_json(list, count, &total);
}

void report_print(void)
{
    print(True);
}

void report_before_exec(const HChar *file)
{
    /* A search through PATH tries files that are not there. */
    if (VG_(access)(file, False, False, True) == 0)
        print(False);
}
