/*
 * SPDX-License-Identifier: MIT
 *
 * See persist_recorder.h.
 */
#include "persist_recorder.h"

#include "persist/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recorder *recorder;
uint64_t recorder_failing_fence;

enum { LINE_WORDS = 8 };

static void need(bool memory)
{
    if (!memory)
        abort();
}

void recorder_start(struct recorder *started, struct persistence *persistence)
{
    need(persistence->bytes <= RECORDED_BYTES);
    recorder_end(started);
    started->persistence = persistence;
    need(power_cut_init(&started->cut, persistence->base, persistence->bytes));
    started->after_event = NULL;
}

void recorder_go_on(struct recorder *started, const struct recorder *from)
{
    recorder_end(started);
    need(power_cut_copy(&started->cut, &from->cut));
}

void recorder_end(struct recorder *ended)
{
    power_cut_destroy(&ended->cut);
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

static void note(const uint8_t *target, size_t size)
{
    need(power_cut_store(&recorder->cut, recorder->persistence->base,
                         (size_t)(target - recorder->persistence->base), size, 0));
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
        need(power_cut_flush(&recorder->cut,
                             (size_t)((const uint8_t *)address - recorder->persistence->base), 0));
        event();
    }
}

int persistence_fence(struct persistence *persistence)
{
    persistence->fences++;
    if (recorder_failing_fence != 0 && persistence->fences >= recorder_failing_fence)
        return ENOSPC;
    if (recorder == NULL)
        return 0;
    power_cut_fence(&recorder->cut, 0);
    event();
    return 0;
}

void recorder_cut(const struct recorder *cut, uint8_t *image, uint64_t *state)
{
    power_cut_image(&cut->cut, image, state, NULL, NULL);
}
