/*
 * SPDX-License-Identifier: MIT
 *
 * The other end of memtrace's pipe: reads what the tool sends and writes the trace.
 *
 *   mplace-trace-writer --out FILE [--command TEXT] < PIPE
 *   mplace-trace-writer --help | --version
 *
 * If the file cannot be written, the pipe is read to its end all the same: the program that is
 * traced must not notice. Exit status 0: the trace is complete. 1: it is not, and standard error
 * says why. 2: bad arguments, or the file cannot be created.
 */
#include "memtrace/writer/expand.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPLETE = 0, INCOMPLETE = 1, REFUSED = 2, MESSAGE_MOST = 1 << 28 };

static const char usage[] = "usage: mplace-trace-writer --out FILE [--command TEXT] < PIPE\n";

struct receiver {
    const char *path, *command;
    struct trace_writer *writer;
    struct expander *expander;
    uint8_t *content;
    size_t room;
    bool ended; /* the tool said so last */
    bool failed;
    bool is_cut;
};

/* Reads all of it. False: the pipe ends before that. */
static bool read_all(void *to, size_t length)
{
    size_t got = 0;

    while (got < length) {
        ssize_t part = read(STDIN_FILENO, (char *)to + got, length - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        got += (size_t)part;
    }
    return true;
}

static bool begin(struct receiver *receiver, const struct wire_header *header)
{
    bool with_values = header->bytes == 1 && receiver->content[0];
    char problem[256];

    if (header->number != WIRE_VERSION || receiver->writer != NULL) {
        errno = EPROTO;
        return false;
    }
    receiver->writer =
        trace_writer_open(receiver->path, receiver->command, with_values, problem, sizeof problem);
    if (receiver->writer == NULL) {
        fprintf(stderr, "mplace trace: %s\n", problem);
        receiver->failed = true;
        return false;
    }
    receiver->expander = expander_new(receiver->writer, with_values);
    return receiver->expander != NULL;
}

static bool define_site(struct receiver *receiver, const struct wire_header *header)
{
    receiver->content[header->bytes] = '\0';
    return trace_writer_site(receiver->writer, header->number, (const char *)receiver->content);
}

static bool take(struct receiver *receiver, const struct wire_header *header)
{
    const void *content = receiver->content;

    receiver->ended = false;
    if (header->message == WIRE_BEGIN)
        return begin(receiver, header);
    errno = EPROTO;
    if (receiver->expander == NULL)
        return false;
    switch (header->message) {
    case WIRE_SITE:
        return define_site(receiver, header);
    case WIRE_STACK:
        return trace_writer_stack(receiver->writer, header->number, content,
                                  header->bytes / sizeof(uint32_t));
    case WIRE_PIECE:
        return expander_piece(receiver->expander, header->number, content, header->bytes);
    case WIRE_EVENTS:
        return expander_events(receiver->expander, header->number, content, header->bytes);
    case WIRE_THREAD_ENDS:
        return expander_thread_ends(receiver->expander, header->number);
    case WIRE_CUT:
        receiver->is_cut = true;
        trace_writer_cut(receiver->writer, trace_writer_accesses(receiver->writer));
        return true;
    case WIRE_END:
        receiver->ended = true;
        return true;
    default:
        return false;
    }
}

static void report_failure(struct receiver *receiver)
{
    if (!receiver->failed)
        fprintf(stderr, "mplace trace: %s: %s\n", receiver->path,
                errno == EPROTO ? "the tool is of another build than the writer" : strerror(errno));
    receiver->failed = true;
}

static bool make_room(struct receiver *receiver, size_t length)
{
    uint8_t *grown;

    if (length < receiver->room)
        return true;
    grown = length <= MESSAGE_MOST ? realloc(receiver->content, length + 1) : NULL;
    if (grown == NULL)
        return false;
    receiver->content = grown;
    receiver->room = length + 1;
    return true;
}

/* Reads and drops what comes until the pipe ends. */
static void drain(struct receiver *receiver)
{
    while (read_all(receiver->content, 1))
        ;
}

static void receive(struct receiver *receiver)
{
    struct wire_header header;

    while (read_all(&header, sizeof header)) {
        if (!make_room(receiver, header.bytes)) {
            report_failure(receiver);
            drain(receiver);
            return;
        }
        if (!read_all(receiver->content, header.bytes)) {
            receiver->ended = false;
            return;
        }
        if (!receiver->failed && !take(receiver, &header))
            report_failure(receiver);
    }
}

/* The line that the user sees of it all. */
static void print_summary(const struct receiver *receiver, uint64_t accesses, bool complete)
{
    struct stat status = {0};

    (void)stat(receiver->path, &status);
    fprintf(stderr, "mplace trace: %s: %" PRIu64 " accesses, %" PRIu64 " bytes%s%s\n",
            receiver->path, accesses, (uint64_t)status.st_size,
            receiver->is_cut ? ", stopped as asked for" : "", complete ? "" : ", not complete");
}

static int finish(struct receiver *receiver)
{
    uint64_t accesses;
    bool complete;

    if (receiver->writer == NULL) {
        if (!receiver->failed)
            fprintf(stderr, "mplace trace: nothing was traced\n");
        return INCOMPLETE;
    }
    accesses = trace_writer_accesses(receiver->writer);
    complete = receiver->ended && !receiver->failed;
    if (!trace_writer_close(receiver->writer, complete)) {
        report_failure(receiver);
        complete = false;
    }
    print_summary(receiver, accesses, complete);
    return complete ? COMPLETE : INCOMPLETE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"out", required_argument, NULL, 'o'},
        {"command", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {0},
    };
    struct receiver receiver = {.command = ""};
    int option, result;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            receiver.path = optarg;
            break;
        case 'c':
            receiver.command = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return COMPLETE;
        case 'v':
            puts("mplace-trace-writer (mplace) " MPLACE_VERSION);
            return COMPLETE;
        default:
            return REFUSED;
        }
    }
    if (receiver.path == NULL || optind != argc) {
        fputs(usage, stderr);
        return REFUSED;
    }
    /* A signal from the keyboard is for the program: its end ends the pipe. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    receive(&receiver);
    result = finish(&receiver);
    expander_free(receiver.expander);
    free(receiver.content);
    return result;
}
