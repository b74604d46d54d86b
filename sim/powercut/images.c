/*
 * SPDX-License-Identifier: MIT
 *
 * See images.h. The trace is replayed three times: for the length of the file, for the number of
 * moments at which power may be cut, and to cut it at some of them.
 *
 * The file is the longest range that the program marked as persistent memory. Each mark of that
 * length is the same file, mapped where the mark says, until a mark without length says otherwise.
 * Who marks other ranges besides is told that they are not cut.
 */
#include "powercut/images.h"

#include "powercut/power_cut.h"
#include "powercut/replay.h"

#include "harness/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, WORD = 8, CHECK_SECONDS = 60, LOST_TOLD = 4, FINDINGS_TOLD = 10 };

struct state {
    struct trace *trace;
    const struct images_plan *plan;
    uint64_t bytes; /* of the file */

    bool has_other_lengths, has_moved; /* marks that look like those of another file */

    uint64_t base; /* where it is mapped; 0: nowhere */
    bool has_region, in_region;
    uint64_t moments, in_region_moments; /* so far */

    /* Of the last replay only. */
    bool cutting;
    struct power_cut cut;
    uint8_t *memory, *image;
    uint64_t *chosen; /* moments at which power is cut, in order */
    uint64_t cuts, random;
    int findings;
    struct power_cut_word lost[LOST_TOLD];
    uint64_t lost_count;
    char *problem;
    size_t problem_length;
    bool failed;
};

static bool fail(struct state *state, const char *what)
{
    snprintf(state->problem, state->problem_length, "%s", what);
    state->failed = true;
    return false;
}

/* The file of the image, which is removed as the program ends, also where a signal ends it. Empty:
   there is none yet. */
static char image_file[4096];

static void remove_image(int number)
{
    unlink(image_file);
    raise(number); /* what it does by default, once this handler has returned: SA_RESETHAND */
}

static void remove_image_at_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = remove_image, .sa_flags = SA_RESETHAND};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;

        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

static void record_lost(void *context, const struct power_cut_word *word)
{
    struct state *state = context;

    if (state->lost_count < LOST_TOLD)
        state->lost[state->lost_count] = *word;
    state->lost_count++;
}

static bool write_file(const char *path, const uint8_t *content, uint64_t bytes)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t written = 0;

    while (file >= 0 && written < bytes) {
        ssize_t part = write(file, content + written, bytes - written);

        if (part <= 0)
            break;
        written += (uint64_t)part;
    }
    return file >= 0 && close(file) == 0 && written == bytes;
}

/* Runs the check on the image's file. Its status as waitpid(2) tells it, or -1. */
static int check(const struct state *state)
{
    size_t words = 0;
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int silence = open("/dev/null", O_RDWR);
        char **arguments;

        while (state->plan->check[words] != NULL)
            words++;
        arguments = calloc(words + 2, sizeof *arguments);
        if (silence < 0 || arguments == NULL)
            _exit(127);
        memcpy(arguments, state->plan->check, words * sizeof *arguments);
        arguments[words] = (char *)(uintptr_t)image_file;
        for (int stream = 0; stream < 3; stream++)
            dup2(silence, stream);
        alarm(CHECK_SECONDS);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    if (child > 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    return status;
}

static void tell(struct state *state, int status, const struct trace_event *event)
{
    if (WIFSIGNALED(status))
        printf("image %" PRIu64 ": the check was ended by signal %d", state->cuts,
               WTERMSIG(status));
    else
        printf("image %" PRIu64 ": the check says %d", state->cuts, WEXITSTATUS(status));
    printf("; power was cut at %s\n", trace_site(state->trace, event->site));
    for (uint64_t i = 0; i < state->lost_count && i < LOST_TOLD; i++)
        printf("  lost: 8 bytes at 0x%" PRIx64 ", stored at %s\n", state->lost[i].word * WORD,
               trace_site(state->trace, state->lost[i].site));
    if (state->lost_count > LOST_TOLD)
        printf("  lost: %" PRIu64 " more\n", state->lost_count - LOST_TOLD);
}

/* One image. False: it cannot be made, or the check cannot be run. */
static bool cut_power(struct state *state, const struct trace_event *event)
{
    int status;

    state->lost_count = 0;
    power_cut_image(&state->cut, state->image, &state->random, record_lost, state);
    if (!write_file(image_file, state->image, state->bytes))
        return fail(state, "an image cannot be written");
    status = check(state);
    state->cuts++;
    if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return fail(state, "the check cannot be run");
    if (status == 0)
        return true;
    if (state->findings++ < FINDINGS_TOLD)
        tell(state, status, event);
    /* The check may have recovered the file. */
    if (state->findings == 1 && !write_file(state->plan->out, state->image, state->bytes))
        return fail(state, "the image with the finding cannot be written");
    return true;
}

/* After each store, flush or fence. */
static bool moment(struct state *state, const struct trace_event *event)
{
    uint64_t *number = state->has_region ? &state->in_region_moments : &state->moments;

    if (state->cutting && (!state->has_region || state->in_region)) {
        while (state->cuts < state->plan->images && state->chosen[state->cuts] == *number) {
            if (!cut_power(state, event))
                return false;
        }
        ++*number;
        return true;
    }
    state->moments++;
    state->in_region_moments += state->in_region;
    return true;
}

/* The part of a range that lies in the file: false, none does. */
static bool clip(const struct state *state, uint64_t address, uint64_t size, uint64_t *begin,
                 uint64_t *end)
{
    uint64_t last = state->base + state->bytes;

    if (state->base == 0 || address >= last || address + size <= state->base)
        return false;
    *begin = address < state->base ? 0 : address - state->base;
    *end = address + size > last ? state->bytes : address + size - state->base;
    return true;
}

static bool store(struct state *state, uint32_t thread, const struct trace_event *event)
{
    uint64_t begin, end;

    if (!clip(state, event->address, event->size, &begin, &end))
        return true;
    if (state->cutting) {
        memcpy(state->memory + begin, event->bytes + (state->base + begin - event->address),
               end - begin);
        if (!power_cut_store(&state->cut, state->memory, begin, end - begin, event->site))
            return fail(state, "no memory");
        /* It goes past the caches: a fence is enough. */
        for (uint64_t at = begin & ~(uint64_t)(LINE - 1); event->kind == TRACE_NT_STORE && at < end;
             at += LINE) {
            if (!power_cut_flush(&state->cut, at, thread))
                return fail(state, "no memory");
        }
    }
    return moment(state, event);
}

static bool fence(struct state *state, uint32_t thread, const struct trace_event *event)
{
    if (state->cutting)
        power_cut_fence(&state->cut, thread);
    return state->base == 0 || moment(state, event);
}

/* The kernel writes whole pages of an msync, which begins at one. */
static uint64_t bytes_flushed(const struct trace_event *event)
{
    return event->what == TRACE_MSYNC ? (event->value + PAGE - 1) & ~(uint64_t)(PAGE - 1) : 1;
}

static bool flush(struct state *state, uint32_t thread, const struct trace_event *event)
{
    uint64_t begin, end;

    if (!clip(state, event->address, bytes_flushed(event), &begin, &end))
        return true;
    for (uint64_t at = begin & ~(uint64_t)(LINE - 1); state->cutting && at < end; at += LINE) {
        if (!power_cut_flush(&state->cut, at, thread))
            return fail(state, "no memory");
    }
    return event->what == TRACE_MSYNC ? fence(state, thread, event) : moment(state, event);
}

static bool visit(void *context, uint32_t thread, const struct trace_event *event)
{
    struct state *state = context;

    switch (event->kind) {
    case TRACE_LOCKED:
        return store(state, thread, event) && fence(state, thread, event);
    case TRACE_STORE:
    case TRACE_NT_STORE:
        return store(state, thread, event);
    case TRACE_FENCE:
        return event->what == TRACE_LFENCE || fence(state, thread, event);
    case TRACE_FLUSH:
        return flush(state, thread, event);
    case TRACE_MARK:
        if (event->what == TRACE_PERSISTENT && event->value == state->bytes)
            state->base = event->address;
        if (event->what == TRACE_PERSISTENT && event->value == 0 && event->address == state->base)
            state->base = 0;
        if (event->what == TRACE_REGION_BEGIN || event->what == TRACE_REGION_END)
            state->in_region = event->what == TRACE_REGION_BEGIN;
        state->has_region = state->has_region || (!state->cutting && state->in_region);
        return true;
    default:
        return true;
    }
}

static bool find_length(void *context, uint32_t thread, const struct trace_event *event)
{
    struct state *state = context;

    (void)thread;
    if (event->kind != TRACE_MARK || event->what != TRACE_PERSISTENT)
        return true;
    if (event->value == 0) {
        state->base = event->address == state->base ? 0 : state->base;
        return true;
    }
    state->has_other_lengths |= state->bytes != 0 && event->value != state->bytes;
    if (event->value > state->bytes) {
        state->bytes = event->value;
        state->base = 0;
        state->has_moved = false;
    }
    if (event->value == state->bytes) {
        state->has_moved |= state->base != 0 && event->address != state->base;
        state->base = event->address;
    }
    return true;
}

static void tell_what_is_not_cut(const struct state *state)
{
    if (state->has_other_lengths)
        fprintf(stderr,
                "mplace powercut: note: the program marks ranges of several lengths; only the "
                "longest, %" PRIu64 " bytes, is cut\n",
                state->bytes);
    if (state->has_moved)
        fprintf(stderr,
                "mplace powercut: note: the program marks %" PRIu64 " bytes at several addresses; "
                "they are taken for one file that moved\n",
                state->bytes);
}

static bool read_before(struct state *state)
{
    FILE *file = state->plan->before == NULL ? NULL : fopen(state->plan->before, "re");
    bool whole = true;

    if (state->plan->before != NULL)
        whole = file != NULL && fread(state->memory, 1, state->bytes, file) == state->bytes &&
                fgetc(file) == EOF;
    if (file != NULL)
        fclose(file);
    return whole || fail(state, "--before is not a file of the length that the program marked");
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

/* What the last replay needs. moments: how many there are. */
static bool prepare(struct state *state, uint64_t moments)
{
    uint64_t images = state->plan->images;
    int file;

    state->memory = calloc(1, state->bytes);
    state->image = malloc(state->bytes);
    state->chosen = malloc(images * sizeof *state->chosen);
    if (state->memory == NULL || state->image == NULL || state->chosen == NULL)
        return fail(state, "no memory");
    if (!read_before(state))
        return false;
    if (!power_cut_init(&state->cut, state->memory, state->bytes))
        return fail(state, "no memory");
    state->random = state->plan->seed;
    for (uint64_t i = 0; i < images; i++)
        state->chosen[i] = random_below(&state->random, moments);
    qsort(state->chosen, images, sizeof *state->chosen, compare);
    snprintf(image_file, sizeof image_file, "%s/mplace-powercut.XXXXXX", state->plan->folder);
    file = mkstemp(image_file);
    if (file < 0)
        return fail(state, "no image can be made in TMPDIR");
    close(file);
    remove_image_at_signals();
    state->cutting = true;
    state->base = 0;
    state->in_region = false;
    state->moments = state->in_region_moments = 0;
    return true;
}

static bool all_replays(struct state *state)
{
    const char *problem = replay(state->trace, find_length, state);

    state->base = 0;
    if (problem == NULL && state->bytes % WORD != 0)
        problem = "it marks a number of bytes that is no multiple of 8";
    if (problem == NULL && state->bytes == 0)
        problem = "it marks no persistent memory (mplace_trace_persistent)";
    if (problem == NULL)
        problem = replay(state->trace, visit, state);
    if (problem == NULL) {
        uint64_t moments = state->has_region ? state->in_region_moments : state->moments;

        if (moments == 0)
            problem = "it stores nothing to persistent memory where it is to be cut";
        else if (!prepare(state, moments))
            return false;
        tell_what_is_not_cut(state);
        if (problem == NULL)
            problem = replay(state->trace, visit, state);
    }
    if (problem != NULL && !state->failed)
        fail(state, problem);
    return !state->failed;
}

int images_run(struct trace *trace, const struct images_plan *plan, char *problem, size_t length)
{
    struct state state = {
        .trace = trace, .plan = plan, .problem = problem, .problem_length = length};
    bool done = all_replays(&state);

    if (image_file[0] != '\0')
        unlink(image_file);
    power_cut_destroy(&state.cut);
    free(state.memory);
    free(state.image);
    free(state.chosen);
    return done ? state.findings : -1;
}
