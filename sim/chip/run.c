/*
 * SPDX-License-Identifier: MIT
 *
 * One run; see run.h.
 */
#include "chip/run.h"

#include "chip/coherence/check.h"
#include "chip/sharing_report.h"
#include "chip/trace_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { SLICE = 1 << 18 }; /* accesses between two looks at the clock */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void tell(const struct run *run, const struct cores *cores, double begun)
{
    double passed = seconds() - begun, done = (double)cores->accesses;

    if (run->accesses > 0 && cores->accesses <= run->accesses)
        fprintf(stderr, "\rsimulated %3.0f%%, %.0f s left   ", 100 * done / (double)run->accesses,
                passed / done * ((double)run->accesses - done));
    else
        fprintf(stderr, "\rsimulated %.1f million accesses   ", done * 1e-6);
}

static void say_turns(const struct run *run, uint32_t threads)
{
    uint32_t cores = run->machine->core.count;

    if (threads > cores && !run->turns_told)
        fprintf(stderr, "mplace simulate: %u threads on %u cores: those of a core take turns\n",
                threads, cores);
}

static enum run_status judge(const struct run *run, const struct cores *cores)
{
    const char *finding = cores->fabric.check != NULL ? check_finding(cores->fabric.check) : NULL;

    if (cores->problem != NULL) {
        fprintf(stderr, "mplace simulate: %s: %s\n", run->paths[cores->problem_of], cores->problem);
        return RUN_BAD_INPUT;
    }
    if (finding != NULL) {
        fprintf(stderr, "mplace simulate: finding: %s\n", finding);
        return RUN_FINDING;
    }
    if (cores->running > 0) {
        fprintf(stderr,
                "mplace simulate: %u of %u threads of %s wait for one another and cannot go on\n",
                cores->running, cores->thread_count, run->paths[0]);
        return RUN_FINDING;
    }
    if (persistence_overlaps(cores->persistence) > 0)
        fprintf(stderr,
                "mplace simulate: %" PRIu64
                " accesses went on to blocks that another thread's open "
                "transaction had stored to, as all threads waited: no protocol makes such "
                "transactions atomic\n",
                persistence_overlaps(cores->persistence));
    if (cores->let_in > 0)
        fprintf(stderr,
                "mplace simulate: all threads waited for one another %" PRIu64
                " times, and one went on: locks were got by trying in the order of the capture\n",
                cores->let_in);
    return RUN_DONE;
}

/* The power cuts in a run that is over. */
static enum run_status cut_power(const struct run *run, struct cores *cores)
{
    if (run->power_cuts == 0 || persistence_is_none(cores->persistence))
        return RUN_DONE;
    if (!persistence_has_committed(cores->persistence)) {
        fprintf(stderr, "mplace simulate: --power-cuts: no transaction of %s stores to memory\n",
                run->paths[0]);
        return RUN_BAD_INPUT;
    }
    power_cuts_run(cores->persistence, run->power_cuts, run->seed, &cores->power_cuts);
    if (cores->power_cuts.findings == 0)
        return RUN_DONE;
    fprintf(stderr,
            "mplace simulate: %" PRIu64 " of %" PRIu64
            " power cuts have a finding, the first: %s\n",
            cores->power_cuts.findings, cores->power_cuts.cuts, cores->power_cuts.first);
    return RUN_FINDING;
}

enum run_status run_once(const struct run *run,
                         void (*report)(const struct cores *cores, void *context), void *context)
{
    static char problem[768];
    struct trace_sources sources;
    struct cores *cores = calloc(1, sizeof *cores);
    enum run_status status = RUN_BAD_INPUT;
    double begun = seconds();

    if (!trace_sources_open(&sources, run->paths, run->path_count, problem, sizeof problem)) {
        fprintf(stderr, "mplace simulate: %s\n", problem);
    } else if (cores == NULL ||
               !cores_init(cores, run->machine, sources.sources, sources.count, run->check)) {
        fputs("mplace simulate: out of memory\n", stderr);
        exit(1);
    } else {
        enum run_status cuts = RUN_DONE;

        if (run->sharing != NULL)
            cores_record_sharing(cores);
        if (run->power_cuts > 0)
            persistence_record(cores->persistence);
        say_turns(run, sources.count);
        while (cores_run(cores, SLICE))
            if (run->progress)
                tell(run, cores, begun);
        if (run->progress)
            fprintf(stderr, "\r%40s\r", "");
        status = judge(run, cores);
        if (status == RUN_DONE)
            cuts = cut_power(run, cores);
        if (cuts == RUN_BAD_INPUT)
            status = cuts;
        if (status == RUN_DONE)
            report(cores, context);
        if (status == RUN_DONE && run->sharing != NULL)
            sharing_report(cores, sources.traces, run->sharing);
        if (status == RUN_DONE)
            status = cuts;
        cores_destroy(cores);
    }
    trace_sources_close(&sources);
    free(cores);
    return status;
}
