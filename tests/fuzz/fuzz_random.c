/*
 * SPDX-License-Identifier: MIT
 *
 * The fuzzer with inputs of a seeded generator, or from files. Input i of a seed is always the
 * same; a failure names the seed, the input and the operation, and
 *     fuzz_random --seed S --first I --inputs 1
 * runs that input alone, without --first all that came before it too.
 *
 *   fuzz_random [--seed N] [--operations N] [--inputs N] [--first N] [--threads N] [--trace]
 *               [--reference] [FILE...]
 * --operations counts calls of the allocator; the FILE - is standard input.
 *
 * The last line says how many calls were made and stands for all their outcomes: it is the same
 * under every allocator that answers as glibc does. Exit status: 0, or 2 for bad arguments; a
 * broken promise is one line on stderr and SIGABRT.
 */
#include "fuzz.h"

#include "base/random.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MOST = 1 << 16 };

static uint8_t bytes[INPUT_MOST];

static void run_random_input(uint64_t seed, uint64_t number)
{
    uint64_t state = seed * 0xd1342543de82ef95u + number;
    size_t size = 64 + random_next(&state) % (random_next(&state) % 2 ? 4096 : INPUT_MOST - 64);

    for (size_t i = 0; i < size; i += sizeof state) {
        uint64_t word = random_next(&state);

        memcpy(bytes + i, &word, size - i < sizeof word ? size - i : sizeof word);
    }
    fuzz_position.input = number;
    fuzz_one(bytes, size);
}

static void run_file(const char *path)
{
    int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    ssize_t got;

    if (file < 0) {
        fprintf(stderr, "fuzz_random: cannot read %s\n", path);
        exit(2);
    }
    while ((got = read(file, bytes + size, INPUT_MOST - size)) > 0)
        size += (size_t)got;
    if (file != STDIN_FILENO)
        close(file);
    fuzz_position.input++;
    fuzz_one(bytes, size);
}

/* A crash, the allocator's own abort and a run that does not end say where they happened. */
static void say_where(int signal_number)
{
    dprintf(STDERR_FILENO, "fuzz: signal %d at seed %llu input %llu operation %llu (%s)\n",
            signal_number, (unsigned long long)fuzz_position.seed,
            (unsigned long long)fuzz_position.input, (unsigned long long)fuzz_position.operation,
            fuzz_position.name != NULL ? fuzz_position.name : "none");
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void)
{
    static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
    struct sigaction action = {.sa_handler = say_where, .sa_flags = SA_NODEFER};

    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        sigaction(watched[i], &action, NULL);
}

static uint64_t number_of(const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0') {
        fprintf(stderr, "fuzz_random: '%s' is no number\n", text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    uint64_t operations = 0, inputs = 0, first = 0, threads = 1;
    const struct {
        const char *name;
        uint64_t *value;
    } options[] = {
        {"--seed", &fuzz_position.seed}, {"--operations", &operations},
        {"--inputs", &inputs},           {"--first", &first},
        {"--threads", &threads},
    };
    int next = 1;

    fuzz_position.seed = 1;
    while (next < argc && strncmp(argv[next], "--", 2) == 0) {
        size_t i = 0;

        bool *flag = strcmp(argv[next], "--trace") == 0       ? &fuzz_trace
                     : strcmp(argv[next], "--reference") == 0 ? &fuzz_reference
                                                              : NULL;
        if (flag != NULL) {
            *flag = true;
            next++;
            continue;
        }
        while (i < sizeof options / sizeof options[0] && strcmp(options[i].name, argv[next]) != 0)
            i++;
        if (i == sizeof options / sizeof options[0] || next + 1 == argc) {
            fprintf(stderr, "fuzz_random: %s: unknown, or wants a value\n", argv[next]);
            return 2;
        }
        *options[i].value = number_of(argv[next + 1]);
        next += 2;
    }
    watch_signals();
    fuzz_start((unsigned)threads);
    if (next < argc) {
        while (next < argc)
            run_file(argv[next++]);
    } else {
        printf("seed %llu\n", (unsigned long long)fuzz_position.seed);
        fflush(stdout);
        if (inputs == 0 && operations == 0)
            inputs = 100;
        for (uint64_t i = first;
             (inputs == 0 || i < first + inputs) && (operations == 0 || fuzz_calls < operations);
             i++)
            run_random_input(fuzz_position.seed, i);
    }
    printf("calls %llu outcomes %016llx\n", (unsigned long long)fuzz_calls,
           (unsigned long long)fuzz_digest);
    return 0;
}
