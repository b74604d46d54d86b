/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rtmgrind: Intel RTM on processors without it, as a Valgrind tool. See README.md.
 */
#include "rtmgrind/common/options.h"
#include "rtmgrind/kernel.h"
#include "rtmgrind/processors/schedule.h"
#include "rtmgrind/report/report.h"
#include "rtmgrind/rtmgrind.h"
#include "rtmgrind/transactions/futex.h"
#include "rtmgrind/transactions/pages.h"
#include "rtmgrind/transactions/transaction.h"
#include "rtmgrind/translation/instrument.h"

static void after_options(void)
{
    options_complete();
    report_init();
    futex_init();
    transactions_init();
    schedule_init();
    pages_init();
}

static void at_end(Int exit_code)
{
    report_print();
}

/* A transaction that asked has been aborted before this. */
static Bool answer(ThreadId thread, UWord *request, UWord *reply)
{
    if (request[0] != RTMGRIND_REQUEST_SEED)
        return False;
    schedule_seed(request[1]);
    *reply = 0;
    return True;
}

static void before_options(void)
{
    VG_(details_name)("rtmgrind");
    VG_(details_version)(NULL);
    VG_(details_description)("Intel RTM, emulated, with modelled caches");
    VG_(details_copyright_author)("Copyright (C) 2026 and GNU GPL'd, by the mplace authors.");
    VG_(details_bug_reports_to)("the mplace authors");
    VG_(details_avg_translation_sizeB)(600);
    VG_(basic_tool_funcs)(after_options, instrument, at_end);
    options_init();
    VG_(needs_command_line_options)(options_parse, options_usage, options_debug_usage);
    VG_(needs_client_requests)(answer);
    kernel_init();
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
