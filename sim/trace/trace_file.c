/*
 * SPDX-License-Identifier: MIT
 *
 * See trace.h. Opening a trace goes through the headers of all blocks and reads the definitions:
 * afterwards streams have nothing to share that changes.
 */
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_header(struct trace *trace, const char *path, char *problem, size_t length)
{
    uint8_t header[TRACE_HEADER_BYTES];
    ssize_t got = pread(trace->descriptor, header, sizeof header, 0);
    uint32_t command;

    if (got < 0) {
        snprintf(problem, length, "%s cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (got < (ssize_t)sizeof header || memcmp(header, TRACE_MAGIC, 8) != 0) {
        snprintf(problem, length, "%s is no trace of mplace", path);
        return false;
    }
    if (trace_get32(header + 8) != TRACE_VERSION) {
        snprintf(problem, length, "%s is a trace of version %u; this program reads version %d",
                 path, trace_get32(header + 8), TRACE_VERSION);
        return false;
    }
    trace->with_values = trace_get32(header + 12) & TRACE_FLAG_VALUES;
    command = trace_get32(header + 16);
    trace->command = command <= TRACE_COMMAND_MOST ? calloc(1, (size_t)command + 1) : NULL;
    if (trace->command == NULL ||
        pread(trace->descriptor, trace->command, command, sizeof header) != (ssize_t)command ||
        trace_get32(header + 20) !=
            trace_checksum(trace_checksum(0, header, 20), trace->command, command)) {
        snprintf(problem, length, "%s: the header is damaged", path);
        return false;
    }
    trace->begin = trace->end = sizeof header + command;
    return true;
}

/* Makes room for one more element. */
static bool reserve(void *elements, uint32_t used, uint32_t *room, size_t size)
{
    void **array = elements, *grown;
    uint32_t wanted = *room == 0 ? 256 : 2 * *room;

    if (used < *room)
        return true;
    grown = wanted > *room ? realloc(*array, wanted * size) : NULL;
    if (grown == NULL)
        return false;
    *array = grown;
    *room = wanted;
    return true;
}

static bool define_site(struct trace *trace, struct trace_bytes *content)
{
    uint32_t length;
    char *name;

    if (!trace_take_number(content, &length) || length > content->end - content->at ||
        !reserve(&trace->sites, trace->sites_used, &trace->sites_room, sizeof *trace->sites))
        return false;
    name = strndup((const char *)content->at, length);
    if (name == NULL)
        return false;
    content->at += length;
    trace->sites[trace->sites_used++] = name;
    return true;
}

static bool define_stack(struct trace *trace, struct trace_bytes *content)
{
    struct trace_frames stack = {NULL, 0};
    uint32_t count;

    if (!trace_take_number(content, &count) || count > content->end - content->at ||
        !reserve(&trace->stacks, trace->stacks_used, &trace->stacks_room, sizeof stack))
        return false;
    stack.count = count;
    stack.sites = malloc((count + 1) * sizeof *stack.sites);
    if (stack.sites == NULL)
        return false;
    trace->stacks[trace->stacks_used++] = stack;
    for (uint32_t i = 0; i < count; i++) {
        if (!trace_take_number(content, &stack.sites[i]) || stack.sites[i] >= trace->sites_used)
            return false;
    }
    return true;
}

static bool define_operation(struct trace *trace, struct trace_bytes *content)
{
    struct trace_operation operation;
    uint32_t size;

    if (!trace_take_byte(content, &operation.kind) || !trace_take_byte(content, &operation.what) ||
        !trace_take_byte(content, &operation.flags) || !trace_take_number(content, &size) ||
        !trace_take_number(content, &operation.site) || operation.kind >= TRACE_KINDS ||
        size > UINT16_MAX || operation.site >= trace->sites_used ||
        !reserve(&trace->operations, trace->operations_used, &trace->operations_room,
                 sizeof operation))
        return false;
    operation.size = (uint16_t)size;
    trace->operations[trace->operations_used++] = operation;
    return true;
}

static bool read_definitions(struct trace *trace, const struct trace_block *block,
                             struct trace_bytes content)
{
    for (uint32_t i = 0; i < block->events; i++) {
        uint8_t kind;
        if (!trace_take_byte(&content, &kind))
            return false;
        switch (kind) {
        case TRACE_DEFINE_SITE:
            if (!define_site(trace, &content))
                return false;
            break;
        case TRACE_DEFINE_STACK:
            if (!define_stack(trace, &content))
                return false;
            break;
        case TRACE_DEFINE_OPERATION:
            if (!define_operation(trace, &content))
                return false;
            break;
        default:
            return false;
        }
    }
    return content.at == content.end;
}

static bool read_end(struct trace *trace, struct trace_bytes content)
{
    uint64_t events;
    uint32_t threads;

    if (!trace_take_number(&content, &threads) || threads < trace->threads ||
        threads > TRACE_THREADS_MOST || !trace_take_varint(&content, &events) ||
        !trace_take_varint(&content, &trace->accesses) ||
        !trace_take_varint(&content, &trace->cut_at) || content.at != content.end)
        return false;
    trace->threads = threads;
    return true;
}

/* Does what a block says that is no thread's. False: it is damaged. */
static bool read_special(struct trace *trace, const struct trace_block *block,
                         struct trace_unpacker *unpacker)
{
    struct trace_bytes content;
    bool right;

    if (!trace_unpack(trace, block, unpacker, trace->problem))
        return false;
    content = (struct trace_bytes){unpacker->raw, unpacker->raw + block->raw};
    right = block->stream == TRACE_STREAM_END ? read_end(trace, content)
                                              : read_definitions(trace, block, content);
    if (!right)
        snprintf(trace->problem, sizeof trace->problem,
                 "a block of definitions is not of this format at byte %llu",
                 (unsigned long long)block->content);
    return right;
}

static bool is_behind_all(const struct trace *trace, uint64_t offset)
{
    char byte;

    return pread(trace->descriptor, &byte, 1, (off_t)offset) == 0;
}

/* Goes through the file up to its end, or to where it is damaged. */
static void scan(struct trace *trace)
{
    struct trace_unpacker unpacker = {0};
    struct trace_block block;

    for (uint32_t number = 0;; number++) {
        if (!trace_read_block(trace, trace->end, number, &block, trace->problem))
            break;
        if (block.stream >= TRACE_STREAM_END) {
            if (!read_special(trace, &block, &unpacker))
                break;
        } else if (block.stream >= trace->threads) {
            trace->threads = block.stream + 1;
        }
        trace->end = block.content + block.packed;
        if (block.stream == TRACE_STREAM_END) {
            trace->complete = is_behind_all(trace, trace->end);
            if (!trace->complete)
                snprintf(trace->problem, sizeof trace->problem,
                         "something follows the end of the trace at byte %llu",
                         (unsigned long long)trace->end);
            break;
        }
    }
    trace_unpacker_free(&unpacker);
}

struct trace *trace_open(const char *path, char *problem, size_t length)
{
    struct trace *trace = calloc(1, sizeof *trace);

    if (trace == NULL) {
        snprintf(problem, length, "%s: out of memory", path);
        return NULL;
    }
    trace->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (trace->descriptor < 0) {
        snprintf(problem, length, "%s cannot be read: %s", path, strerror(errno));
    } else if (read_header(trace, path, problem, length)) {
        static const uint8_t unknown[] = {1, '?'}, nowhere[] = {0};
        struct trace_bytes site = {unknown, unknown + sizeof unknown};
        struct trace_bytes stack = {nowhere, nowhere + sizeof nowhere};
        /* What has the number 0. */
        if (define_site(trace, &site) && define_stack(trace, &stack)) {
            scan(trace);
            return trace;
        }
        snprintf(problem, length, "%s: out of memory", path);
    }
    trace_close(trace);
    return NULL;
}

void trace_close(struct trace *trace)
{
    if (trace == NULL)
        return;
    if (trace->descriptor >= 0)
        close(trace->descriptor);
    for (uint32_t i = 0; i < trace->sites_used; i++)
        free(trace->sites[i]);
    for (uint32_t i = 0; i < trace->stacks_used; i++)
        free(trace->stacks[i].sites);
    free(trace->sites);
    free(trace->stacks);
    free(trace->operations);
    free(trace->command);
    free(trace);
}

uint32_t trace_threads(const struct trace *trace)
{
    return trace->threads;
}

const char *trace_command(const struct trace *trace)
{
    return trace->command;
}

bool trace_is_complete(const struct trace *trace)
{
    return trace->complete;
}

bool trace_has_values(const struct trace *trace)
{
    return trace->with_values;
}

uint64_t trace_cut_at(const struct trace *trace)
{
    return trace->cut_at;
}

const char *trace_damage(const struct trace *trace)
{
    return trace->problem;
}

const char *trace_site(struct trace *trace, uint32_t site)
{
    return trace->sites[site < trace->sites_used ? site : 0];
}

size_t trace_stack(struct trace *trace, uint32_t stack, const uint32_t **sites)
{
    const struct trace_frames *found = &trace->stacks[stack < trace->stacks_used ? stack : 0];

    *sites = found->sites;
    return found->count;
}
