/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See report.h. The first field of a line says what it is. docs/doctor.md tells the figures.
 */
#include "report.h"

#include "caches.h"
#include "origins.h"
#include "sections.h"

enum { TEXT_MOST = 2000 };

static VgFile *open_output(void)
{
    HChar *name = VG_(expand_file_name)("--setgrind-out", options.output);
    VgFile *file = VG_(fopen)(name, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY,
                              VKI_S_IRUSR | VKI_S_IWUSR | VKI_S_IRGRP | VKI_S_IROTH);

    if (file == NULL)
        VG_(fmsg)("--setgrind-out: %s cannot be written\n", name);
    VG_(free)(name);
    return file;
}

void report_init(void)
{
    VgFile *file;

    if (options.output == NULL)
        return;
    file = open_output();
    if (file == NULL)
        VG_(exit)(1);
    VG_(fclose)(file);
}

void report_begin(void)
{
    VgFile *file = options.output == NULL ? NULL : open_output();

    if (file == NULL)
        return;
    VG_(fprintf)(file, "setgrind\t1\n");
    VG_(fclose)(file);
}

static void write_counts(VgFile *file, const struct counts *counts)
{
    VG_(fprintf)
    (file, "\t%llu\t%llu\t%llu\t%llu", counts->visits, counts->misses, counts->full_misses,
     counts->within);
}

/* Text of the program's: what would part fields or lines becomes a blank. */
static void write_text(VgFile *file, HChar *text)
{
    for (HChar *at = text; *at != '\0'; at++) {
        if ((UChar)*at < ' ')
            *at = ' ';
    }
    VG_(fprintf)(file, "\t%s", text);
}

static void write_origin(VgFile *file, const struct origin *origin)
{
    static HChar name[TEXT_MOST], callers[TEXT_MOST];

    origins_describe(origin, name, callers, TEXT_MOST);
    write_text(file, name);
    write_text(file, callers);
}

static void write_tally(VgFile *file, struct tally *tally)
{
    UInt used = 0, most = 0;

    tallies_finish(tally);
    write_counts(file, &tally->all);
    write_counts(file, &tally->first);
    for (UInt set = 0; tally->worst.by_set != NULL && set < options.l1d.sets; set++) {
        used += tally->worst.by_set[set] > 0;
        if (tally->worst.by_set[set] > most)
            most = tally->worst.by_set[set];
    }
    VG_(fprintf)
    (file, "\t%llu\t%llu\t%lu\t%lu\t%u\t%u\t%u\t", tally->allocated, tally->live_most,
     tally->size_least, tally->size_most, tally->worst.hot, used, most);
    for (UInt set = 0; tally->worst.by_set != NULL && set < options.l1d.sets; set++)
        VG_(fprintf)(file, "%s%u", set == 0 ? "" : ",", tally->worst.by_set[set]);
}

static void write_site(struct origin *origin, void *file)
{
    if (origin->tally.allocated == 0)
        return;
    VG_(fprintf)(file, "site\t%u", origin->number);
    write_tally(file, &origin->tally);
    write_origin(file, origin);
    VG_(fprintf)(file, "\n");
}

static void write_size(struct tally *tally, UInt number, void *file)
{
    VG_(fprintf)(file, "size\t%u", number);
    write_tally(file, tally);
    VG_(fprintf)(file, "\t\t\n");
}

static void write_section(struct section *section, void *file)
{
    VG_(fprintf)
    (file, "section\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%u\t%u", section->origin->number,
     section->entered, section->overflowed, section->waited, section->held, section->lines,
     section->lines_most, section->in_set_most);
    write_origin(file, section->origin);
    VG_(fprintf)(file, "\n");
    for (UInt i = 0; i < SECTION_FILLERS_MOST && section->filler[i].lines > 0; i++) {
        const struct section_filler *filler = &section->filler[i];
        VG_(fprintf)
        (file, "filler\t%u\t%llu\t%lu", section->origin->number, filler->lines, filler->size);
        if (filler->origin != NULL)
            write_origin(file, filler->origin);
        else
            VG_(fprintf)(file, "\t\t");
        VG_(fprintf)(file, "\n");
    }
}

void report_write(void)
{
    VgFile *file = options.output == NULL ? NULL : open_output();

    if (file == NULL)
        return;
    VG_(fprintf)(file, "setgrind\t1\n");
    VG_(fprintf)
    (file, "geometry\t%u\t%u\t%u\n", options.l1d.sets, options.l1d.ways, options.l1d.line);
    VG_(fprintf)(file, "window\t%d\n", (Int)WINDOW_VISITS);
    VG_(fprintf)(file, "process\t%d\n", VG_(getpid)());
    VG_(fprintf)(file, "threads\t%u\n", cache_totals.threads);
    VG_(fprintf)(file, "accesses\t%llu\n", cache_totals.accesses);
    VG_(fprintf)(file, "heap");
    write_counts(file, &cache_totals.heap);
    VG_(fprintf)(file, "\nelsewhere");
    write_counts(file, &cache_totals.elsewhere);
    VG_(fprintf)(file, "\n");
    origins_each(write_site, file);
    tallies_each_size(write_size, file);
    sections_finish();
    sections_each(write_section, file);
    VG_(fprintf)(file, "end\n");
    VG_(fclose)(file);
}
