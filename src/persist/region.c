/*
 * SPDX-License-Identifier: MIT
 *
 * See region.h.
 */
#include "persist/region.h"

#include "persist/checksum.h"
#include "persist/error.h"
#include "persist/mutant.h"
#include "persist/recovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_WORDS = 8 };

/* Of the words before the checksum and a zero. */
static uint64_t header_checksum(const struct region_header *header)
{
    struct region_header summed = *header;

    summed.checksum = 0;
    return checksum_words(&summed, HEADER_WORDS, 0);
}

struct region_sizes region_sizes(uint64_t memory_bytes, uint64_t log_bytes)
{
    struct region_sizes sizes;

    sizes.groups = log_bytes / sizeof(struct log_group);
    sizes.pages = (memory_bytes + PERSIST_PAGE - 1) / PERSIST_PAGE;
    sizes.memory_offset =
        (LOG_OFFSET + sizes.groups * sizeof(struct log_group) + PERSIST_PAGE - 1) &
        ~(uint64_t)(PERSIST_PAGE - 1);
    sizes.memory_bytes = format_pages_offset(sizes.pages) + sizes.pages * PERSIST_PAGE;
    sizes.file_bytes = sizes.memory_offset + sizes.memory_bytes;
    return sizes;
}

int region_format(struct persistence *persistence, const struct region_sizes *sizes,
                  enum persist_log log, uint64_t seed)
{
    struct region_header header = {.version = PERSIST_VERSION,
                                   .log = log,
                                   .file_bytes = sizes->file_bytes,
                                   .groups = sizes->groups,
                                   .memory_offset = sizes->memory_offset,
                                   .pages = sizes->pages,
                                   .seed = seed};
    /* The first SID is not 0, which an empty log has. */
    struct log_head head = {.first_sid = sizes->groups, .first_txid = 1};
    uint8_t *target = persistence->base + HEADS_OFFSET + PERSIST_LINE; /* round 1 */
    int error;

    log_head_seal(&head, seed);
    persistence_store(persistence, target, &head, sizeof head);
    persistence_flush(persistence, target);
    error = MUTANT(NO_FORMAT_FENCE) ? 0 : persistence_fence(persistence);
    if (error != 0)
        return error;
    memcpy(header.magic, PERSIST_MAGIC, sizeof header.magic);
    header.checksum = header_checksum(&header);
    persistence_store(persistence, persistence->base, &header, sizeof header);
    persistence_flush(persistence, persistence->base);
    return persistence_fence(persistence);
}

int region_check(const uint8_t *base, uint64_t file_bytes)
{
    const struct region_header *header = (const struct region_header *)(const void *)base;
    struct region_sizes sizes;

    if (memcmp(header->magic, PERSIST_MAGIC, sizeof header->magic) != 0)
        return error_say(EMEDIUMTYPE,
                         "not a region of libmplace_persist, or one whose creation was "
                         "not finished");
    if (file_bytes < sizeof *header)
        return error_say(EBADMSG, "the region is truncated: it has %llu bytes",
                         (unsigned long long)file_bytes);
    if (header->version != PERSIST_VERSION)
        return error_say(ENOTSUP, "a region of version %u; this library reads version %d",
                         header->version, PERSIST_VERSION);
    if (header->checksum != header_checksum(header))
        return error_say(EBADMSG, "the region's header is damaged");
    sizes = region_sizes(header->pages * PERSIST_PAGE, header->groups * sizeof(struct log_group));
    if (header->log > PERSIST_LOG_EAGER || header->groups == 0 || header->pages == 0 ||
        header->groups > PERSIST_GREATEST_LOG / sizeof(struct log_group) ||
        header->pages > PERSIST_GREATEST_MEMORY / PERSIST_PAGE ||
        header->memory_offset != sizes.memory_offset || header->file_bytes != sizes.file_bytes)
        return error_say(EBADMSG, "the region's header contradicts itself");
    if (file_bytes < header->file_bytes)
        return error_say(EBADMSG, "the region is truncated: it has %llu of %llu bytes",
                         (unsigned long long)file_bytes, (unsigned long long)header->file_bytes);
    return 0;
}

int region_recover(struct persist_region *region)
{
    uint8_t *base = region->persistence.base;
    const struct region_header *header = (const struct region_header *)(void *)base;
    struct log *log = &region->log;
    int error;

    region->memory_bytes = header->file_bytes - header->memory_offset;
    *log = (struct log){.persistence = &region->persistence,
                        .format = (enum persist_log)header->log,
                        .seed = header->seed,
                        .heads = (struct log_head *)(void *)(base + HEADS_OFFSET),
                        .groups = (struct log_group *)(void *)(base + LOG_OFFSET),
                        .group_count = header->groups,
                        .memory = base + header->memory_offset,
                        .lines = region->memory_bytes / PERSIST_LINE};
    log->dirty = calloc((log->lines + 63) / 64, sizeof *log->dirty);
    if (log->dirty == NULL)
        return error_say(ENOMEM, "no memory for a map of the region's lines");
    error = recovery_run(log, &region->recovered);
    if (error != 0) {
        free(log->dirty);
        log->dirty = NULL;
    }
    if (error == EBADMSG)
        return error_say(error, "the region's log is damaged: its head, or a transaction that was "
                                "committed, is not whole; the file was not changed");
    return error == 0 ? 0 : error_say(error, "recovery: %s", strerror(error));
}

int region_start(struct persist_region *region, uint8_t *view)
{
    uint64_t pages = ((const struct region_header *)(void *)region->persistence.base)->pages;
    int error = heap_start(&region->heap, view, pages);

    if (error != 0)
        return error_say(error, error == EBADMSG ? "the region's table of pages is damaged"
                                                 : "no memory for a copy of the table of pages");
    region->view = view;
    /* No call ends these and the heap's: in the child of a fork, threads that it does not have may
       hold them. */
    region->commit_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    region->tx_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return 0;
}

void region_end(struct persist_region *region)
{
    if (region->view != NULL) {
        while (region->free_txs != NULL) {
            struct persist_tx *tx = region->free_txs;

            region->free_txs = tx->next;
            write_set_destroy(&tx->writes);
            free(tx->pending);
            free(tx);
        }
        heap_end(&region->heap);
        region->view = NULL;
    }
    free(region->log.dirty);
    region->log.dirty = NULL;
}
