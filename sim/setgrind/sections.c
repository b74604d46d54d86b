/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See sections.h.
 */
#include "sections.h"

#include "blocks.h"
#include "caches.h"

#include "pub_tool_xarray.h"

/* What locks a robust mutex whose owner has ended; Valgrind has no name for it. */
enum { EOWNER_DEAD = 130 };

/* A thread's way through its sections. */
struct progress {
    UInt depth;   /* locks held */
    UInt section; /* the index of the one it is in; valid if `inside` */
    Bool inside, overflowed;
    UInt lines;
    UShort *in_set; /* lines written in each set */
};

static XArray *sections; /* struct section */
static UInt *by_origin;  /* index + 1, by the number of the origin */
static UInt by_origin_room;
static struct progress *progress; /* by thread */

static struct section *section_of(const struct progress *thread)
{
    return VG_(indexXA)(sections, thread->section);
}

static UInt find_or_make(const struct origin *origin)
{
    if (origin->number >= by_origin_room) {
        UInt room = 2 * origin->number + 64;
        by_origin = VG_(realloc)("setgrind.sections", by_origin, room * sizeof *by_origin);
        VG_(memset)(by_origin + by_origin_room, 0, (room - by_origin_room) * sizeof *by_origin);
        by_origin_room = room;
    }
    if (by_origin[origin->number] == 0) {
        struct section section = {.origin = origin};
        by_origin[origin->number] = (UInt)VG_(addToXA)(sections, &section) + 1;
    }
    return by_origin[origin->number] - 1;
}

static void begin(ThreadId number, const struct origin *origin)
{
    struct progress *thread = &progress[number];

    thread->section = find_or_make(origin);
    thread->inside = True;
    thread->overflowed = False;
    thread->lines = 0;
    if (thread->in_set == NULL)
        thread->in_set = VG_(malloc)("setgrind.in_set", options.l1d.sets * sizeof(UShort));
    VG_(memset)(thread->in_set, 0, options.l1d.sets * sizeof(UShort));
    section_of(thread)->entered++;
    caches_begin_marking(number);
}

static void end(ThreadId number, Bool waits_now)
{
    struct progress *thread = &progress[number];
    struct section *section;

    if (!thread->inside)
        return;
    thread->inside = False;
    caches_end_marking(number);
    section = section_of(thread);
    section->waited += waits_now;
    section->lines += thread->lines;
    if (thread->lines > section->lines_most)
        section->lines_most = thread->lines;
    for (UInt set = 0; set < options.l1d.sets; set++) {
        if (thread->in_set[set] > section->in_set_most)
            section->in_set_most = thread->in_set[set];
    }
}

void sections_entered(ThreadId thread, struct program_call *call)
{
    if (lock_call_is_of_c_library(call))
        return;
    switch (call->kind) {
    case LOCK_CALL_LOCK:
        call->origin = VG_(record_ExeContext)(thread, 0);
        break;
    case LOCK_CALL_UNLOCK:
        if (progress[thread].depth > 0 && --progress[thread].depth == 0)
            end(thread, False);
        break;
    default:
        end(thread, True);
        break;
    }
}

void sections_returned(ThreadId thread, const struct program_call *call, UWord result)
{
    Bool held = (UInt)result == 0 || (UInt)result == EOWNER_DEAD;

    /* Without an origin it is the C library's. */
    if (call->kind == LOCK_CALL_LOCK && call->origin != NULL && held &&
        progress[thread].depth++ == 0)
        begin(thread, origins_of(call->origin));
}

static void sections_wrote(ThreadId number, Addr line)
{
    struct progress *thread = &progress[number];

    if (thread->overflowed)
        return;
    thread->lines++;
    thread->in_set[set_of(line)]++;
}

static void blame(struct section *section, Addr line)
{
    UInt number = blocks_number_at(line);
    const struct block *block = number == 0 ? NULL : blocks_by_number(number);
    const struct origin *origin = block == NULL ? NULL : block->origin;

    for (UInt i = 0; i < SECTION_FILLERS_MOST; i++) {
        struct section_filler *filler = &section->filler[i];
        if (filler->lines != 0 && filler->origin != origin)
            continue;
        filler->origin = origin;
        filler->lines++;
        if (block != NULL && block->size > filler->size)
            filler->size = block->size;
        return;
    }
    section->other_fillers++;
}

static void sections_lost(ThreadId number, Addr line)
{
    struct progress *thread = &progress[number];
    Addr lines[CACHE_MODEL_WAYS_MOST];
    struct section *section;
    UInt count;

    if (!thread->inside || thread->overflowed)
        return;
    thread->overflowed = True;
    section = section_of(thread);
    section->overflowed++;
    count = caches_marked_lines(number, set_of(line), lines);
    blame(section, line);
    for (UInt i = 0; i < count; i++)
        blame(section, lines[i]);
}

void sections_thread_is_new(ThreadId thread)
{
    progress[thread].depth = 0;
    progress[thread].inside = False;
}

void sections_finish(void)
{
    for (ThreadId thread = 1; thread < VG_N_THREADS; thread++) {
        if (progress[thread].inside) {
            section_of(&progress[thread])->held++;
            end(thread, False);
        }
    }
}

void sections_reset(void)
{
    for (Word i = 0; i < VG_(sizeXA)(sections); i++) {
        struct section *section = VG_(indexXA)(sections, i);
        *section = (struct section){.origin = section->origin};
    }
}

void sections_init(void)
{
    caches_watch(sections_wrote, sections_lost);
    progress = VG_(calloc)("setgrind.progress", VG_N_THREADS, sizeof *progress);
    sections = VG_(newXA)(VG_(malloc), "setgrind.sections", VG_(free), sizeof(struct section));
}

void sections_each(void (*report)(struct section *section, void *argument), void *argument)
{
    for (Word i = 0; i < VG_(sizeXA)(sections); i++) {
        struct section *section = VG_(indexXA)(sections, i);
        if (section->entered > 0)
            report(section, argument);
    }
}
