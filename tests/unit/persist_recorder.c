/*
 * SPDX-License-Identifier: MIT
 *
 * See persist_recorder.h.
 */
#include "persist_recorder.h"

#include "base/random.h"
#include "persist/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recorder *recorder;
uint64_t recorder_failing_fence;

enum { LINE_WORDS = 8 };

void recorder_start(struct recorder *started, struct persistence *persistence)
{
    if (persistence->bytes > RECORDED_BYTES)
        abort();
    started->persistence = persistence;
    memcpy(started->durable, persistence->base, persistence->bytes);
    started->pending_count = 0;
    memset(started->flushed, 0, sizeof started->flushed);
    started->after_event = NULL;
}

static void event(void)
{
    if (recorder->after_event != NULL)
        recorder->after_event();
}

enum persistence_method persistence_instruction(void)
{
    return PERSISTENCE_CLFLUSH;
}

/* Notes all words from first on that these bytes lie in, as they are now. */
static void note(const uint8_t *target, size_t size)
{
    size_t begin = (size_t)(target - recorder->persistence->base);

    for (size_t word = begin / 8; word * 8 < begin + size; word++) {
        struct recorded_store *stored = &recorder->pending[recorder->pending_count];

        if (++recorder->pending_count == RECORDED_STORES)
            abort();
        stored->word = (uint32_t)word;
        memcpy(&stored->value, recorder->persistence->base + word * 8, 8);
    }
}

void persistence_store(struct persistence *persistence, void *target, const void *source,
                       size_t size)
{
    (void)persistence;
    memcpy(target, source, size);
    if (recorder != NULL) {
        note(target, size);
        event();
    }
}

void persistence_store_masked(struct persistence *persistence, uint8_t *line, const uint8_t *source,
                              uint64_t mask)
{
    (void)persistence;
    bytes_copy_masked(line, source, mask);
    for (unsigned word = 0; word < LINE_WORDS && recorder != NULL; word++) {
        if (mask >> (word * 8) & 0xff)
            note(line + (size_t)word * 8, 8);
    }
    if (recorder != NULL)
        event();
}

void persistence_flush(struct persistence *persistence, const void *address)
{
    persistence->flushes++;
    if (recorder != NULL) {
        recorder->flushed[((const uint8_t *)address - persistence->base) / 64] =
            recorder->pending_count;
        event();
    }
}

int persistence_fence(struct persistence *persistence)
{
    uint32_t kept = 0;

    persistence->fences++;
    if (recorder_failing_fence != 0 && persistence->fences >= recorder_failing_fence)
        return ENOSPC;
    if (recorder == NULL)
        return 0;
    for (uint32_t i = 0; i < recorder->pending_count; i++) {
        struct recorded_store stored = recorder->pending[i];

        if (i < recorder->flushed[stored.word / LINE_WORDS])
            memcpy(recorder->durable + (size_t)stored.word * 8, &stored.value, 8);
        else
            recorder->pending[kept++] = stored;
    }
    recorder->pending_count = kept;
    memset(recorder->flushed, 0, sizeof recorder->flushed);
    event();
    return 0;
}

void recorder_cut(const struct recorder *cut, uint8_t *image, uint64_t *state)
{
    enum { NOTHING, ALL, LINES, WORDS, FEW_WORDS, MOST_WORDS, ONE_LINE, ALL_BUT_ONE_LINE, KINDS };
    unsigned kind = random_below(state, KINDS);
    uint64_t salt = random_next(state);
    uint32_t chosen = cut->pending_count == 0
                          ? 0
                          : cut->pending[random_below(state, cut->pending_count)].word / LINE_WORDS;

    memcpy(image, cut->durable, cut->persistence->bytes);
    for (uint32_t i = 0; i < cut->pending_count; i++) {
        const struct recorded_store *stored = &cut->pending[i];
        uint32_t line = stored->word / LINE_WORDS;
        uint64_t line_state = salt + line, bit = random_next(&line_state);
        unsigned eighths = random_below(state, 8);
        int taken = kind == ALL || (kind == LINES && bit & 1) || (kind == WORDS && eighths < 4) ||
                    (kind == FEW_WORDS && eighths < 1) || (kind == MOST_WORDS && eighths < 7) ||
                    (kind == ONE_LINE && line == chosen) ||
                    (kind == ALL_BUT_ONE_LINE && line != chosen);

        if (taken)
            memcpy(image + (size_t)stored->word * 8, &stored->value, 8);
    }
}
