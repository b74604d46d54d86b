/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The report as JSON. What the members mean is told in docs/rtmgrind.md.
 */
#include "rtmgrind/counts/blame.h"
#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/heap_blocks.h"
#include "rtmgrind/report/report.h"

static void write_counts(struct output *file, const struct site *site)
{
    output_format(file, "\"started\": %llu, \"committed\": %llu, \"aborted\": {", site->started,
                  site->committed);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        output_format(file, "%s\"%s\": %llu", cause == 0 ? "" : ", ", describe_cause(cause),
                      site->aborted[cause]);
    output_format(file, "}");
}

static void write_instruction(struct output *file, const HChar *key, Addr instruction)
{
    if (instruction == 0)
        return;
    output_format(file, ", \"%s\": ", key);
    describe_write_string(file, describe_code(instruction));
}

static void write_symbol(struct output *file, Addr data)
{
    const HChar *name;
    PtrdiffT offset;

    if (data == 0 || !describe_data(data, &name, &offset))
        return;
    output_format(file, ", \"symbol\": ");
    describe_write_string(file, name);
    output_format(file, ", \"symbol_offset\": %ld", (long)offset);
}

static void write_sites(struct output *file, struct site **list, UInt count)
{
    output_format(file, ",\n\"sites\": [");
    for (UInt i = 0; i < count; i++) {
        output_format(file, "%s{\"address\": %lu", i == 0 ? "\n" : ",\n", list[i]->begin);
        write_instruction(file, "where", list[i]->begin);
        output_format(file, ", ");
        write_counts(file, list[i]);
        output_format(file, "}");
    }
    output_format(file, "]");
}

static void write_place(struct output *file, const struct abort_place *place)
{
    output_format(file, "{\"count\": %llu, \"cause\": \"%s\", \"data\": %lu", place->count,
                  describe_cause(place->cause), place->data);
    if (place->data != 0)
        output_format(file, ", \"set\": %u", describe_set(place->data));
    write_symbol(file, place->data);
    write_instruction(file, "begin", place->begin);
    write_instruction(file, "instruction", place->instruction);
    write_instruction(file, "requester", place->requester);
    describe_write_stack(file, "begun", place->begun);
    output_format(file, "}");
}

/* Returns how many aborts it lists. */
static ULong write_aborts(struct output *file)
{
    static struct abort_place *places[TOP_MOST];
    UInt count = sites_worst_places(places, (UInt)options.top);
    ULong listed = 0;

    output_format(file, ",\n\"aborts\": [");
    for (UInt i = 0; i < count; i++) {
        output_format(file, "%s", i == 0 ? "\n" : ",\n");
        write_place(file, places[i]);
        listed += places[i]->count;
    }
    output_format(file, "]");
    return listed;
}

static void write_line(struct output *file, const struct abort_line *line)
{
    const struct heap_block *block = heap_block_in_line(line->line);
    Bool some = False;

    output_format(file,
                  "{\"line\": %lu, \"data\": %lu, \"set\": %u, \"count\": %llu, \"aborted\": {",
                  line->line, line->data, describe_set(line->line), line->count);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++) {
        if (line->aborted[cause] == 0)
            continue;
        output_format(file, "%s\"%s\": %llu", some ? ", " : "", describe_cause(cause),
                      line->aborted[cause]);
        some = True;
    }
    output_format(file, "}");
    write_symbol(file, line->data);
    if (block != NULL) {
        output_format(file, ", \"block\": {\"offset\": %ld, \"size\": %lu",
                      (long)(line->data - block->start), block->size);
        describe_write_stack(file, "allocated", block->origin);
        output_format(file, "}");
    }
    output_format(file, "}");
}

static void write_lines(struct output *file)
{
    struct abort_line *lines = VG_(malloc)("rtm.report.lines", (SizeT)TOP_MOST * sizeof *lines);
    UInt count = sites_worst_lines(lines, (UInt)options.top);

    output_format(file, ",\n\"lines\": [");
    for (UInt i = 0; i < count; i++) {
        output_format(file, "%s", i == 0 ? "\n" : ",\n");
        write_line(file, &lines[i]);
    }
    output_format(file, "]");
    VG_(free)(lines);
}

void report_write_json(struct output *file, struct site **list, UInt count,
                       const struct site *total)
{
    ULong aborts = 0;

    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        aborts += total->aborted[cause];
    output_format(file, "{\"pid\": %d, \"seed\": %lld, \"cpus\": %d, \"l1d\": \"%ux%u\",\n",
                  VG_(getpid)(), options.seed, processor_settings.cpus, options.l1d.sets,
                  options.l1d.ways);
    write_counts(file, total);
    write_sites(file, list, (UInt)options.top < count ? (UInt)options.top : count);
    /* The rest is at more places than --top, or than there is room for. */
    aborts -= write_aborts(file);
    output_format(file, ",\n\"unlisted_aborts\": %llu", aborts);
    write_lines(file);
    blame_write_json(file);
    if (options.sections)
        report_write_sections(file);
    output_format(file, "}\n");
}
