/*
 * SPDX-License-Identifier: MIT
 *
 * See team.h.
 */
#include "team.h"

#include <semaphore.h>
#include <stddef.h>

/* Of each worker. */
static struct gate {
    _Alignas(64) sem_t arrived; /* it and those below it in the tree */
    _Alignas(64) sem_t go;
} gates[TEAM_MOST];

static void add(struct team *team, unsigned thread, unsigned quadrant, unsigned index)
{
    unsigned number = team->workers++;

    team->worker[number] = (struct worker){number, quadrant, index};
    team->worker_of[thread] = number;
}

bool team_arrange(struct team *team, unsigned workers, unsigned width, unsigned height)
{
    team->workers = 0;
    team->threads = width == 0 ? workers : width * height;
    for (unsigned i = 0; i < TEAM_MOST; i++)
        team->worker_of[i] = TEAM_MOST;
    if (width == 0) {
        for (unsigned i = 0, index = 0, before = 0; i < workers; i++) {
            unsigned quadrant = i * TEAM_QUADRANTS / workers;

            index = quadrant == before ? index : 0;
            before = quadrant;
            add(team, i, quadrant, index++);
        }
        return true;
    }
    if (workers % TEAM_QUADRANTS != 0)
        return false;
    for (unsigned quadrant = 0; quadrant < TEAM_QUADRANTS; quadrant++) {
        unsigned index = 0;

        for (unsigned tile = 0; tile < team->threads && index < workers / TEAM_QUADRANTS; tile++) {
            unsigned right = tile % width >= (width + 1) / 2;
            unsigned low = tile / width >= (height + 1) / 2;

            if (2 * low + right == quadrant)
                add(team, tile, quadrant, index++);
        }
        if (index < workers / TEAM_QUADRANTS)
            return false;
    }
    return true;
}

const struct worker *team_worker(const struct team *team, unsigned thread)
{
    unsigned number = team->worker_of[thread];

    return number == TEAM_MOST ? NULL : &team->worker[number];
}

void team_prepare(const struct team *team)
{
    for (unsigned i = 0; i < team->workers; i++) {
        sem_init(&gates[i].arrived, 0, 0);
        sem_init(&gates[i].go, 0, 0);
    }
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        /* A signal came. */
    }
}

void team_gather(const struct team *team, const struct worker *worker)
{
    unsigned first = 2 * worker->number + 1;

    for (unsigned i = first; i < first + 2 && i < team->workers; i++)
        wait_for(&gates[i].arrived);
    if (worker->number != 0) {
        sem_post(&gates[worker->number].arrived);
        wait_for(&gates[worker->number].go);
    }
    for (unsigned i = first; i < first + 2 && i < team->workers; i++)
        sem_post(&gates[i].go);
}
