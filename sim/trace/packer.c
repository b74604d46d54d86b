/*
 * SPDX-License-Identifier: MIT
 *
 * See packer.h. The blocks are a ring, of which the packing thread takes the oldest one.
 */
#include "trace/packer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

enum {
    PACKING_LEVEL = 1,
    BLOCKS_WAITING = 8 /* threads that do the same have their blocks full at the same time */
};

struct block {
    uint32_t stream, events;
    size_t length;
    uint8_t *content;
};

struct packer {
    FILE *file;
    ZSTD_CCtx *state;
    uint8_t *packed;
    size_t packed_room;
    uint32_t written; /* the number of the next block that is written */

    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest but for the blocks */
    pthread_cond_t changed;
    uint64_t added, done; /* blocks; only the caller changes the one, only the thread the other */
    bool is_over;         /* no more are added */
    int failure;

    /* The thread's from done to added, else the caller's. */
    struct block blocks[BLOCKS_WAITING];
};

static int write_bytes(struct packer *packer, const void *bytes, size_t length)
{
    errno = 0;
    if (fwrite(bytes, 1, length, packer->file) == length)
        return 0;
    return errno != 0 ? errno : EIO;
}

/* Returns what failed, as an errno value. */
static int write_block(struct packer *packer, const struct block *block)
{
    uint8_t header[TRACE_BLOCK_HEADER_BYTES];
    size_t length = ZSTD_compress2(packer->state, packer->packed, packer->packed_room,
                                   block->content, block->length);
    int failure;

    if (ZSTD_isError(length))
        return ENOMEM;
    trace_put32(header, TRACE_BLOCK_MAGIC);
    trace_put32(header + 4, block->stream);
    trace_put32(header + 8, packer->written++);
    trace_put32(header + 12, block->events);
    trace_put32(header + 16, (uint32_t)block->length);
    trace_put32(header + 20, (uint32_t)length);
    trace_put32(header + 24, trace_checksum(0, packer->packed, length));
    trace_put32(header + 28, trace_checksum(0, header, 28));
    failure = write_bytes(packer, header, sizeof header);
    return failure != 0 ? failure : write_bytes(packer, packer->packed, length);
}

static void *pack(void *argument)
{
    struct packer *packer = argument;

    pthread_mutex_lock(&packer->lock);
    for (;;) {
        int failure = packer->failure;

        while (packer->done == packer->added && !packer->is_over)
            pthread_cond_wait(&packer->changed, &packer->lock);
        if (packer->done == packer->added)
            break;
        pthread_mutex_unlock(&packer->lock);
        if (failure == 0) /* else the block is dropped */
            failure = write_block(packer, &packer->blocks[packer->done % BLOCKS_WAITING]);
        pthread_mutex_lock(&packer->lock);
        packer->failure = failure;
        packer->done++;
        pthread_cond_broadcast(&packer->changed);
    }
    pthread_mutex_unlock(&packer->lock);
    return NULL;
}

static void packer_free(struct packer *packer)
{
    for (unsigned i = 0; i < BLOCKS_WAITING; i++)
        free(packer->blocks[i].content);
    ZSTD_freeCCtx(packer->state);
    free(packer->packed);
    pthread_cond_destroy(&packer->changed);
    pthread_mutex_destroy(&packer->lock);
    free(packer);
}

struct packer *packer_begin(FILE *file)
{
    struct packer *packer = calloc(1, sizeof *packer);
    bool right;
    int error = ENOMEM;

    if (packer == NULL)
        return NULL;
    packer->file = file;
    packer->packed_room = ZSTD_compressBound(TRACE_RAW_MOST);
    packer->packed = malloc(packer->packed_room);
    packer->state = ZSTD_createCCtx();
    right = packer->packed != NULL && packer->state != NULL;
    for (unsigned i = 0; i < BLOCKS_WAITING; i++) {
        packer->blocks[i].content = malloc(TRACE_RAW_MOST);
        right &= packer->blocks[i].content != NULL;
    }
    pthread_mutex_init(&packer->lock, NULL);
    pthread_cond_init(&packer->changed, NULL);
    if (right) {
        ZSTD_CCtx_setParameter(packer->state, ZSTD_c_compressionLevel, PACKING_LEVEL);
        error = pthread_create(&packer->thread, NULL, pack, packer);
    }
    if (error == 0)
        return packer;
    packer_free(packer);
    errno = error;
    return NULL;
}

uint8_t *packer_room(struct packer *packer)
{
    pthread_mutex_lock(&packer->lock);
    while (packer->added - packer->done == BLOCKS_WAITING)
        pthread_cond_wait(&packer->changed, &packer->lock);
    pthread_mutex_unlock(&packer->lock);
    return packer->blocks[packer->added % BLOCKS_WAITING].content;
}

void packer_add(struct packer *packer, uint32_t stream, uint32_t events, size_t length)
{
    struct block *block = &packer->blocks[packer->added % BLOCKS_WAITING];

    block->stream = stream;
    block->events = events;
    block->length = length;
    pthread_mutex_lock(&packer->lock);
    packer->added++;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
}

int packer_failure(struct packer *packer)
{
    int failure;

    pthread_mutex_lock(&packer->lock);
    failure = packer->failure;
    pthread_mutex_unlock(&packer->lock);
    return failure;
}

int packer_end(struct packer *packer)
{
    int failure;

    pthread_mutex_lock(&packer->lock);
    packer->is_over = true;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    pthread_join(packer->thread, NULL);
    failure = packer->failure;
    packer_free(packer);
    return failure;
}
