/*
 * SPDX-License-Identifier: MIT
 *
 * See team.h.
 */
#include "team.h"

#include <stddef.h>

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
