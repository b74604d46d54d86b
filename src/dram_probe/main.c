/*
 * SPDX-License-Identifier: MIT
 *
 * mplace-dram-probe: what "mplace dram" runs. Its options are checked there; these are for it.
 *
 *     mplace-dram-probe [--pool BYTES] [--seed N] [--simulate MAP] [--out FILE] [--quiet]
 *     mplace-dram-probe --maps
 *
 * The second form lists the names of the maps that come with mplace.
 * Exit status 0: found; 1: the machine does not tell; 2: bad arguments, or no memory.
 */
#include "base/random.h"
#include "dram_probe/physical.h"
#include "dram_probe/report.h"
#include "dram_probe/simulated.h"
#include "dram_probe/timing.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND = 0, NOT_TOLD = 1, REFUSED = 2 };

enum { MEBIBYTE = 1 << 20 };

struct options {
    const char *out;      /* NULL: standard output */
    const char *simulate; /* NULL: this machine */
    size_t pool;          /* 0: a gibibyte, or half of what is there if that is less */
    uint64_t seed;
    bool quiet;
};

_Noreturn static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn static void refuse(const char *format, ...)
{
    va_list arguments;

    (void)fputs("mplace dram: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    exit(REFUSED);
}

/* ---- this machine ---- */

/* Bytes that can be had without swapping; SIZE_MAX if the kernel does not say. */
static size_t available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kibibytes;
    size_t available = SIZE_MAX;
    char line[128];

    if (file == NULL)
        return available;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1)
            available = kibibytes * 1024;
    }
    (void)fclose(file);
    return available;
}

static size_t pool_size(const struct options *options)
{
    const size_t usual = (size_t)1024 * MEBIBYTE;
    size_t available = available_memory();

    if (options->pool > available)
        refuse("--pool: %zu MiB are more than the %zu MiB of memory that are available",
               options->pool / MEBIBYTE, available / MEBIBYTE);
    if (options->pool != 0)
        return options->pool;
    return usual <= available / 2 ? usual : available / 2 / MEBIBYTE * MEBIBYTE;
}

static enum search_verdict search_machine(const struct options *options,
                                          struct search_result *result)
{
    static const char remedy[] = "run it as root, or with CAP_SYS_ADMIN";
    uint64_t state = options->seed;
    struct physical_sample sample;
    struct dram_probe probe;
    enum search_verdict verdict;

    switch (
        physical_sample_take(&sample, pool_size(options), SEARCH_ADDRESSES, random_next(&state))) {
    case PHYSICAL_TAKEN:
        break;
    case PHYSICAL_NO_MEMORY:
        return SEARCH_NO_MEMORY;
    case PHYSICAL_NO_PAGEMAP:
        (void)fprintf(
            stderr,
            "mplace dram: this machine does not tell its banks: physical addresses cannot "
            "be read from /proc/self/pagemap (%s); %s\n",
            strerror(errno), remedy);
        exit(NOT_TOLD);
    case PHYSICAL_HIDDEN:
        (void)fprintf(
            stderr,
            "mplace dram: this machine does not tell its banks: the kernel hides physical "
            "addresses from this process; %s\n",
            remedy);
        exit(NOT_TOLD);
    }
    probe = timing_probe(&sample);
    verdict = search_functions(&probe, random_next(&state), result);
    physical_sample_free(&sample);
    return verdict;
}

/* ---- a simulated one ---- */

/* A map that comes with mplace, else a file. */
static void read_map(const char *name, struct dram_map *map)
{
    char text[16384], problem[512];
    FILE *file;
    size_t length;

    if (dram_map_shipped(map, name))
        return;
    file = fopen(name, "r");
    if (file == NULL)
        refuse("--simulate: '%s' is no map that comes with mplace, and no file: %s", name,
               strerror(errno));
    length = fread(text, 1, sizeof text, file);
    if (ferror(file) != 0)
        refuse("--simulate: cannot read %s: %s", name, strerror(errno));
    (void)fclose(file);
    if (length == sizeof text)
        refuse("--simulate: %s is too large for a map: at most %zu bytes are allowed", name,
               sizeof text - 1);
    if (!dram_map_parse(map, name, text, length, problem, sizeof problem))
        refuse("--simulate: %s", problem);
}

static enum search_verdict search_simulated(const struct options *options,
                                            struct search_result *result)
{
    struct simulated_memory memory = {.noise = simulated_noise_usual, .seed = options->seed};
    struct dram_probe probe;
    enum search_verdict verdict;

    read_map(options->simulate, &memory.map);
    if (!simulated_open(&memory, SEARCH_ADDRESSES, simulated_bits(&memory.map)))
        return SEARCH_NO_MEMORY;
    probe = simulated_probe(&memory);
    verdict = search_functions(&probe, options->seed, result);
    simulated_close(&memory);
    return verdict;
}

/* ---- both ---- */

static void write_map(const char *out, const struct report_facts *facts,
                      const struct search_result *result)
{
    FILE *file = out != NULL ? fopen(out, "w") : stdout;
    bool failed;

    if (file == NULL)
        refuse("--out: cannot write %s: %s", out, strerror(errno));
    report_map(file, facts, result);
    failed = fflush(file) != 0 || ferror(file) != 0;
    if (failed || (out != NULL && fclose(file) != 0))
        refuse("cannot write %s: %s", out != NULL ? out : "the map", strerror(errno));
}

static uint64_t number(const char *option, const char *text)
{
    uint64_t value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        refuse("%s '%s' is not a whole number", option, text);
    return value;
}

static void list_maps(void)
{
    const char *name;

    for (unsigned i = 0; (name = dram_map_shipped_name(i)) != NULL; i++)
        (void)puts(name);
}

static void read_options(int count, char **arguments, struct options *options)
{
    static const struct option known[] = {
        {"out", required_argument, NULL, 'o'},  {"simulate", required_argument, NULL, 's'},
        {"pool", required_argument, NULL, 'p'}, {"seed", required_argument, NULL, 'e'},
        {"quiet", no_argument, NULL, 'q'},      {"maps", no_argument, NULL, 'm'},
        {"version", no_argument, NULL, 'v'},    {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
        switch (option) {
        case 'o':
            options->out = optarg;
            break;
        case 's':
            options->simulate = optarg;
            break;
        case 'p':
            options->pool = number("--pool", optarg) / MEBIBYTE * MEBIBYTE;
            if (options->pool == 0)
                refuse("--pool: '%s' is less than a MiB", optarg);
            break;
        case 'e':
            options->seed = number("--seed", optarg);
            break;
        case 'q':
            options->quiet = true;
            break;
        case 'm':
            list_maps();
            exit(0);
        case 'v':
            (void)puts("mplace-dram-probe (mplace) " MPLACE_VERSION);
            exit(0);
        default:
            exit(REFUSED);
        }
    }
    if (optind < count)
        refuse("unexpected argument '%s'", arguments[optind]);
}

int main(int count, char **arguments)
{
    struct options options = {.seed = 1};
    struct report_facts facts = {.where = "this machine"};
    struct search_result result;
    enum search_verdict verdict;

    read_options(count, arguments, &options);
    facts.seed = options.seed;
    if (options.simulate != NULL) {
        facts.where = "a simulated memory";
        verdict = search_simulated(&options, &result);
    } else {
        facts.virtual_machine = physical_is_virtual_machine();
        verdict = search_machine(&options, &result);
    }
    if (verdict == SEARCH_NO_MEMORY)
        refuse("out of memory");
    if (verdict != SEARCH_FOUND) {
        report_failure(&facts, verdict, &result);
        return NOT_TOLD;
    }
    if (!options.quiet)
        report_found(&facts, &result);
    write_map(options.out, &facts, &result);
    return FOUND;
}
