/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See report.h. The first field of a line says what it is. docs/doctor.md tells the figures.
 */
#include "report.h"

#include "caches.h"
#include "origins.h"
#include "sections.h"

#include "program_calls/output.h"

static struct output output;

static Bool open_output(void)
{
    return output_open(&output, "--setgrind-out", options.output);
}

/* What cannot be written is told of once. */
static void close_output(void)
{
    if (!output_close(&output))
        options.output = NULL;
}

void report_init(void)
{
    if (options.output == NULL)
        return;
    if (!open_output())
        VG_(exit)(1);
    close_output();
}

void report_begin(void)
{
    if (options.output == NULL || !open_output())
        return;
    output_format(&output, "setgrind\t1\n");
    close_output();
}

static void write_counts(struct output *file, const struct counts *counts)
{
    output_format(file, "\t%llu\t%llu\t%llu\t%llu", counts->visits, counts->misses,
                  counts->full_misses, counts->within);
}

/* Text of the program's: what would part fields or lines becomes a blank. */
static void write_text(struct output *file, const HChar *said)
{
    static HChar text[ORIGIN_TEXT_MOST];

    VG_(strncpy)(text, said, ORIGIN_TEXT_MOST - 1);
    for (HChar *at = text; *at != '\0'; at++) {
        if ((UChar)*at < ' ')
            *at = ' ';
    }
    output_format(file, "\t%s", text);
}

static void write_origin(struct output *file, const struct origin *origin)
{
    write_text(file, origin->name);
    write_text(file, origin->callers);
}

static void write_tally(struct output *file, struct tally *tally)
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
    output_format(file, "\t%llu\t%llu\t%lu\t%lu\t%u\t%u\t%u\t", tally->allocated, tally->live_most,
                  tally->size_least, tally->size_most, tally->worst.hot, used, most);
    for (UInt set = 0; tally->worst.by_set != NULL && set < options.l1d.sets; set++)
        output_format(file, "%s%u", set == 0 ? "" : ",", tally->worst.by_set[set]);
}

static void write_site(struct origin *origin, void *file)
{
    if (origin->tally.allocated == 0)
        return;
    output_format(file, "site\t%u", origin->number);
    write_tally(file, &origin->tally);
    write_origin(file, origin);
    output_format(file, "\n");
}

static void write_size(struct tally *tally, UInt number, void *file)
{
    output_format(file, "size\t%u", number);
    write_tally(file, tally);
    output_format(file, "\t\t\n");
}

static void write_section(struct section *section, void *file)
{
    output_format(file, "section\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%u\t%u",
                  section->origin->number, section->entered, section->overflowed, section->waited,
                  section->held, section->lines, section->lines_most, section->in_set_most);
    write_origin(file, section->origin);
    output_format(file, "\n");
    for (UInt i = 0; i < SECTION_FILLERS_MOST && section->filler[i].lines > 0; i++) {
        const struct section_filler *filler = &section->filler[i];
        output_format(file, "filler\t%u\t%llu\t%lu", section->origin->number, filler->lines,
                      filler->size);
        if (filler->origin != NULL)
            write_origin(file, filler->origin);
        else
            output_format(file, "\t\t");
        output_format(file, "\n");
    }
}

static void write_all(const HChar *becomes)
{
    struct output *file = &output;

    output_format(file, "setgrind\t1\n");
    output_format(file, "geometry\t%u\t%u\t%u\n", options.l1d.sets, options.l1d.ways,
                  options.l1d.line);
    output_format(file, "window\t%d\n", (Int)WINDOW_VISITS);
    output_format(file, "process\t%d\n", VG_(getpid)());
    output_format(file, "threads\t%u\n", cache_totals.threads);
    output_format(file, "accesses\t%llu\n", cache_totals.accesses);
    output_format(file, "heap");
    write_counts(file, &cache_totals.heap);
    output_format(file, "\nelsewhere");
    write_counts(file, &cache_totals.elsewhere);
    output_format(file, "\n");
    origins_each(write_site, file);
    tallies_each_size(write_size, file);
    sections_finish();
    sections_each(write_section, file);
    if (becomes != NULL) {
        output_format(file, "becomes");
        write_text(file, becomes);
        output_format(file, "\n");
    }
    output_format(file, "end\n");
    close_output();
}

void report_write(void)
{
    if (options.output != NULL && open_output())
        write_all(NULL);
}

static HChar *before_exec; /* expanded; NULL: there is none, or it is the program's own file */

/* Sets before_exec; returns the name of the report, to be freed. */
static HChar *name_before_exec(void)
{
    enum { NUMBER_MOST = 1000, ROOM = 16 };
    SizeT size = VG_(strlen)(options.output) + ROOM;
    HChar *name = VG_(malloc)("setgrind.name", size);
    struct vg_stat status;

    VG_(strcpy)(name, options.output);
    if (VG_(strstr)(name, "%p") == NULL)
        return name;
    for (UInt number = 1; number < NUMBER_MOST; number++) {
        VG_(snprintf)(name, (Int)size, "%s.%u", options.output, number);
        before_exec = VG_(expand_file_name)("--setgrind-out", name);
        if (sr_isError(VG_(stat)(before_exec, &status)))
            break;
        VG_(free)(before_exec);
        before_exec = NULL;
    }
    return name;
}

void report_write_before_exec(const HChar *becomes)
{
    if (options.output == NULL)
        return;
    HChar *name = name_before_exec();
    if (output_open(&output, "--setgrind-out", name))
        write_all(becomes);
    VG_(free)(name);
}

void report_exec_failed(void)
{
    if (before_exec == NULL)
        return;
    VG_(unlink)(before_exec);
    VG_(free)(before_exec);
    before_exec = NULL;
}
