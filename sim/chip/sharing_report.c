/*
 * SPDX-License-Identifier: MIT
 *
 * Which lines moved, as JSON; see sharing_report.h.
 */
#include "chip/sharing_report.h"

#include "text/utf_8.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    LINES_TOLD = 4096,
    FRAMES_TOLD = 4, /* of who allocated a block, the innermost first */
};

static const char *const kinds[SHARING_KINDS] = {"first",   "true",      "false_in_block",
                                                 "between", "elsewhere", "again"};

static const char *const calls[] = {"mutex",     "rwlock", "spin lock", "condition", "barrier",
                                    "semaphore", "once",   "futex",     "thread"};

struct writer {
    const struct sharing *sharing;
    struct trace *const *traces;
    FILE *out;
};

static void text(FILE *out, const char *string)
{
    fputc('"', out);
    while (*string != '\0') {
        unsigned length = utf_8_length(string);

        if (*string == '"' || *string == '\\')
            fputc('\\', out);
        if (length <= 1)
            fputc(length == 0 ? '?' : (unsigned char)*string < ' ' ? ' ' : *string, out);
        else
            fwrite(string, 1, length, out);
        string += length > 0 ? length : 1;
    }
    fputc('"', out);
}

static void tally(FILE *out, const char *name, const struct sharing_tally *tally)
{
    fprintf(out, "\"%s\": {\"moves\": %" PRIu64 ", \"cycles\": %" PRIu64 "}", name, tally->moves,
            tally->cycles);
}

static void tallies(FILE *out, const struct sharing_tally *of)
{
    for (unsigned kind = 0; kind < SHARING_KINDS; kind++) {
        fputs(kind == 0 ? "" : ", ", out);
        tally(out, kinds[kind], &of[kind]);
    }
}

static uint64_t address_of(const struct writer *writer, const struct sharing_line *line)
{
    return line->block << 16 >> 16 << writer->sharing->shift;
}

static void write_sites(const struct writer *writer, const struct sharing_line *line)
{
    struct trace *trace = writer->traces[line->block >> 48];

    for (unsigned i = 0; i < line->site_count; i++) {
        const struct sharing_site *site = &line->sites[i];

        fprintf(writer->out, "%s\n      {\"at\": ", i == 0 ? "" : ",");
        text(writer->out, site->site == 0 ? "" : trace_site(trace, site->site));
        fprintf(writer->out,
                ", \"moves\": %" PRIu64 ", \"cycles\": %" PRIu64 ", \"read\": \"%" PRIx64
                "\", \"written\": \"%" PRIx64 "\", \"cores\": \"%" PRIx64 "\"}",
                site->started.moves, site->started.cycles, site->read, site->written, site->cores);
    }
}

static void write_blocks(const struct writer *writer, const struct sharing_line *line)
{
    struct trace *trace = writer->traces[line->block >> 48];

    for (unsigned i = 0; i < line->block_count; i++) {
        const struct sharing_block *block = &line->blocks[i];
        const uint32_t *frames = NULL;
        size_t count = block->stack == 0 ? 0 : trace_stack(trace, block->stack, &frames);

        fprintf(writer->out,
                "%s\n      {\"address\": %" PRIu64 ", \"size\": %" PRIu64 ", \"moves\": %" PRIu64
                ", \"cores\": \"%" PRIx64 "\", \"allocated_by\": [",
                i == 0 ? "" : ",", block->address << 16 >> 16, block->end - block->address,
                block->moves, block->cores);
        for (size_t frame = 0; frame < count && frame < FRAMES_TOLD; frame++) {
            fputs(frame == 0 ? "" : ", ", writer->out);
            text(writer->out, trace_site(trace, frames[frame]));
        }
        fputs("]}", writer->out);
    }
}

/* Bytes of a lock, of which the ones at its beginning are what it is taken by. */
static int bytes_of_lock(const struct sharing_lock *lock)
{
    return lock->call == TRACE_MUTEX    ? (int)sizeof(pthread_mutex_t)
           : lock->call == TRACE_RWLOCK ? (int)sizeof(pthread_rwlock_t)
                                        : (int)sizeof(pthread_spinlock_t);
}

static void write_lock(const struct writer *writer, const struct sharing_lock *lock, int offset,
                       struct trace *trace)
{
    fprintf(writer->out,
            "\n      {\"offset\": %d, \"bytes\": %d, \"kind\": \"%s\", \"taken_at\": [", offset,
            bytes_of_lock(lock), calls[lock->call]);
    for (unsigned i = 0; i < lock->takers; i++) {
        uint32_t site = lock->taken_at[i];

        fputs(i == 0 ? "" : ", ", writer->out);
        text(writer->out, site == 0 ? "" : trace_site(trace, site));
    }
    fputs("]}", writer->out);
}

/* Locks with a byte in the line; one that begins before it has a negative offset. */
static void write_locks(const struct writer *writer, const struct sharing_line *line)
{
    uint64_t program = line->block >> 48, address = address_of(writer, line);
    int before = address < sizeof(pthread_rwlock_t) ? (int)address : (int)sizeof(pthread_rwlock_t);
    const char *comma = "";

    for (int byte = -before; byte < (int)writer->sharing->block; byte++) {
        const struct sharing_lock *lock = sharing_lock_at(
            writer->sharing, HEAP_ADDRESS(program, address + (uint64_t)(int64_t)byte));

        if (lock == NULL || lock->call >= sizeof calls / sizeof calls[0] ||
            byte + bytes_of_lock(lock) <= 0)
            continue;
        fputs(comma, writer->out);
        write_lock(writer, lock, byte, writer->traces[program]);
        comma = ",";
    }
}

static void write_line(const struct writer *writer, const struct sharing_line *line)
{
    fprintf(writer->out,
            "\n    {\"address\": %" PRIu64 ", \"moves\": %" PRIu64 ", \"cycles\": %" PRIu64
            ",\n     ",
            address_of(writer, line), line->all.moves, line->all.cycles);
    tallies(writer->out, line->of);
    fputs(",\n     \"sites\": [", writer->out);
    write_sites(writer, line);
    fputs("],\n     \"blocks\": [", writer->out);
    write_blocks(writer, line);
    fputs("],\n     \"locks\": [", writer->out);
    write_locks(writer, line);
    fputs("]}", writer->out);
}

static int by_cost(const void *left, const void *right)
{
    const struct sharing_line *a = *(struct sharing_line *const *)left,
                              *b = *(struct sharing_line *const *)right;

    if (a->all.cycles != b->all.cycles)
        return a->all.cycles < b->all.cycles ? 1 : -1;
    return (a->block > b->block) - (a->block < b->block);
}

static void write_totals(const struct cores *cores, const struct sharing *sharing, FILE *out)
{
    const struct counts *counts = cores->left ? cores->region : cores->fabric.counts;
    struct sharing_tally of[SHARING_KINDS] = {0}, all = sharing->not_followed;
    uint64_t accesses = 0, cycles = 0;

    for (uint32_t i = 0; i < cores->fabric.machine->core.count; i++) {
        accesses += counts[i].of[COUNT_ACCESSES];
        cycles += counts[i].of[COUNT_LATENCY];
    }
    for (size_t i = 0; i < sharing->line_count; i++) {
        all.moves += sharing->lines[i]->all.moves;
        all.cycles += sharing->lines[i]->all.cycles;
        for (unsigned kind = 0; kind < SHARING_KINDS; kind++) {
            of[kind].moves += sharing->lines[i]->of[kind].moves;
            of[kind].cycles += sharing->lines[i]->of[kind].cycles;
        }
    }
    fprintf(out,
            "{\n  \"simulated\": true, \"protocol\": \"%s\", \"cores\": %u, \"threads\": %u, "
            "\"block\": %u,\n",
            cores->fabric.protocol->name, cores->fabric.machine->core.count, cores->thread_count,
            cores->fabric.machine->block);
    fprintf(out,
            "  \"accesses\": %" PRIu64 ", \"cycles_of_accesses\": %" PRIu64
            ", \"lines_moved\": %zu,\n  ",
            accesses, cycles, sharing->line_count);
    tally(out, "moved", &all);
    fputs(",\n  ", out);
    tallies(out, of);
    fputs(", ", out);
    tally(out, "not_followed", &sharing->not_followed);
}

void sharing_report(struct cores *cores, struct trace *const *traces, FILE *out)
{
    struct sharing *sharing = cores->sharing;
    struct writer writer = {sharing, traces, out};

    sharing_stop(sharing);
    if (sharing->line_count > 0)
        qsort(sharing->lines, sharing->line_count, sizeof(struct sharing_line *), by_cost);
    write_totals(cores, sharing, out);
    fputs(",\n  \"lines\": [", out);
    for (size_t i = 0; i < sharing->line_count && i < LINES_TOLD; i++) {
        fputs(i == 0 ? "" : ",", out);
        write_line(&writer, sharing->lines[i]);
    }
    fputs("\n  ]\n}\n", out);
}
