/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See report.h. Totals by cause: as text, and as JSON with --rtm-out.
 */
#include "report.h"

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

static ULong started, committed, aborted[ABORT_CAUSES];

void report_started(Addr begin)
{
    started++;
}

void report_committed(void)
{
    committed++;
}

void report_aborted(const struct transaction *transaction, const struct abort_event *event)
{
    aborted[event->cause]++;
}

static void print_text(void)
{
    VG_(umsg)("transactions: started %llu, committed %llu\n", started, committed);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++) {
        if (aborted[cause] != 0)
            VG_(umsg)("aborted, %s: %llu\n", cause_names[cause], aborted[cause]);
    }
}

static void print_json(void)
{
    HChar *name = VG_(expand_file_name)("--rtm-out", options.output);
    VgFile *file = VG_(fopen)(name, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY,
                              VKI_S_IRUSR | VKI_S_IWUSR | VKI_S_IRGRP | VKI_S_IROTH);

    if (file == NULL) {
        VG_(umsg)("cannot write the report to %s\n", name);
        VG_(free)(name);
        return;
    }
    VG_(fprintf)
    (file, "{\"seed\": %lld, \"started\": %llu, \"committed\": %llu, \"aborted\": {", options.seed,
     started, committed);
    for (Int cause = 0; cause < ABORT_CAUSES; cause++)
        VG_(fprintf)
    (file, "%s\"%s\": %llu", cause == 0 ? "" : ", ", cause_names[cause], aborted[cause]);
    VG_(fprintf)(file, "}}\n");
    VG_(fclose)(file);
    VG_(free)(name);
}

void report_print(void)
{
    if (VG_(clo_verbosity) > 0)
        print_text();
    if (options.output != NULL)
        print_json();
}
