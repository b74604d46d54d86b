/*
 * SPDX-License-Identifier: MIT
 *
 * The report as JSON (RFC 8259); see output.h. VERSION goes up when a field changes its
 * meaning or goes; new fields may come without that. All numbers are whole and below 2^53 in any
 * run that ends: readers that keep numbers as doubles lose nothing.
 */
#include "base/code/code_location.h"
#include "base/text/utf8.h"
#include "mutex/statistics/output.h"

enum { VERSION = 1 };

/* File and function names are bytes. What is no UTF-8 becomes U+FFFD, a byte each. */
static void write_string(struct report *report, const char *string)
{
    const unsigned char *at = (const unsigned char *)string;

    report_format(report, "\"");
    while (*at != '\0') {
        unsigned length = utf8_length(at);

        if (length == 0) {
            report_format(report, "\\ufffd");
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            report_format(report, "\\%c", *at);
        } else if (*at < ' ' || *at == 0x7f) {
            report_format(report, "\\u%04x", *at);
        } else {
            for (unsigned i = 0; i < length; i++)
                report_format(report, "%c", at[i]);
        }
        at += length;
    }
    report_format(report, "\"");
}

static void write_text_field(struct report *report, const char *name, const char *value)
{
    report_format(report, "\"%s\": ", name);
    if (value != NULL)
        write_string(report, value);
    else
        report_format(report, "null");
}

/* Members, without the braces. indent is that of each line. */
static void write_counts(struct report *report, const struct lock_row *row, const char *indent)
{
    report_format(report, "%s\"acquisitions\": %lu,\n", indent, lock_row_acquisitions(row));
    report_format(report, "%s\"slow_path\": %lu,\n", indent, row->counts[COUNT_PHYSICAL]);
    report_format(report, "%s\"elided_nested\": %lu,\n", indent, row->counts[COUNT_NESTED]);
    report_format(report, "%s\"waits\": %lu,\n", indent, row->counts[COUNT_WAITS]);
    report_format(report, "%s\"wait_ns\": %lu,\n", indent, row->counts[COUNT_WAIT_NS]);
    report_format(report, "%s\"tx_started\": %lu,\n", indent,
                  row->counts[COUNT_COMMITTED] + lock_row_aborts(row));
    report_format(report, "%s\"tx_committed\": %lu,\n", indent, row->counts[COUNT_COMMITTED]);
    report_format(report, "%s\"aborts\": {", indent);
    for (int cause = 0; cause < ABORT_CAUSES; cause++)
        report_format(report, "%s\"%s\": %lu", cause == 0 ? "" : ", ", abort_cause_name(cause),
                      row->counts[COUNT_FIRST_ABORT + cause]);
    report_format(report, "}");
}

static void write_caller(struct report *report, const void *caller)
{
    static struct code_location location;
    static const char *const kinds[] = {
        [CODE_IN_FUNCTION] = "function", [CODE_IN_FILE] = "file",
        [CODE_WITHOUT_FILE] = "no file", [CODE_UNMAPPED] = "unloaded",
        [CODE_UNKNOWN] = "unknown",
    };
    bool in_file, in_function;

    code_location_of_call(caller, &location);
    in_function = location.kind == CODE_IN_FUNCTION;
    in_file = in_function || location.kind == CODE_IN_FILE;
    report_format(report, "{\"address\": \"%p\", \"kind\": \"%s\", ", caller, kinds[location.kind]);
    write_text_field(report, "function", in_function ? location.function : NULL);
    if (in_function)
        report_format(report, ", \"function_offset\": %lu, ", location.function_offset);
    else
        report_format(report, ", \"function_offset\": null, ");
    write_text_field(report, "file", in_file ? location.file : NULL);
    if (in_file)
        report_format(report, ", \"file_offset\": %lu}", location.offset);
    else
        report_format(report, ", \"file_offset\": null}");
}

static void write_lock(struct report *report, const struct lock_row *row)
{
    report_format(
        report,
        "    {\n      \"address\": \"%p\",\n      \"kind\": \"%s\",\n      \"first_locked_by\": ",
        lock_key_address(row->lock), lock_kind_name(lock_key_kind(row->lock)));
    write_caller(report, row->first_caller);
    report_format(report, ",\n      \"longest_wait_ns\": %lu,\n", row->longest_wait_ns);
    write_counts(report, row, "      ");
    report_format(report, "\n    }");
}

void statistics_write_json(struct report *report, const struct statistics_facts *facts)
{
    const struct lock_ranking *ranking = facts->ranking;

    report_format(report, "{\n  \"version\": %d,\n  \"process\": %d,\n  ", VERSION, facts->process);
    write_text_field(report, "library", facts->library);
    report_format(report, ",\n  ");
    write_text_field(report, "htm", facts->htm);
    report_format(report, ",\n  ");
    write_text_field(report, "policy", facts->policy);
    report_format(report, ",\n  ");
    write_text_field(report, "wait", facts->wait);
    report_format(report, ",\n  \"totals\": {\n    \"longest_wait_ns\": %lu,\n",
                  ranking->total.longest_wait_ns);
    write_counts(report, &ranking->total, "    ");
    report_format(report, "\n  },\n  \"locks\": [");
    for (unsigned i = 0; i < ranking->count; i++) {
        report_format(report, i == 0 ? "\n" : ",\n");
        write_lock(report, &ranking->top[i]);
    }
    report_format(report, ranking->count != 0 ? "\n  ],\n" : "],\n");
    report_format(report, "  \"others\": {\n");
    write_counts(report, &ranking->others, "    ");
    report_format(report, "\n  },\n");
    report_format(report, "  \"locks_seen\": %lu,\n", ranking->locks);
    report_format(report, "  \"tables\": %lu,\n", ranking->tables);
    report_format(report, "  \"dropped_rows\": %lu,\n", ranking->dropped_rows);
    report_format(report, "  \"unattributed_acquisitions\": %lu,\n", ranking->unattributed);
    report_format(report, "  \"uncounted_operations\": %lu\n}\n", facts->uncounted);
}
