/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The report as JSON. What the members mean is told in docs/rtmgrind.md.
 */
#include "rtmgrind/counts/blame.h"
#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/heap_blocks.h"
#include "rtmgrind/report/report.h"

static void write_counts(VgFile *file, const struct site *site)
{
    VG_(fprintf)
    (file, "\"started\": %llu, \"committed\": %llu, \"aborted\": {", site->started,
     site->committed);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        VG_(fprintf)
    (file, "%s\"%s\": %llu", cause == 0 ? "" : ", ", describe_cause(cause), site->aborted[cause]);
    VG_(fprintf)(file, "}");
}

static void write_instruction(VgFile *file, const HChar *key, Addr instruction)
{
    if (instruction == 0)
        return;
    VG_(fprintf)(file, ", \"%s\": ", key);
    describe_write_string(file, describe_code(instruction));
}

static void write_symbol(VgFile *file, Addr data)
{
    const HChar *name;
    PtrdiffT offset;

    if (data == 0 || !describe_data(data, &name, &offset))
        return;
    VG_(fprintf)(file, ", \"symbol\": ");
    describe_write_string(file, name);
    VG_(fprintf)(file, ", \"symbol_offset\": %ld", (long)offset);
}

static void write_sites(VgFile *file, struct site **list, UInt count)
{
    VG_(fprintf)(file, ",\n\"sites\": [");
    for (UInt i = 0; i < count; i++) {
        VG_(fprintf)(file, "%s{\"address\": %lu", i == 0 ? "\n" : ",\n", list[i]->begin);
        write_instruction(file, "where", list[i]->begin);
        VG_(fprintf)(file, ", ");
        write_counts(file, list[i]);
        VG_(fprintf)(file, "}");
    }
    VG_(fprintf)(file, "]");
}

static void write_place(VgFile *file, const struct abort_place *place)
{
    VG_(fprintf)
    (file, "{\"count\": %llu, \"cause\": \"%s\", \"data\": %lu", place->count,
     describe_cause(place->cause), place->data);
    if (place->data != 0)
        VG_(fprintf)(file, ", \"set\": %u", describe_set(place->data));
    write_symbol(file, place->data);
    write_instruction(file, "begin", place->begin);
    write_instruction(file, "instruction", place->instruction);
    write_instruction(file, "requester", place->requester);
    describe_write_stack(file, "begun", place->begun);
    VG_(fprintf)(file, "}");
}

/* Returns how many aborts it lists. */
static ULong write_aborts(VgFile *file)
{
    static struct abort_place *places[TOP_MOST];
    UInt count = sites_worst_places(places, (UInt)options.top);
    ULong listed = 0;

    VG_(fprintf)(file, ",\n\"aborts\": [");
    for (UInt i = 0; i < count; i++) {
        VG_(fprintf)(file, "%s", i == 0 ? "\n" : ",\n");
        write_place(file, places[i]);
        listed += places[i]->count;
    }
    VG_(fprintf)(file, "]");
    return listed;
}

static void write_line(VgFile *file, const struct abort_line *line)
{
    const struct heap_block *block = heap_block_in_line(line->line);
    Bool some = False;

    VG_(fprintf)
    (file, "{\"line\": %lu, \"data\": %lu, \"set\": %u, \"count\": %llu, \"aborted\": {",
     line->line, line->data, describe_set(line->line), line->count);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++) {
        if (line->aborted[cause] == 0)
            continue;
        VG_(fprintf)
        (file, "%s\"%s\": %llu", some ? ", " : "", describe_cause(cause), line->aborted[cause]);
        some = True;
    }
    VG_(fprintf)(file, "}");
    write_symbol(file, line->data);
    if (block != NULL) {
        VG_(fprintf)
        (file, ", \"block\": {\"offset\": %ld, \"size\": %lu", (long)(line->data - block->start),
         block->size);
        describe_write_stack(file, "allocated", block->origin);
        VG_(fprintf)(file, "}");
    }
    VG_(fprintf)(file, "}");
}

static void write_lines(VgFile *file)
{
    struct abort_line *lines = VG_(malloc)("rtm.report.lines", (SizeT)TOP_MOST * sizeof *lines);
    UInt count = sites_worst_lines(lines, (UInt)options.top);

    VG_(fprintf)(file, ",\n\"lines\": [");
    for (UInt i = 0; i < count; i++) {
        VG_(fprintf)(file, "%s", i == 0 ? "\n" : ",\n");
        write_line(file, &lines[i]);
    }
    VG_(fprintf)(file, "]");
    VG_(free)(lines);
}

void report_write_json(VgFile *file, struct site **list, UInt count, const struct site *total)
{
    ULong aborts = 0;

    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        aborts += total->aborted[cause];
    VG_(fprintf)
    (file, "{\"pid\": %d, \"seed\": %lld, \"cpus\": %d, \"l1d\": \"%ux%u\",\n", VG_(getpid)(),
     options.seed, processor_settings.cpus, options.l1d.sets, options.l1d.ways);
    write_counts(file, total);
    write_sites(file, list, (UInt)options.top < count ? (UInt)options.top : count);
    /* The rest is at more places than --top, or than there is room for. */
    aborts -= write_aborts(file);
    VG_(fprintf)(file, ",\n\"unlisted_aborts\": %llu", aborts);
    write_lines(file);
    blame_write_json(file);
    if (options.sections)
        report_write_sections(file);
    VG_(fprintf)(file, "}\n");
}
