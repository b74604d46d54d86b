/*
 * SPDX-License-Identifier: MIT
 *
 * mplace-powercut-images: what a power cut leaves of a traced program's persistent file, and
 * whether a command can still use it. Behind `mplace powercut`.
 */
#include "powercut/images.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_FINDING = 0, FINDING = 1, REFUSED = 2 };

static const char usage[] =
    "usage: mplace-powercut-images [--before FILE] [--images N] [--seed N] [--out "
    "FILE] TRACE -- CHECK...\n";

static int refuse(const char *what, const char *why)
{
    fprintf(stderr, "mplace powercut: %s: %s\n", what, why);
    return REFUSED;
}

static bool read_number(const char *text, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

/* 0, or 1 + the exit status. */
static int parse(struct images_plan *plan, const char **path, int argc, char **argv)
{
    enum { BEFORE = 1, IMAGES, SEED, OUT, HELP, VERSION };
    static const struct option known[] = {{"before", required_argument, NULL, BEFORE},
                                          {"images", required_argument, NULL, IMAGES},
                                          {"seed", required_argument, NULL, SEED},
                                          {"out", required_argument, NULL, OUT},
                                          {"help", no_argument, NULL, HELP},
                                          {"version", no_argument, NULL, VERSION},
                                          {0}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        switch (option) {
        case BEFORE:
            plan->before = optarg;
            break;
        case IMAGES:
            if (!read_number(optarg, &plan->images) || plan->images == 0 ||
                plan->images > 100000000)
                return 1 + refuse("--images", "a number from 1 to 100000000 is wanted");
            break;
        case SEED:
            if (!read_number(optarg, &plan->seed))
                return 1 + refuse("--seed", "a number is wanted");
            break;
        case OUT:
            plan->out = optarg;
            break;
        case HELP:
            fputs(usage, stdout);
            return 1;
        case VERSION:
            puts("mplace-powercut-images (mplace) " MPLACE_VERSION);
            return 1;
        default:
            return 1 + refuse(argv[optind - 1], "unknown, or without its value (--help)");
        }
    }
    if (argc - optind < 3 || strcmp(argv[optind + 1], "--") != 0)
        return 1 + refuse("TRACE -- CHECK", "it is missing (--help)");
    *path = argv[optind];
    plan->check = argv + optind + 2;
    return 0;
}

static int run(struct trace *trace, const char *path, const struct images_plan *plan)
{
    char problem[512];
    int findings;

    if (!trace_is_complete(trace))
        return refuse(path, trace_damage(trace));
    if (!trace_has_values(trace))
        return refuse(path, "it has no values: make it with mplace trace --values");
    findings = images_run(trace, plan, problem, sizeof problem);
    if (findings < 0)
        return refuse(path, problem);
    if (findings > 0)
        printf("%d of %" PRIu64 " images do not pass the check; the first one is %s\n", findings,
               plan->images, plan->out);
    else
        printf("%" PRIu64 " images pass the check\n", plan->images);
    return findings > 0 ? FINDING : NO_FINDING;
}

static int command(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR"), *path;
    struct images_plan plan = {.out = "powercut.image",
                               .folder = folder == NULL || *folder == '\0' ? "/tmp" : folder,
                               .images = 1000,
                               .seed = 1};
    char problem[512];
    struct trace *trace;
    int status = parse(&plan, &path, argc, argv);

    if (status != 0)
        return status - 1;
    trace = trace_open(path, problem, sizeof problem);
    if (trace == NULL)
        return refuse(path, problem);
    status = run(trace, path, &plan);
    trace_close(trace);
    return status;
}

int main(int argc, char **argv)
{
    int status = command(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout))
        return refuse("standard output", "it cannot be written");
    return status;
}
