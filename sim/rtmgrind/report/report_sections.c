/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The critical sections in the report as JSON. What the members mean is told in docs/rtmgrind.md.
 */
#include "rtmgrind/counts/describe.h"
#include "rtmgrind/counts/holds.h"
#include "rtmgrind/counts/sections.h"
#include "rtmgrind/report/report.h"
#include "rtmgrind/translation/unfriendly.h"

static const HChar *const kind_names[STOP_KINDS] = {
    [STOP_NOT_TRIED] = "not_tried",
    [STOP_SYSTEM_CALL] = "system_call",
    [STOP_WAKE] = "wake",
    [STOP_WAIT] = "wait",
    [STOP_PAGE_FAULT] = "page_fault",
    [STOP_INSTRUCTION] = "instruction",
    [STOP_WRITE_CAPACITY] = "write_capacity",
    [STOP_READ_CAPACITY] = "read_capacity",
    [STOP_CONFLICT] = "conflict",
    [STOP_LOCK_TAKEN] = "lock_taken",
    [STOP_INNER_LOCK] = "inner_lock",
    [STOP_LEFT] = "left",
    [STOP_OTHER] = "other",
};

static void write_text(struct output *file, const HChar *key, const HChar *text)
{
    output_format(file, ", \"%s\": ", key);
    describe_write_string(file, text);
}

/* What is known of the data; nothing of none. */
static void write_data(struct output *file, const HChar *key, const struct data_name *data)
{
    const HChar *name;
    PtrdiffT offset;
    Addr in_file;

    if (data->address == 0 && data->origin == NULL)
        return;
    output_format(file, ", \"%s\": {", key);
    if (data->origin != NULL) {
        output_format(file, "\"size\": %lu", data->size);
        if (data->size <= WHOLE_BLOCK_BYTES)
            output_format(file, ", \"offset\": %ld", (long)data->offset);
        describe_write_place(file, "allocated", data->origin);
    } else {
        output_format(file, "\"address\": %lu", data->address);
        if (describe_data(data->address, &name, &offset)) {
            write_text(file, "symbol", name);
            output_format(file, ", \"offset\": %ld", (long)offset);
        } else if (describe_static_data(data->address, &name, &in_file)) {
            write_text(file, "object", name);
            output_format(file, ", \"offset\": %lu", in_file);
        }
    }
    output_format(file, "}");
}

static void write_detail(struct output *file, const struct stop *stop)
{
    enum { LENGTH_MOST = 15 };
    const HChar *name = describe_system_call(stop->detail);

    if (stop->kind == STOP_SYSTEM_CALL) {
        output_format(file, ", \"number\": %u", stop->detail);
        if (name != NULL)
            write_text(file, "call", name);
    } else if (stop->kind == STOP_OTHER) {
        write_text(file, "abort", describe_cause((enum abort_cause)stop->detail));
    } else if (stop->kind == STOP_INSTRUCTION &&
               VG_(am_is_valid_for_client)(stop->instruction, LENGTH_MOST, VKI_PROT_READ)) {
        const HChar *instruction = unfriendly_name((const UChar *)stop->instruction);
        if (instruction != NULL)
            write_text(file, "name", instruction);
    }
}

static void write_fillers(struct output *file, const struct stop *stop)
{
    if (stop->filler[0].lines == 0)
        return;
    output_format(file, ", \"filled_by\": [");
    for (UInt i = 0; i < STOP_FILLERS_MOST && stop->filler[i].lines != 0; i++) {
        const struct stop_filler *filler = &stop->filler[i];
        output_format(file, "%s{\"lines\": %llu", i == 0 ? "" : ", ", filler->lines);
        if (filler->origin != NULL)
            output_format(file, ", \"size\": %lu", filler->size);
        describe_write_place(file, "allocated", filler->origin);
        output_format(file, "}");
    }
    output_format(file, "]");
}

static void write_stop(struct output *file, const struct stop *stop)
{
    output_format(
        file,
        "\n  {\"kind\": \"%s\", \"aborts\": %llu, \"in_aborts\": %llu, \"holds\": %llu, "
        "\"in_holds\": %llu, \"in_waits\": %llu, \"holds_alone\": %llu, \"in_waits_alone\": %llu, "
        "\"seen\": %llu",
        kind_names[stop->kind], stop->aborts, stop->in_aborts, stop->holds, stop->in_holds,
        stop->in_waits, stop->holds_alone, stop->in_waits_alone, stop->seen);
    write_detail(file, stop);
    describe_write_place(file, "at", stop->stack);
    if (stop->kind == STOP_CONFLICT) {
        output_format(file, ", \"in_line_of_lock\": %s",
                      stop->detail == STOP_LINE_OF_LOCK ? "true" : "false");
        describe_write_code(file, "instruction", stop->instruction);
        describe_write_code(file, "requester", stop->requester);
    }
    write_data(file, "data", &stop->data);
    if (stop->other != NULL)
        output_format(file, ", \"other\": %u", stop->other->number);
    write_fillers(file, stop);
    output_format(file, "}");
}

static void write_stops(struct output *file, const struct section *section)
{
    Bool some = False;

    output_format(file, ", \"stops\": [");
    for (UInt i = 0; i < section_table_stops(); i++) {
        const struct stop *stop = section_table_stop_at(i);
        if (stop->section != section)
            continue;
        output_format(file, "%s", some ? "," : "");
        some = True;
        write_stop(file, stop);
    }
    output_format(file, "]");
}

void report_write_sections(struct output *file)
{
    holds_end_all();
    output_format(file, ",\n\"sections\": {\"instructions\": %llu, \"unseen\": %llu, \"list\": [",
                  sections_instructions, sections_unseen);
    for (UInt i = 0; i < section_table_sections(); i++) {
        const struct section *section = section_table_section(i);
        output_format(
            file,
            "%s\n {\"entered\": %llu, \"committed\": %llu, \"held\": %llu, \"visited\": %llu, "
            "\"in_commits\": %llu, "
            "\"in_aborts\": %llu, \"in_holds\": %llu, \"in_waits\": %llu",
            i == 0 ? "" : ",", section->entered, section->committed, section->held,
            section->visited, section->in_commits, section->in_aborts, section->in_holds,
            section->in_waits);
        write_data(file, "lock", &section->lock);
        describe_write_place(file, "at", section->locked);
        write_stops(file, section);
        output_format(file, "}");
    }
    output_format(file, "]}");
}
