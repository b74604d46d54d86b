/*
 * SPDX-License-Identifier: MIT
 *
 * Persistent memory; see image.h.
 */
#include "chip/persistence/image.h"

#include "chip/engine/allocation.h"

void image_init(struct image *image)
{
    *image = (struct image){.head_order = 1};
}

void image_destroy(struct image *image)
{
    block_map_destroy(&image->places);
    free(image->home);
    free(image->log);
}

size_t image_place(struct image *image, uint64_t address)
{
    uint64_t *place = block_map_add(&image->places, address);

    if (*place == 0) {
        if (image->home_count == image->home_room) {
            image->home_room = image->home_room == 0 ? 64 : 2 * image->home_room;
            image->home =
                allocation_checked(realloc(image->home, image->home_room * sizeof *image->home));
        }
        image->home[image->home_count] = 0;
        *place = ++image->home_count;
    }
    return *place - 1;
}

static void append(struct image *image, const struct record *record)
{
    if (image->log_count == image->log_room) {
        image->log_room = image->log_room == 0 ? 64 : 2 * image->log_room;
        image->log = allocation_checked(realloc(image->log, image->log_room * sizeof *image->log));
    }
    image->log[image->log_count++] = *record;
}

/* What is before the head may be overwritten at any time. */
static void drop_before(struct image *image, uint64_t sid)
{
    size_t left = 0;

    for (size_t i = 0; i < image->log_count; i++)
        if (image->log[i].sid >= sid)
            image->log[left++] = image->log[i];
    image->log_count = left;
}

/* Drops the records of a kind with this transaction or, if it is UINT64_MAX, this sid. */
static void drop(struct image *image, enum record_kind kind, uint64_t tx, uint64_t sid)
{
    size_t left = 0;

    for (size_t i = 0; i < image->log_count; i++) {
        const struct record *record = &image->log[i];

        if (record->kind != kind || (tx != UINT64_MAX ? record->tx != tx : record->sid != sid))
            image->log[left++] = *record;
    }
    image->log_count = left;
}

/* The log of the transaction's thread ends after it. */
static void clear(struct image *image, uint64_t tx)
{
    size_t left = 0;

    for (size_t i = 0; i < image->log_count; i++)
        if (image->log[i].tx >> 32 != tx >> 32 || image->log[i].tx > tx)
            image->log[left++] = image->log[i];
    image->log_count = left;
}

void image_apply(struct image *image, const struct record *record)
{
    switch (record->kind) {
    case RECORD_HOME: {
        size_t place = image_place(image, record->address);

        image->home[place] = record->data;
        break;
    }
    case RECORD_HEAD:
        image->head_order = record->order;
        image->head_sid = record->sid;
        drop_before(image, record->sid);
        break;
    case RECORD_BANK_OUT:
        drop(image, RECORD_BANK, UINT64_MAX, record->sid);
        break;
    case RECORD_LOG_END:
        drop(image, RECORD_ENTRY, record->tx, UINT64_MAX);
        break;
    case RECORD_FORGET:
        drop(image, RECORD_COMMIT, record->tx, UINT64_MAX);
        break;
    case RECORD_CLEAR:
        clear(image, record->tx);
        break;
    default:
        append(image, record);
    }
}
