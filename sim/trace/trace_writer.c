/*
 * SPDX-License-Identifier: MIT
 *
 * See trace_writer.h. Definitions are collected, and written before the next block of events.
 */
#include "trace/trace_writer.h"

#include "trace/filling.h"
#include "trace/operation_table.h"
#include "trace/packer.h"

#include <errno.h>
#include <stdio.h>

struct trace_writer {
    FILE *file;
    bool with_values;
    int failure; /* an errno value; 0: none */
    uint64_t events, accesses, cut_at;
    uint32_t threads, sites, stacks;
    struct filling **filling; /* by thread; NULL: nothing yet */
    uint32_t filling_room;
    struct column definitions;
    uint32_t definitions_count;
    struct operation_table operations;
    struct packer *packer;
};

static bool fail(struct trace_writer *writer, int error)
{
    if (writer->failure == 0)
        writer->failure = error;
    errno = writer->failure;
    return false;
}

static bool write_bytes(struct trace_writer *writer, const void *bytes, size_t length)
{
    if (fwrite(bytes, 1, length, writer->file) != length)
        return fail(writer, errno != 0 ? errno : EIO);
    return true;
}

static bool write_header(struct trace_writer *writer, const char *command)
{
    uint8_t header[TRACE_HEADER_BYTES];
    size_t length = strlen(command);

    if (length > TRACE_COMMAND_MOST)
        length = TRACE_COMMAND_MOST;
    memcpy(header, TRACE_MAGIC, 8);
    trace_put32(header + 8, TRACE_VERSION);
    trace_put32(header + 12, writer->with_values ? TRACE_FLAG_VALUES : 0);
    trace_put32(header + 16, (uint32_t)length);
    trace_put32(header + 20, trace_checksum(trace_checksum(0, header, 20), command, length));
    return write_bytes(writer, header, sizeof header) && write_bytes(writer, command, length);
}

struct trace_writer *trace_writer_open(const char *path, const char *command, bool with_values,
                                       char *problem, size_t length)
{
    struct trace_writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL) {
        snprintf(problem, length, "%s: out of memory", path);
        return NULL;
    }
    writer->with_values = with_values;
    writer->file = fopen(path, "wbe");
    if (writer->file != NULL && operation_table_init(&writer->operations) &&
        write_header(writer, command)) {
        writer->packer = packer_begin(writer->file);
        if (writer->packer != NULL)
            return writer;
    }
    snprintf(problem, length, "%s cannot be written: %s", path, strerror(errno));
    trace_writer_close(writer, false);
    return NULL;
}

/* Hands the block on whose content is in the packer's room. */
static bool add_block(struct trace_writer *writer, uint32_t stream, uint32_t events, size_t length)
{
    int failure = packer_failure(writer->packer);

    if (failure != 0)
        return fail(writer, failure);
    packer_add(writer->packer, stream, events, length);
    return true;
}

/* Hands a block on with the content of a column. */
static bool add_column(struct trace_writer *writer, uint32_t stream, uint32_t count,
                       const struct column *column)
{
    memcpy(packer_room(writer->packer), column->bytes, column->used);
    return add_block(writer, stream, count, column->used);
}

static bool write_definitions(struct trace_writer *writer)
{
    bool written;

    if (writer->definitions_count == 0)
        return true;
    written = add_column(writer, TRACE_STREAM_DEFINITIONS, writer->definitions_count,
                         &writer->definitions);
    writer->definitions.used = 0;
    writer->definitions_count = 0;
    return written;
}

/* Makes room for a definition of so many bytes. */
static bool begin_definition(struct trace_writer *writer, size_t length)
{
    if (writer->failure != 0)
        return fail(writer, writer->failure);
    if (length > TRACE_RAW_MOST)
        return fail(writer, EINVAL);
    if (writer->definitions.used + length > TRACE_RAW_MOST && !write_definitions(writer))
        return false;
    if (!column_reserve(&writer->definitions, length))
        return fail(writer, ENOMEM);
    writer->definitions_count++;
    return true;
}

bool trace_writer_site(struct trace_writer *writer, uint32_t site, const char *name)
{
    size_t length = strlen(name);

    if (site != writer->sites + 1)
        return fail(writer, EINVAL);
    if (!begin_definition(writer, length + 1 + 2 * VARINT_BYTES_MOST))
        return false;
    writer->sites++;
    column_byte(&writer->definitions, TRACE_DEFINE_SITE);
    column_varint(&writer->definitions, length);
    column_bytes(&writer->definitions, name, length);
    return true;
}

bool trace_writer_stack(struct trace_writer *writer, uint32_t stack, const uint32_t *sites,
                        size_t count)
{
    if (stack != writer->stacks + 1)
        return fail(writer, EINVAL);
    for (size_t i = 0; i < count; i++) {
        if (sites[i] > writer->sites)
            return fail(writer, EINVAL);
    }
    if (!begin_definition(writer, (count + 2) * VARINT_BYTES_MOST))
        return false;
    writer->stacks++;
    column_byte(&writer->definitions, TRACE_DEFINE_STACK);
    column_varint(&writer->definitions, count);
    for (size_t i = 0; i < count; i++)
        column_varint(&writer->definitions, sites[i]);
    return true;
}

bool trace_writer_operation(struct trace_writer *writer, const struct trace_event *event,
                            uint32_t *number)
{
    struct trace_operation operation = {
        .kind = event->kind,
        .what = event->what,
        .flags = (uint8_t)((event->dependent ? TRACE_OPERATION_DEPENDENT : 0) |
                           (event->shared ? TRACE_OPERATION_SHARED : 0)),
        .size = event->size,
        .site = event->site,
    };
    uint32_t known = writer->operations.used;

    if (writer->failure != 0)
        return fail(writer, writer->failure);
    if (event->kind >= TRACE_KINDS || event->site > writer->sites)
        return fail(writer, EINVAL);
    if (!operation_table_find(&writer->operations, &operation, number))
        return fail(writer, ENOMEM);
    if (*number < known)
        return true;
    if (!begin_definition(writer, 4 + 2 * VARINT_BYTES_MOST))
        return false;
    column_byte(&writer->definitions, TRACE_DEFINE_OPERATION);
    column_byte(&writer->definitions, operation.kind);
    column_byte(&writer->definitions, operation.what);
    column_byte(&writer->definitions, operation.flags);
    column_varint(&writer->definitions, operation.size);
    column_varint(&writer->definitions, operation.site);
    return true;
}

static bool write_events(struct trace_writer *writer, uint32_t thread)
{
    struct filling *filling = writer->filling[thread];
    size_t length;

    if (filling->events == 0)
        return true;
    if (!write_definitions(writer))
        return false;
    length = columns_join(&filling->columns, packer_room(writer->packer));
    if (!add_block(writer, thread, filling->events, length))
        return false;
    filling_clear(filling);
    return true;
}

static struct filling *filling_of(struct trace_writer *writer, uint32_t thread)
{
    struct filling *filling;

    if (thread >= writer->filling_room) {
        uint32_t room = 2 * thread + 16;
        struct filling **grown =
            thread < TRACE_THREADS_MOST ? realloc(writer->filling, room * sizeof *grown) : NULL;
        if (grown == NULL)
            return NULL;
        memset(grown + writer->filling_room, 0, (room - writer->filling_room) * sizeof *grown);
        writer->filling = grown;
        writer->filling_room = room;
    }
    if (writer->filling[thread] != NULL)
        return writer->filling[thread];
    filling = filling_new();
    if (filling != NULL && thread >= writer->threads)
        writer->threads = thread + 1;
    return writer->filling[thread] = filling;
}

bool trace_writer_event_of(struct trace_writer *writer, uint32_t thread, uint32_t operation,
                           const struct trace_event *event)
{
    struct filling *filling;

    if (writer->failure != 0)
        return fail(writer, writer->failure);
    if (trace_has_stack(event->kind) && event->stack > writer->stacks)
        return fail(writer, EINVAL);
    filling = filling_of(writer, thread);
    if (filling == NULL)
        return fail(writer, thread < TRACE_THREADS_MOST ? ENOMEM : EINVAL);
    if (!filling_append(filling, operation, event, writer->with_values))
        return fail(writer, ENOMEM);
    writer->events++;
    writer->accesses += event->kind < TRACE_ACCESS_KINDS;
    return !filling_is_full(filling, writer->with_values) || write_events(writer, thread);
}

bool trace_writer_accesses_of(struct trace_writer *writer, uint32_t thread,
                              const struct trace_access *accesses, size_t count)
{
    struct filling *filling;

    if (writer->failure != 0)
        return fail(writer, writer->failure);
    filling = filling_of(writer, thread);
    if (filling == NULL)
        return fail(writer, thread < TRACE_THREADS_MOST ? ENOMEM : EINVAL);
    writer->events += count;
    writer->accesses += count;
    while (count > 0) {
        size_t told = filling_accesses(filling, accesses, count);
        if (told == 0)
            return fail(writer, ENOMEM);
        if (filling_is_full(filling, writer->with_values) && !write_events(writer, thread))
            return false;
        accesses += told;
        count -= told;
    }
    return true;
}

bool trace_writer_event(struct trace_writer *writer, uint32_t thread,
                        const struct trace_event *event)
{
    uint32_t operation;

    return trace_writer_operation(writer, event, &operation) &&
           trace_writer_event_of(writer, thread, operation, event);
}

bool trace_writer_thread_ends(struct trace_writer *writer, uint32_t thread)
{
    if (writer->failure != 0)
        return fail(writer, writer->failure);
    if (thread >= writer->filling_room || writer->filling[thread] == NULL)
        return true;
    if (!write_events(writer, thread))
        return false;
    filling_free(writer->filling[thread]);
    writer->filling[thread] = NULL;
    return true;
}

void trace_writer_cut(struct trace_writer *writer, uint64_t accesses)
{
    writer->cut_at = accesses;
}

uint64_t trace_writer_accesses(const struct trace_writer *writer)
{
    return writer->accesses;
}

/* The end: threads, events, accesses, and the number of accesses that cut the capture. */
static bool write_end(struct trace_writer *writer)
{
    struct column end = {0};
    bool written;

    if (!column_reserve(&end, 4 * VARINT_BYTES_MOST))
        return fail(writer, ENOMEM);
    column_varint(&end, writer->threads);
    column_varint(&end, writer->events);
    column_varint(&end, writer->accesses);
    column_varint(&end, writer->cut_at);
    written = add_column(writer, TRACE_STREAM_END, 0, &end);
    column_free(&end);
    return written;
}

bool trace_writer_close(struct trace_writer *writer, bool complete)
{
    bool right = writer->failure == 0;
    int error;

    for (uint32_t i = 0; i < writer->filling_room; i++) {
        if (writer->filling[i] != NULL && right)
            right = write_events(writer, i);
        filling_free(writer->filling[i]);
    }
    if (right && complete)
        right = write_definitions(writer) && write_end(writer);
    if (writer->packer != NULL) {
        int failure = packer_end(writer->packer);
        if (failure != 0)
            right = fail(writer, failure);
    }
    if (writer->file != NULL && fclose(writer->file) != 0 && right)
        right = fail(writer, errno);
    error = writer->failure;
    free(writer->filling);
    column_free(&writer->definitions);
    operation_table_free(&writer->operations);
    free(writer);
    errno = error;
    return right;
}
