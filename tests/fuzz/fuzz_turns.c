/*
 * SPDX-License-Identifier: MIT
 *
 * See fuzz_turns.h.
 */
#include "fuzz_turns.h"

#include "fuzz.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Only the thread whose turn it is, and the first one while nobody else's is, touches any of this;
   the semaphores order one turn after the other. */
static struct player {
    sem_t go;
    pid_t id;
    bool pinned;
} players[FUZZ_THREADS_MOST];
static unsigned player_count = 1, turn;
static bool passed;
static sem_t back;
static void (*play)(void);
static cpu_set_t allowed;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void *wait_for_turns(void *argument)
{
    struct player *self = argument;

    self->id = gettid();
    for (;;) {
        wait_for(&self->go);
        play();
        sem_post(&back);
    }
    return NULL;
}

void turns_start(unsigned threads, void (*body)(void))
{
    play = body;
    player_count = threads > 0 ? threads : 1;
    players[0].id = gettid();
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        CPU_ZERO(&allowed); /* more CPUs than the set holds: stay where we are */
    sem_init(&back, 0, 0);
    for (unsigned i = 1; i < player_count; i++) {
        pthread_t thread;

        sem_init(&players[i].go, 0, 0);
        if (pthread_create(&thread, NULL, wait_for_turns, &players[i]) != 0) {
            fprintf(stderr, "fuzz: cannot start %u threads\n", player_count);
            exit(2);
        }
        pthread_detach(thread);
    }
}

void turns_take(void)
{
    passed = false;
    if (turn == 0) {
        play();
        return;
    }
    sem_post(&players[turn].go);
    wait_for(&back);
}

void turns_pass(unsigned thread)
{
    turn = thread % player_count;
    passed = true;
}

bool turns_passed(void)
{
    return passed;
}

void turns_move(unsigned cpu)
{
    int count = CPU_COUNT(&allowed), number = -1;
    cpu_set_t one;

    if (count < 2)
        return;
    for (int nth = (int)cpu % count; nth >= 0; nth--)
        do
            number++;
        while (!CPU_ISSET(number, &allowed));
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    sched_setaffinity(0, sizeof one, &one);
    players[turn].pinned = true;
}

void turns_end(void)
{
    turn = 0;
    for (unsigned i = 0; i < player_count; i++) {
        if (players[i].pinned)
            sched_setaffinity(players[i].id, sizeof allowed, &allowed);
        players[i].pinned = false;
    }
}
