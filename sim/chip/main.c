/*
 * SPDX-License-Identifier: MIT
 *
 * mplace-chip: replays traces on a simulated machine. Behind `mplace simulate` and `mplace
 * machines`.
 */
#include "chip/report.h"
#include "chip/sweep.h"
#include "chip/trace_source.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: mplace-chip [OPTION]... TRACE...\n"
    "       mplace-chip --keys [--machine FILE] [--set KEY=VALUE]...\n"
    "\n"
    "  --machine FILE         the machine (default: the machine flask16)\n"
    "  --parts FOLDER         where memory.part finds its files (default: parts, beside FILE)\n"
    "  --set KEY=VALUE        change one key of it\n"
    "  --sweep KEY=V1,V2,...  a run for each value; with several, for each combination\n"
    "  --check                check coherence after each event\n"
    "  --json FILE            write the result as JSON, too\n"
    "  --sharing FILE         write which lines moved between cores, and why, as JSON\n"
    "  --power-cuts N         cut the power in N random cycles: what recovery leaves must be "
    "right\n"
    "  --seed N               of these cycles (default: 1)\n"
    "  --keys                 print the machine, each key with its meaning and range\n"
    "  --help                 this text\n"
    "  --version              which version this is\n"
    "\n"
    "Exit status: 0 done, 1 a finding or a replay that cannot go on, 2 bad arguments, machine or "
    "trace.\n";

/* A result stays in memory until the run is over: one that is refused leaves the file as it was. */
struct result_file {
    const char *path; /* NULL: nobody asks */
    FILE *stream;
    char *text;
    size_t length;
};

struct options {
    struct machine machine;
    struct sweep sweep;
    struct run run;
    struct result_file json, sharing;
    bool keys;
};

/* Whose messages these are. */
static const char *subcommand = "simulate";

static int bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int bad(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "mplace %s: ", subcommand);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return RUN_BAD_INPUT;
}

static int set(struct machine *machine, char *text)
{
    char *equals = strchr(text, '='), problem[2048];

    if (equals == NULL)
        return bad("--set '%s': expected KEY=VALUE", text);
    *equals = '\0';
    if (!machine_set(machine, text, equals + 1, problem, sizeof problem))
        return bad("%s", problem);
    return 0;
}

/* The moments of all are kept, 8 bytes each. */
enum { POWER_CUTS_MOST = 1000000000 };

static bool count(const char *text, uint64_t *number)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* 0: go on; else 1 + the exit status. */
static int parse(struct options *options, int argc, char **argv)
{
    enum {
        MACHINE = 1,
        PARTS,
        SET,
        SWEEP,
        CHECK,
        JSON,
        SHARING,
        POWER_CUTS,
        SEED,
        KEYS,
        HELP,
        VERSION
    };
    static const struct option known[] = {
        {"machine", required_argument, NULL, MACHINE},
        {"parts", required_argument, NULL, PARTS},
        {"set", required_argument, NULL, SET},
        {"sweep", required_argument, NULL, SWEEP},
        {"check", no_argument, NULL, CHECK},
        {"json", required_argument, NULL, JSON},
        {"sharing", required_argument, NULL, SHARING},
        {"power-cuts", required_argument, NULL, POWER_CUTS},
        {"seed", required_argument, NULL, SEED},
        {"keys", no_argument, NULL, KEYS},
        {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},
        {0},
    };
    char problem[2048];
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        switch (option) {
        case MACHINE:
            if (!machine_read(&options->machine, optarg, problem, sizeof problem))
                return 1 + bad("%s", problem);
            break;
        case PARTS:
            machine_parts(&options->machine, optarg);
            break;
        case SET:
            if (set(&options->machine, optarg) != 0)
                return 1 + RUN_BAD_INPUT;
            break;
        case SWEEP:
            if (!sweep_add(&options->sweep, optarg, problem, sizeof problem))
                return 1 + bad("%s", problem);
            break;
        case CHECK:
            options->run.check = true;
            break;
        case JSON:
            options->json.path = optarg;
            break;
        case SHARING:
            options->sharing.path = optarg;
            break;
        case POWER_CUTS:
            if (!count(optarg, &options->run.power_cuts) || options->run.power_cuts == 0 ||
                options->run.power_cuts > POWER_CUTS_MOST)
                return 1 + bad("--power-cuts '%s': expected a number from 1 to %d", optarg,
                               POWER_CUTS_MOST);
            break;
        case SEED:
            if (!count(optarg, &options->run.seed))
                return 1 + bad("--seed '%s': expected a number", optarg);
            break;
        case KEYS:
            options->keys = true;
            subcommand = "machines";
            break;
        case HELP:
            fputs(usage, stdout);
            return 1;
        case VERSION:
            puts("mplace-chip (mplace) " MPLACE_VERSION);
            return 1;
        default:
            return 1 + bad("'%s' is no option, or lacks its value (--help)", argv[optind - 1]);
        }
    }
    if (options->sharing.path != NULL && options->sweep.key_count > 0)
        return 1 + bad("--sharing and --sweep do not go together");
    if (options->sharing.path != NULL && options->machine.block > SHARING_BLOCK_MOST)
        return 1 + bad("--sharing: block = %u: blocks of up to %d bytes can be looked into",
                       options->machine.block, SHARING_BLOCK_MOST);
    if (options->run.power_cuts > 0 && options->sweep.key_count == 0 &&
        options->machine.persistence.protocol == MACHINE_NO_PERSISTENCE)
        return 1 + bad("--power-cuts: with persistence.protocol = none nothing is promised");
    if (options->sweep.key_count == 0 && !machine_check(&options->machine, problem, sizeof problem))
        return 1 + bad("%s", problem);
    return 0;
}

static void report(const struct cores *cores, void *context)
{
    FILE *json = context;

    report_text(cores, stdout);
    if (json == NULL)
        return;
    report_json(cores, json, 0);
    fputc('\n', json);
}

static bool begin_result(struct result_file *file)
{
    if (file->path != NULL)
        file->stream = open_memstream(&file->text, &file->length);
    return file->path == NULL || file->stream != NULL;
}

/* Writes it unless the run was refused. Returns the exit status. */
static int end_result(struct result_file *file, int status)
{
    bool whole = file->stream == NULL || fclose(file->stream) == 0;

    if (whole && file->path != NULL && status != RUN_BAD_INPUT) {
        FILE *written = fopen(file->path, "we");

        whole = written != NULL && fwrite(file->text, 1, file->length, written) == file->length;
        if (written != NULL && fclose(written) != 0)
            whole = false;
    }
    if (!whole)
        status = bad("%s: %s", file->path, strerror(errno));
    free(file->text);
    return status;
}

static int command(int argc, char **argv)
{
    struct options options = {0};
    struct run *run = &options.run;
    int status;

    machine_defaults(&options.machine);
    run->seed = 1;
    status = parse(&options, argc, argv);
    if (status != 0)
        return status - 1;
    if (options.keys) {
        machine_print(&options.machine, stdout);
        return 0;
    }
    if (optind == argc)
        return bad("which trace? (--help)");
    run->machine = &options.machine;
    run->paths = argv + optind;
    run->path_count = (size_t)(argc - optind);
    run->progress = isatty(STDERR_FILENO) == 1;
    if (run->progress && options.sweep.key_count == 0)
        run->accesses = trace_sources_accesses(run->paths, run->path_count);
    if (!begin_result(&options.json) || !begin_result(&options.sharing))
        return bad("out of memory");
    run->sharing = options.sharing.stream;
    status = options.sweep.key_count > 0
                 ? sweep_run(&options.sweep, run, stdout, options.json.stream)
                 : run_once(run, report, options.json.stream);
    return end_result(&options.sharing, end_result(&options.json, status));
}

int main(int argc, char **argv)
{
    int status = command(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout))
        return bad("standard output: %s", strerror(errno));
    return status;
}
