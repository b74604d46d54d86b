/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See describe.h.
 */
#include "rtmgrind/counts/describe.h"

#include "program_calls/objects.h"
#include "text/utf_8.h"

#include "system_call_names.h" /* made of Valgrind's headers by CMakeLists.txt */

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

void describe_write_string(struct output *file, const HChar *text)
{
    output_format(file, "\"");
    while (*text != '\0') {
        UInt length = utf_8_length(text), bytes = length > 0 ? length : 1;

        if (length == 1 && (UChar)*text < ' ')
            output_format(file, "\\u%04x", (UChar)*text);
        else if (*text == '"' || *text == '\\')
            output_format(file, "\\%c", *text);
        else if (length == 0)
            output_format(file, "?");
        else
            for (UInt i = 0; i < bytes; i++)
                output_format(file, "%c", text[i]);
        text += bytes;
    }
    output_format(file, "\"");
}

struct stack {
    struct output *file;
    Bool some;
};

static void write_frame(UInt number, DiEpoch epoch, Addr instruction, void *argument)
{
    struct stack *stack = argument;

    output_format(stack->file, "%s", stack->some ? ", " : "");
    stack->some = True;
    describe_write_string(stack->file, VG_(describe_IP)(epoch, instruction, NULL));
}

void describe_write_stack(struct output *file, const HChar *key, ExeContext *calls)
{
    struct stack stack = {file, False};

    if (calls == NULL)
        return;
    output_format(file, ", \"%s\": [", key);
    VG_(apply_ExeContext)(write_frame, &stack, calls);
    output_format(file, "]");
}

const HChar *describe_system_call(UInt number)
{
    for (UInt i = 0; i < sizeof system_call_names / sizeof *system_call_names; i++) {
        if (system_call_names[i].number == number)
            return system_call_names[i].name;
    }
    return NULL;
}

static const HChar *const other_libraries[] = {"libstdc++.so", "libgcc_s.so", "libttstle_lock.so",
                                               NULL};

static void read_caller(UInt number, DiEpoch epoch, Addr instruction, void *argument)
{
    if (number == 1)
        *(Bool *)argument = object_is_c_library(epoch, instruction);
}

Bool describe_is_called_by_c_library(ExeContext *calls)
{
    Bool it_is = False;

    VG_(apply_ExeContext)(read_caller, &it_is, calls);
    return it_is;
}

/* Libraries whose functions a reader takes for one step: what matters is who called them. */
static Bool is_of_system(DiEpoch epoch, Addr instruction)
{
    return object_is_c_library(epoch, instruction) ||
           object_is_one_of(epoch, instruction, other_libraries);
}

/* "function (file:line)" of one level of inlining, or as addr2line wants it: "function
 * (object+0x12)", "object+0x12". Good until the next call. */
static const HChar *describe_frame(DiEpoch epoch, Addr instruction, const InlIPCursor *level)
{
    static HChar text[2000];
    const HChar *object, *function, *file, *whole;
    DebugInfo *info = VG_(find_DebugInfo)(epoch, instruction);
    UInt line;

    if (VG_(get_filename_linenum)(epoch, instruction, &file, NULL, &line) || info == NULL ||
        !VG_(get_objname)(epoch, instruction, &object)) {
        whole = VG_(describe_IP)(epoch, instruction, level);
        return VG_(strstr)(whole, ": ") == NULL ? whole : VG_(strstr)(whole, ": ") + 2;
    }
    Addr offset = instruction - (Addr)VG_(DebugInfo_get_text_bias)(info);
    if (VG_(get_fnname)(epoch, instruction, &function))
        VG_(snprintf)
    (text, sizeof text, "%s (%s+0x%lx)", function, object_file_name(object), offset);
    else VG_(snprintf)(text, sizeof text, "%s+0x%lx", object_file_name(object), offset);
    return text;
}

/* The functions that were inlined there, the innermost first, and the one that has the code. */
static void write_levels(struct stack *stack, DiEpoch epoch, Addr instruction)
{
    InlIPCursor *level = VG_(new_IIPC)(epoch, instruction);

    do {
        output_format(stack->file, "%s", stack->some ? ", " : "");
        stack->some = True;
        describe_write_string(stack->file, describe_frame(epoch, instruction, level));
    } while (VG_(next_IIPC)(level));
    VG_(delete_IIPC)(level);
}

void describe_write_code(struct output *file, const HChar *key, Addr instruction)
{
    struct stack stack = {file, False};

    if (instruction == 0)
        return;
    output_format(file, ", \"%s\": [", key);
    write_levels(&stack, VG_(current_DiEpoch)(), instruction);
    output_format(file, "]");
}

Bool describe_static_data(Addr data, const HChar **object, Addr *offset)
{
    const NSegment *segment = VG_(am_find_nsegment)(data);

    /* Not every section has a name that Valgrind knows; nor is all of a file's memory mapped of it.
     */
    if (VG_(DebugInfo_sect_kind)(object, data) == Vg_SectUnknown) {
        *object = segment == NULL ? NULL : VG_(am_get_filename)(segment);
        if (*object == NULL)
            return False;
    }
    for (const DebugInfo *info = VG_(next_DebugInfo)(NULL); info != NULL;
         info = VG_(next_DebugInfo)(info)) {
        if (VG_(strcmp)(VG_(DebugInfo_get_filename)(info), *object) != 0)
            continue;
        *offset = data - (Addr)VG_(DebugInfo_get_text_bias)(info);
        *object = object_file_name(*object);
        return True;
    }
    return False;
}

struct place {
    struct stack stack;
    Bool inside; /* of the system's libraries, so far */
    Addr through;
};

static void write_place_frame(UInt number, DiEpoch epoch, Addr instruction, void *argument)
{
    struct place *place = argument;

    place->inside = place->inside && is_of_system(epoch, instruction);
    if (place->inside)
        place->through = instruction;
    else
        write_levels(&place->stack, epoch, instruction);
}

void describe_write_place(struct output *file, const HChar *key, ExeContext *calls)
{
    struct place place = {.stack = {file, False}, .inside = True};
    const HChar *name;

    if (calls == NULL)
        return;
    output_format(file, ", \"%s\": [", key);
    VG_(apply_ExeContext)(write_place_frame, &place, calls);
    output_format(file, "]");
    if (place.through == 0 ||
        !VG_(get_fnname)(VG_(get_ExeContext_epoch)(calls), place.through, &name))
        return;
    output_format(file, ", \"through\": ");
    describe_write_string(file, name);
}
