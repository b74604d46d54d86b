/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See origins.h.
 */
#include "origins.h"

#include "program_calls/objects.h"
#include "pub_tool_wordfm.h"
#include "pub_tool_xarray.h"

static struct origin **by_stack; /* by the number of the ExeContext; NULL: not met yet */
static UInt by_stack_room;
static WordFM *by_text;
static XArray *all; /* in order of their numbers */

static Bool begins_with(const HChar *text, const HChar *beginning)
{
    return VG_(strncmp)(text, beginning, VG_(strlen)(beginning)) == 0;
}

/* Functions of the language's library that a program's own code is instantiated from. The names of
 * templates have the type that they return before them. */
static Bool is_library_function(const HChar *function)
{
    static const HChar *const beginnings[] = {"std::", "__gnu_cxx::", "__gthread", "operator new"};

    for (;;) {
        for (UInt i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
            if (begins_with(function, beginnings[i]))
                return True;
        }
        while (*function != '\0' && *function != ' ' && *function != '(')
            function++;
        if (*function != ' ')
            return False;
        function++;
    }
}

/* The text of a level of inlining, "0x1234: function (file:line)", without the address. */
static const HChar *level_text(DiEpoch epoch, Addr frame, const InlIPCursor *level)
{
    const HChar *text = VG_(describe_IP)(epoch, frame, level);
    const HChar *colon = VG_(strstr)(text, ": ");

    return colon == NULL ? text : colon + 2;
}

static Bool is_system_path(const HChar *path)
{
    return begins_with(path, "/usr/include/") || begins_with(path, "/usr/lib/gcc/");
}

/* "function (file:line)" of a text that may have the whole path, with --fullpath-after=. */
static void copy_without_folder(HChar *text, SizeT size, const HChar *here)
{
    const HChar *place = VG_(strrchr)(here, '(');
    SizeT length = place == NULL ? 0 : (SizeT)(place + 1 - here);

    if (length >= size)
        length = 0;
    VG_(memcpy)(text, here, length);
    VG_(snprintf)(text + length, (Int)(size - length), "%s", object_file_name(here + length));
}

/* Whether the frame has a level that a reader would look for, and the text of the innermost one.
 * Functions that were inlined have no more than their last name: their file tells what they are. */
static Bool find_level(DiEpoch epoch, Addr frame, HChar *text, SizeT size)
{
    InlIPCursor *level = VG_(new_IIPC)(epoch, frame);
    Bool found = False;

    do {
        const HChar *here = level_text(epoch, frame, level);
        const HChar *place = VG_(strrchr)(here, '(');
        found = !is_library_function(here) && (place == NULL || !is_system_path(place + 1));
        if (found && text != NULL)
            copy_without_folder(text, size, here);
    } while (!found && VG_(next_IIPC)(level));
    VG_(delete_IIPC)(level);
    return found;
}

static Bool is_below_main(DiEpoch epoch, Addr frame)
{
    const HChar *name;

    return VG_(get_fnname)(epoch, frame, &name) && VG_(strcmp)(name, "(below main)") == 0;
}

static void collect(UInt number, DiEpoch epoch, Addr frame, void *argument)
{
    struct origin *origin = argument;

    if (number == 0) { /* the watched function, until there is more */
        origin->frame[0] = frame;
        return;
    }
    if (origin->frames == ORIGIN_FRAMES_MOST || is_below_main(epoch, frame))
        return;
    if (origin->frames > 0 && origin->frame[origin->frames - 1] == frame)
        return;
    origin->frame[origin->frames++] = frame;
}

/* Cuts off the frames beyond the callers that count. */
static void name_it(struct origin *origin)
{
    UInt last;

    if (origin->frames == 0)
        origin->frames = 1;
    /* The last one has the name where none is better. */
    for (origin->named = 0; origin->named + 1 < origin->frames; origin->named++) {
        Addr frame = origin->frame[origin->named];
        if (find_level(origin->epoch, frame, NULL, 0))
            break;
    }
    last = origin->named + 1 + (UInt)options.callers;
    if (origin->frames > last)
        origin->frames = last;
}

static Word compare(UWord left, UWord right)
{
    const struct origin *a = (const struct origin *)left, *b = (const struct origin *)right;
    Int names = VG_(strcmp)(a->name, b->name);

    return names != 0 ? names : VG_(strcmp)(a->callers, b->callers);
}

/* What a frame is called; its object's own address where nothing else is known, as tools that read
 * the file want it. */
static void describe(const struct origin *origin, UInt number, HChar *text, SizeT size)
{
    Addr frame = origin->frame[number];
    const HChar *function, *object, *file;
    const DebugInfo *info;
    UInt line;

    if (VG_(get_filename_linenum)(origin->epoch, frame, &file, NULL, &line)) {
        if (!find_level(origin->epoch, frame, text, size))
            copy_without_folder(text, size, level_text(origin->epoch, frame, NULL));
        return;
    }
    info = VG_(find_DebugInfo)(origin->epoch, frame);
    if (!VG_(get_objname)(origin->epoch, frame, &object) || info == NULL) {
        VG_(snprintf)(text, (Int)size, "code at 0x%lx", frame);
        return;
    }
    frame -= (Addr)VG_(DebugInfo_get_text_bias)(info);
    if (VG_(get_fnname)(origin->epoch, origin->frame[number], &function))
        VG_(snprintf)(text, (Int)size, "%s (%s+0x%lx)", function, object_file_name(object), frame);
    else
        VG_(snprintf)(text, (Int)size, "%s+0x%lx", object_file_name(object), frame);
}

static void describe_callers(const struct origin *origin, HChar *callers, SizeT size)
{
    callers[0] = '\0';
    for (UInt i = origin->named + 1; i < origin->frames; i++) {
        SizeT used = VG_(strlen)(callers);
        if (used + 8 > size)
            break;
        if (used > 0) {
            VG_(strcpy)(callers + used, ", ");
            used += 2;
        }
        describe(origin, i, callers + used, size - used);
    }
}

static struct origin *find_or_make(ExeContext *stack)
{
    static HChar name[ORIGIN_TEXT_MOST], callers[ORIGIN_TEXT_MOST];
    struct origin wanted = {
        .epoch = VG_(get_ExeContext_epoch)(stack), .name = name, .callers = callers};
    struct origin *origin;
    UWord key, value;

    VG_(apply_ExeContext)(collect, &wanted, stack);
    name_it(&wanted);
    describe(&wanted, wanted.named, name, sizeof name);
    describe_callers(&wanted, callers, sizeof callers);
    if (by_text == NULL) {
        by_text = VG_(newFM)(VG_(malloc), "setgrind.origins", VG_(free), compare);
        all = VG_(newXA)(VG_(malloc), "setgrind.origins", VG_(free), sizeof(struct origin *));
    }
    if (VG_(lookupFM)(by_text, &key, &value, (UWord)&wanted))
        return (struct origin *)key;
    origin = VG_(malloc)("setgrind.origin", sizeof *origin);
    *origin = wanted;
    origin->name = VG_(strdup)("setgrind.name", name);
    origin->callers = VG_(strdup)("setgrind.callers", callers);
    VG_(addToFM)(by_text, (UWord)origin, 0);
    origin->number = (UInt)VG_(addToXA)(all, &origin) + 1;
    return origin;
}

struct origin *origins_of(ExeContext *stack)
{
    UInt number = VG_(get_ECU_from_ExeContext)(stack) / 4; /* they are multiples of four */

    if (number >= by_stack_room) {
        UInt room = 2 * number + 1024;
        by_stack = VG_(realloc)("setgrind.stacks", by_stack, room * sizeof *by_stack);
        VG_(memset)(by_stack + by_stack_room, 0, (room - by_stack_room) * sizeof *by_stack);
        by_stack_room = room;
    }
    if (by_stack[number] == NULL)
        by_stack[number] = find_or_make(stack);
    return by_stack[number];
}

void origins_each(void (*report)(struct origin *origin, void *argument), void *argument)
{
    for (Word i = 0; all != NULL && i < VG_(sizeXA)(all); i++)
        report(*(struct origin **)VG_(indexXA)(all, i), argument);
}
