/*
 * SPDX-License-Identifier: MIT
 *
 * The events of a trace as lines of text, for people and tests; what "mplace trace --dump" runs.
 *
 *   mplace-trace-dump [--thread N] [--count N] FILE
 *   mplace-trace-dump --help | --version
 *
 * A line: the thread, instructions since its previous event, the kind, the rest of its fields.
 * Exit status 0: the trace is whole. 1: it is cut or damaged, and standard error says where; what
 * is whole before that was written. 2: bad arguments, or no trace.
 */
#include "trace/trace.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = 0, DAMAGED = 1, REFUSED = 2 };

static const char usage[] = "usage: mplace-trace-dump [--thread N] [--count N] FILE\n";

static const char *const kinds[TRACE_KINDS] = {
    [TRACE_LOAD] = "load",       [TRACE_STORE] = "store", [TRACE_LOCKED] = "locked",
    [TRACE_NT_STORE] = "nt",     [TRACE_FLUSH] = "flush", [TRACE_FENCE] = "fence",
    [TRACE_ALLOC] = "alloc",     [TRACE_FREE] = "free",   [TRACE_ACQUIRE] = "acquire",
    [TRACE_RELEASE] = "release", [TRACE_POST] = "post",   [TRACE_WAIT] = "wait",
    [TRACE_MARK] = "mark",
};
static const char *const flushes[] = {
    [TRACE_CLFLUSH] = "clflush",
    [TRACE_CLFLUSHOPT] = "clflushopt",
    [TRACE_CLWB] = "clwb",
    [TRACE_MSYNC] = "msync",
};
static const char *const fences[] = {
    [TRACE_MFENCE] = "mfence",
    [TRACE_SFENCE] = "sfence",
    [TRACE_LFENCE] = "lfence",
};
static const char *const calls[] = {
    [TRACE_MUTEX] = "mutex",         [TRACE_RWLOCK] = "rwlock",   [TRACE_SPIN] = "spin",
    [TRACE_CONDITION] = "condition", [TRACE_BARRIER] = "barrier", [TRACE_SEMAPHORE] = "semaphore",
    [TRACE_ONCE] = "once",           [TRACE_FUTEX] = "futex",     [TRACE_THREAD] = "thread",
    [TRACE_TURN] = "turn",
};
static const char *const marks[] = {
    [TRACE_REGION_BEGIN] = "region_begin",
    [TRACE_REGION_END] = "region_end",
    [TRACE_TX_BEGIN] = "tx_begin",
    [TRACE_TX_COMMIT] = "tx_commit",
    [TRACE_TX_ABORT] = "tx_abort",
    [TRACE_PERSISTENT] = "persistent",
    [TRACE_FRAME] = "frame",
};

#define NAME(names, number) name_of(names, sizeof names / sizeof *names, number)

static const char *name_of(const char *const *names, size_t count, unsigned number)
{
    return number < count ? names[number] : "?";
}

static const char *what_of(const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_FLUSH:
        return NAME(flushes, event->what);
    case TRACE_FENCE:
        return NAME(fences, event->what);
    case TRACE_ACQUIRE:
    case TRACE_RELEASE:
    case TRACE_POST:
    case TRACE_WAIT:
        return NAME(calls, event->what);
    case TRACE_MARK:
        return NAME(marks, event->what);
    default:
        return NULL;
    }
}

static void print_bytes(const struct trace_event *event)
{
    printf(" =");
    for (unsigned i = 0; i < event->size; i++)
        printf("%02x", event->bytes[i]);
}

static void print_stack(struct trace *trace, uint32_t stack)
{
    const uint32_t *sites;
    size_t count = trace_stack(trace, stack, &sites);

    for (size_t i = 0; i < count; i++)
        printf("%s%s", i == 0 ? " by " : " < ", trace_site(trace, sites[i]));
}

static void print_event(struct trace *trace, uint32_t thread, const struct trace_event *event)
{
    const char *what = what_of(event);

    printf("%" PRIu32 " +%" PRIu32 " %s", thread, event->instructions, kinds[event->kind]);
    if (what != NULL)
        printf(" %s", what);
    if (event->kind != TRACE_FENCE)
        printf(" 0x%" PRIx64, event->address);
    if (event->size != 0)
        printf(" %u", event->size);
    if (event->dependent)
        printf(" dependent");
    if (event->shared)
        printf(" shared");
    if (event->kind == TRACE_WAIT)
        printf(" thread %" PRIu32 " post %" PRIu64, event->thread, event->value);
    else if (event->kind == TRACE_ALLOC || event->kind == TRACE_MARK ||
             (event->kind == TRACE_FLUSH && event->what == TRACE_MSYNC))
        printf(" %" PRIu64, event->value);
    if (event->bytes != NULL)
        print_bytes(event);
    if (event->kind == TRACE_ALLOC || event->kind == TRACE_FREE)
        print_stack(trace, event->stack);
    else if (event->site != 0)
        printf(" at %s", trace_site(trace, event->site));
    putchar('\n');
}

/* Prints up to `count` events of a thread. */
static int dump_thread(struct trace *trace, uint32_t thread, uint64_t count)
{
    struct trace_stream *stream = trace_stream_open(trace, thread);
    enum trace_status status = TRACE_EVENT;
    struct trace_event event;

    if (stream == NULL) {
        fprintf(stderr, "mplace trace: out of memory\n");
        return DAMAGED;
    }
    while (count-- > 0 && (status = trace_next(stream, &event)) == TRACE_EVENT)
        print_event(trace, thread, &event);
    if (status == TRACE_DAMAGED)
        fprintf(stderr, "mplace trace: thread %" PRIu32 " ends early: %s\n", thread,
                trace_problem(stream));
    trace_stream_close(stream);
    return status == TRACE_DAMAGED ? DAMAGED : WHOLE;
}

static int dump(struct trace *trace, uint64_t thread, uint64_t count)
{
    int result = WHOLE;

    printf("# command: %s\n# threads: %" PRIu32 "\n", trace_command(trace), trace_threads(trace));
    if (trace_is_complete(trace) && trace_cut_at(trace) != 0)
        printf("# cut at %" PRIu64 " accesses, as asked for\n", trace_cut_at(trace));
    for (uint32_t i = 0; i < trace_threads(trace); i++) {
        if (thread == UINT64_MAX || thread == i)
            result |= dump_thread(trace, i, count);
    }
    if (!trace_is_complete(trace)) {
        fprintf(stderr, "mplace trace: the trace is not complete: %s\n", trace_damage(trace));
        result = DAMAGED;
    }
    return result;
}

static bool read_number(const char *option, const char *text, uint64_t most, uint64_t *number)
{
    char *end;

    *number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && *number <= most)
        return true;
    fprintf(stderr, "mplace trace: --%s '%s': 0 to %" PRIu64 " is allowed\n", option, text, most);
    return false;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"thread", required_argument, NULL, 't'},
        {"count", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {0},
    };
    uint64_t thread = UINT64_MAX, count = UINT64_MAX;
    char problem[256];
    struct trace *trace;
    int option, result;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?' ||
            (option == 't' && !read_number("thread", optarg, UINT32_MAX, &thread)) ||
            (option == 'c' && !read_number("count", optarg, UINT64_MAX - 1, &count)))
            return REFUSED;
        if (option == 'h' || option == 'v') {
            fputs(option == 'h' ? usage : "mplace-trace-dump (mplace) " MPLACE_VERSION "\n",
                  stdout);
            return WHOLE;
        }
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return REFUSED;
    }
    trace = trace_open(argv[optind], problem, sizeof problem);
    if (trace == NULL) {
        fprintf(stderr, "mplace trace: %s\n", problem);
        return REFUSED;
    }
    if (thread != UINT64_MAX && thread >= trace_threads(trace)) {
        fprintf(stderr, "mplace trace: --thread %" PRIu64 ": the trace has %" PRIu32 " threads\n",
                thread, trace_threads(trace));
        result = REFUSED;
    } else {
        result = dump(trace, thread, count);
    }
    trace_close(trace);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("mplace trace: the output cannot be written\n", stderr);
        return REFUSED;
    }
    return result;
}
