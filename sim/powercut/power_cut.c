/*
 * SPDX-License-Identifier: MIT
 *
 * See power_cut.h.
 */
#include "powercut/power_cut.h"

#include "harness/random.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8, LINE_WORDS = 8, LINE = WORD * LINE_WORDS };

bool power_cut_init(struct power_cut *cut, const void *content, size_t bytes)
{
    *cut = (struct power_cut){.bytes = bytes};
    cut->durable = malloc(bytes);
    cut->flushed = calloc(bytes / LINE + 1, sizeof *cut->flushed);
    if (cut->durable == NULL || cut->flushed == NULL) {
        power_cut_destroy(cut);
        return false;
    }
    memcpy(cut->durable, content, bytes);
    return true;
}

void power_cut_destroy(struct power_cut *cut)
{
    free(cut->durable);
    free(cut->pending);
    free(cut->flushes);
    free(cut->flushed);
    *cut = (struct power_cut){0};
}

bool power_cut_copy(struct power_cut *to, const struct power_cut *from)
{
    if (!power_cut_init(to, from->durable, from->bytes))
        return false;
    to->pending = malloc((from->pending_count + 1) * sizeof *to->pending);
    if (to->pending == NULL) {
        power_cut_destroy(to);
        return false;
    }
    if (from->pending_count > 0)
        memcpy(to->pending, from->pending, from->pending_count * sizeof *to->pending);
    to->pending_count = from->pending_count;
    to->pending_room = from->pending_count + 1;
    to->stored = from->stored;
    return true;
}

/* Room for one more; NULL: out of memory. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
    if (count == *room) {
        size_t more = *room == 0 ? 1024 : 2 * *room;

        array = realloc(array, more * size);
        *room = array == NULL ? *room : more;
    }
    return array;
}

bool power_cut_store(struct power_cut *cut, const uint8_t *memory, size_t begin, size_t size,
                     uint32_t site)
{
    for (size_t word = begin / WORD; word * WORD < begin + size; word++) {
        struct power_cut_word *stored =
            grown(cut->pending, cut->pending_count, &cut->pending_room, sizeof *stored);

        if (stored == NULL)
            return false;
        cut->pending = stored;
        stored += cut->pending_count++;
        *stored = (struct power_cut_word){.word = word, .number = ++cut->stored, .site = site};
        memcpy(&stored->value, memory + word * WORD, WORD);
    }
    return true;
}

bool power_cut_flush(struct power_cut *cut, size_t offset, uint32_t thread)
{
    struct power_cut_flush *flushes =
        grown(cut->flushes, cut->flush_count, &cut->flush_room, sizeof *flushes);

    if (flushes == NULL)
        return false;
    cut->flushes = flushes;
    flushes[cut->flush_count++] =
        (struct power_cut_flush){.line = offset / LINE, .number = cut->stored, .thread = thread};
    return true;
}

void power_cut_fence(struct power_cut *cut, uint32_t thread)
{
    size_t kept = 0;

    for (size_t i = 0; i < cut->flush_count; i++) {
        if (cut->flushes[i].thread == thread)
            cut->flushed[cut->flushes[i].line] = cut->flushes[i].number;
    }
    for (size_t i = 0; i < cut->pending_count; i++) {
        struct power_cut_word stored = cut->pending[i];

        if (stored.number <= cut->flushed[stored.word / LINE_WORDS])
            memcpy(cut->durable + stored.word * WORD, &stored.value, WORD);
        else
            cut->pending[kept++] = stored;
    }
    cut->pending_count = kept;
    kept = 0;
    for (size_t i = 0; i < cut->flush_count; i++) {
        if (cut->flushes[i].thread == thread)
            cut->flushed[cut->flushes[i].line] = 0;
        else
            cut->flushes[kept++] = cut->flushes[i];
    }
    cut->flush_count = kept;
}

void power_cut_image(const struct power_cut *cut, uint8_t *image, uint64_t *state,
                     void (*lost)(void *context, const struct power_cut_word *word), void *context)
{
    enum { NOTHING, ALL, LINES, WORDS, FEW_WORDS, MOST_WORDS, ONE_LINE, ALL_BUT_ONE_LINE, KINDS };
    unsigned kind = random_below(state, KINDS);
    uint64_t salt = random_next(state);
    uint64_t chosen =
        cut->pending_count == 0
            ? 0
            : cut->pending[random_below(state, (uint32_t)cut->pending_count)].word / LINE_WORDS;

    memcpy(image, cut->durable, cut->bytes);
    for (size_t i = 0; i < cut->pending_count; i++) {
        const struct power_cut_word *stored = &cut->pending[i];
        uint64_t line = stored->word / LINE_WORDS;
        uint64_t line_state = salt + line, bit = random_next(&line_state);
        unsigned eighths = random_below(state, 8);
        bool taken = kind == ALL || (kind == LINES && bit & 1) || (kind == WORDS && eighths < 4) ||
                     (kind == FEW_WORDS && eighths < 1) || (kind == MOST_WORDS && eighths < 7) ||
                     (kind == ONE_LINE && line == chosen) ||
                     (kind == ALL_BUT_ONE_LINE && line != chosen);

        if (taken)
            memcpy(image + stored->word * WORD, &stored->value, WORD);
        else if (lost != NULL)
            lost(context, stored);
    }
}
