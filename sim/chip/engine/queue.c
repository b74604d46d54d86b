/*
 * SPDX-License-Identifier: MIT
 *
 * The event queue; see queue.h.
 */
#include "chip/engine/queue.h"

#include "chip/engine/allocation.h"

#include <stdlib.h>

enum { CHUNK_MESSAGES = 512, WORDS = QUEUE_SLOTS / 64 };

struct queue_chunk {
    struct queue_chunk *next;
    struct message messages[CHUNK_MESSAGES];
};

bool queue_init(struct queue *queue)
{
    *queue = (struct queue){0};
    queue->last = calloc(QUEUE_SLOTS, sizeof *queue->last);
    queue->occupied = calloc(WORDS, sizeof *queue->occupied);
    return queue->last != NULL && queue->occupied != NULL;
}

void queue_destroy(struct queue *queue)
{
    while (queue->chunks != NULL) {
        struct queue_chunk *next = queue->chunks->next;

        free(queue->chunks);
        queue->chunks = next;
    }
    free(queue->last);
    free(queue->occupied);
}

static void refill(struct queue *queue)
{
    struct queue_chunk *chunk = allocation_checked(malloc(sizeof *chunk));

    chunk->next = queue->chunks;
    queue->chunks = chunk;
    for (unsigned i = 0; i < CHUNK_MESSAGES; i++)
        queue_free(queue, &chunk->messages[i]);
}

struct message *queue_new(struct queue *queue)
{
    struct message *message;

    if (queue->free == NULL)
        refill(queue);
    message = queue->free;
    queue->free = message->next;
    *message = (struct message){0};
    return message;
}

void queue_free(struct queue *queue, struct message *message)
{
    message->next = queue->free;
    queue->free = message;
}

void queue_put(struct queue *queue, struct message *message, uint64_t time)
{
    uint64_t at = time - queue->now < QUEUE_SLOTS ? time : queue->now + QUEUE_SLOTS - 1;
    unsigned slot = at % QUEUE_SLOTS;
    struct message *last = queue->last[slot];

    message->time = time;
    if (last == NULL) {
        message->next = message;
        queue->occupied[slot / 64] |= (uint64_t)1 << slot % 64;
    } else {
        message->next = last->next;
        last->next = message;
    }
    queue->last[slot] = message;
    queue->pending++;
}

/* The first occupied slot from this one on, round the wheel. Some slot is. */
static unsigned next_occupied(const struct queue *queue, unsigned slot)
{
    unsigned word = slot / 64;
    uint64_t bits = queue->occupied[word] & ~(uint64_t)0 << slot % 64;

    while (bits == 0) {
        word = (word + 1) % WORDS;
        bits = queue->occupied[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

struct message *queue_take(struct queue *queue)
{
    while (queue->pending > 0) {
        unsigned present = queue->now % QUEUE_SLOTS;
        unsigned slot = next_occupied(queue, present);
        struct message *last = queue->last[slot], *first = last->next;

        queue->now += (slot - present) % QUEUE_SLOTS;
        if (first == last) {
            queue->last[slot] = NULL;
            queue->occupied[slot / 64] &= ~((uint64_t)1 << slot % 64);
        } else {
            last->next = first->next;
        }
        queue->pending--;
        if (first->time == queue->now)
            return first;
        queue_put(queue, first, first->time);
    }
    return NULL;
}
