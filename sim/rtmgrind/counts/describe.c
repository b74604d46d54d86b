/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See describe.h.
 */
#include "rtmgrind/counts/describe.h"

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

const HChar *describe_cause(enum abort_cause cause)
{
    return cause_names[cause];
}

UInt describe_set(Addr data)
{
    return cache_model_set_of(&transactions[0].footprint.l1d, data);
}

const HChar *describe_code(Addr instruction)
{
    return VG_(describe_IP)(VG_(current_DiEpoch)(), instruction, NULL);
}

Bool describe_data(Addr data, const HChar **name, PtrdiffT *offset)
{
    return VG_(get_datasym_and_offset)(VG_(current_DiEpoch)(), data, name, offset);
}

void describe_write_string(VgFile *file, const HChar *text)
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

struct stack {
    VgFile *file;
    Bool some;
};

static void write_frame(UInt number, DiEpoch epoch, Addr instruction, void *argument)
{
    struct stack *stack = argument;

    VG_(fprintf)(stack->file, "%s", stack->some ? ", " : "");
    stack->some = True;
    describe_write_string(stack->file, VG_(describe_IP)(epoch, instruction, NULL));
}

void describe_write_stack(VgFile *file, const HChar *key, ExeContext *calls)
{
    struct stack stack = {file, False};

    if (calls == NULL)
        return;
    VG_(fprintf)(file, ", \"%s\": [", key);
    VG_(apply_ExeContext)(write_frame, &stack, calls);
    VG_(fprintf)(file, "]");
}
