/*
 * SPDX-License-Identifier: MIT
 *
 * A sweep; see sweep.h. Each run is a process, which writes its line and its JSON to a file without
 * a name that the parent made.
 */
#include "chip/sweep.h"

#include "chip/report.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
    FILE *line, *json;
    pid_t process;
    enum run_status status;
    bool turns_told; /* an earlier run has as many cores */
};

bool sweep_add(struct sweep *sweep, char *text, char *problem, size_t length)
{
    char *equals = strchr(text, '='), *rest;
    unsigned key = sweep->key_count;

    if (equals == NULL || equals[1] == '\0') {
        snprintf(problem, length, "--sweep '%s': expected KEY=VALUE,VALUE...", text);
        return false;
    }
    if (key == SWEEP_KEYS_MOST) {
        snprintf(problem, length, "--sweep: at most %d keys", SWEEP_KEYS_MOST);
        return false;
    }
    *equals = '\0';
    for (unsigned i = 0; i < key; i++) {
        if (strcmp(sweep->keys[i], text) == 0) {
            snprintf(problem, length,
                     "--sweep %s: it is swept already; give all values in one list", text);
            return false;
        }
    }
    sweep->keys[key] = text;
    rest = equals + 1;
    while (rest != NULL) {
        if (sweep->counts[key] == 64) {
            snprintf(problem, length, "--sweep %s: at most 64 values", text);
            return false;
        }
        sweep->values[key][sweep->counts[key]++] = strsep(&rest, ",");
    }
    sweep->key_count++;
    return true;
}

static unsigned runs_of(const struct sweep *sweep)
{
    unsigned long runs = 1;

    for (unsigned key = 0; key < sweep->key_count && runs <= SWEEP_RUNS_MOST; key++)
        runs *= sweep->counts[key];
    return runs > SWEEP_RUNS_MOST ? 0 : (unsigned)runs;
}

/* The value of a key in a run: the last key changes fastest. */
static const char *value_of(const struct sweep *sweep, unsigned run, unsigned key)
{
    for (unsigned i = sweep->key_count - 1; i > key; i--)
        run /= sweep->counts[i];
    return sweep->values[key][run % sweep->counts[key]];
}

static bool settings(const struct sweep *sweep, unsigned run, const struct machine *base,
                     struct machine *machine, char *problem, size_t length)
{
    *machine = *base;
    for (unsigned key = 0; key < sweep->key_count; key++)
        if (!machine_set(machine, sweep->keys[key], value_of(sweep, run, key), problem, length))
            return false;
    return machine_check(machine, problem, length);
}

static void report(const struct cores *cores, void *context)
{
    struct result *result = context;

    report_line(cores, result->line);
    report_json(cores, result->json, 6);
}

static void copy(FILE *from, FILE *to)
{
    char text[4096];
    size_t got;

    rewind(from);
    while ((got = fread(text, 1, sizeof text, from)) > 0)
        fwrite(text, 1, got, to);
    fclose(from);
}

static void begin(const struct sweep *sweep, const struct run *run, unsigned number,
                  struct result *result)
{
    struct machine machine;
    struct run own = *run;
    char problem[2048];

    result->line = tmpfile();
    result->json = tmpfile();
    fflush(NULL);
    result->process = result->line == NULL || result->json == NULL ? -1 : fork();
    if (result->process < 0) {
        fputs("mplace simulate: a process for a run cannot be made\n", stderr);
        exit(1);
    }
    if (result->process > 0)
        return;
    settings(sweep, number, run->machine, &machine, problem, sizeof problem);
    own.machine = &machine;
    own.progress = false;
    own.turns_told = result->turns_told;
    result->status = run_once(&own, report, result);
    fflush(result->line);
    fflush(result->json);
    _exit((int)result->status);
}

static void end(struct result *results, unsigned begun, unsigned *over)
{
    int status;
    pid_t process = wait(&status);

    for (unsigned i = 0; i < begun; i++) {
        if (results[i].process == process) {
            results[i].status =
                WIFEXITED(status) ? (enum run_status)WEXITSTATUS(status) : RUN_FINDING;
            ++*over;
        }
    }
}

/* Returns whether it wrote an object to `json`, which has some already unless it is the `first`. */
static bool write_result(const struct sweep *sweep, unsigned number, struct result *result,
                         FILE *table, FILE *json, bool first)
{
    for (unsigned key = 0; key < sweep->key_count; key++)
        fprintf(table, "%-20s ", value_of(sweep, number, key));
    if (result->status != RUN_DONE)
        fputs("failed", table);
    copy(result->line, table);
    fputc('\n', table);
    if (json == NULL || result->status != RUN_DONE) {
        fclose(result->json);
        return false;
    }
    fprintf(json, "%s\n  {\n    \"settings\": {", first ? "" : ",");
    for (unsigned key = 0; key < sweep->key_count; key++)
        fprintf(json, "%s\"%s\": \"%s\"", key == 0 ? "" : ", ", sweep->keys[key],
                value_of(sweep, number, key));
    fputs("},\n    \"result\": ", json);
    copy(result->json, json);
    fputs("\n  }", json);
    return true;
}

enum run_status sweep_run(const struct sweep *sweep, const struct run *run, FILE *table, FILE *json)
{
    unsigned runs = runs_of(sweep), begun = 0, over = 0, cpus = 1;
    enum run_status worst = RUN_DONE;
    struct result *results = calloc(runs + 1, sizeof *results);
    bool told[MACHINE_CORES_MOST + 1] = {false}, first = true;
    struct machine machine;
    char problem[2048];
    cpu_set_t set;

    for (unsigned i = 0; results != NULL && i < runs; i++) {
        if (!settings(sweep, i, run->machine, &machine, problem, sizeof problem)) {
            fprintf(stderr, "mplace simulate: %s\n", problem);
            free(results);
            return RUN_BAD_INPUT;
        }
        results[i].turns_told = told[machine.core.count];
        told[machine.core.count] = true;
    }
    if (runs == 0 || results == NULL) {
        fprintf(stderr, "mplace simulate: --sweep: at most %d runs\n", SWEEP_RUNS_MOST);
        free(results);
        return RUN_BAD_INPUT;
    }
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cpus = (unsigned)CPU_COUNT(&set);
    while (over < runs) {
        while (begun < runs && begun - over < cpus) {
            begin(sweep, run, begun, &results[begun]);
            begun++;
        }
        end(results, begun, &over);
        if (run->progress)
            fprintf(stderr, "\r%u of %u runs simulated   ", over, runs);
    }
    if (run->progress)
        fprintf(stderr, "\r%40s\r", "");
    for (unsigned key = 0; key < sweep->key_count; key++)
        fprintf(table, "%-20s ", sweep->keys[key]);
    fprintf(table, "%15s %10s %15s %12s  (simulated)\n", "cycles", "latency", "flit hops",
            "energy, uJ");
    if (json != NULL)
        fputc('[', json);
    for (unsigned i = 0; i < runs; i++) {
        if (write_result(sweep, i, &results[i], table, json, first))
            first = false;
        if (results[i].status > worst)
            worst = results[i].status;
    }
    if (json != NULL)
        fputs("\n]\n", json);
    free(results);
    return worst;
}
