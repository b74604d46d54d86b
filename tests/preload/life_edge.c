/*
 * SPDX-License-Identifier: MIT
 *
 * A library that allocates, locks and starts a thread in its constructor, and does the same in its
 * destructor, where it also gives back what it has kept since then; see life_edge_program.cpp. What
 * it finds out before any constructor of others is in it also when a program binds to it lazily: a
 * function chosen by a resolver that allocates.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int life_edge_chosen(void);
int life_edge_uses(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *kept[100];
static void *of_the_resolver;
static int thread_ran; /* guarded by mutex */
static int uses;

static void fail(const char *what)
{
    (void)!write(STDERR_FILENO, "life_edge: does not hold: ", 26);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

#define HOLD(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition);                                                                      \
    } while (0)

static void *run(void *argument)
{
    char *block = malloc(1000);

    HOLD(block != NULL);
    memset(block, 1, 1000);
    HOLD(pthread_mutex_lock(&mutex) == 0);
    thread_ran = 1;
    HOLD(pthread_cond_signal(&changed) == 0);
    HOLD(pthread_mutex_unlock(&mutex) == 0);
    free(block);
    return argument;
}

/* Locks of two kinds, a condition, another thread, and blocks of all lengths. */
static void use_everything(void)
{
    pthread_t thread;

    HOLD(pthread_mutex_lock(&checking) == 0);
    HOLD(pthread_mutex_unlock(&checking) == 0);
    HOLD(pthread_mutex_lock(&mutex) == 0);
    thread_ran = 0;
    HOLD(pthread_create(&thread, NULL, run, NULL) == 0);
    while (!thread_ran)
        HOLD(pthread_cond_wait(&changed, &mutex) == 0);
    HOLD(pthread_mutex_unlock(&mutex) == 0);
    HOLD(pthread_join(thread, NULL) == 0);
    for (size_t size = 1; size < 2000000; size *= 3) {
        char *block = realloc(calloc(1, size), size + 100);

        HOLD(block != NULL && block[size - 1] == 0);
        free(block);
    }
    uses++;
}

static void check_and_free_what_was_kept(void)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i] != NULL)
            HOLD(kept[i][0] == (char)i && kept[i][i * 50] == (char)i);
        free(kept[i]);
    }
}

/* An exit handler registered by a constructor runs among the destructors. */
static void at_exit(void)
{
    use_everything();
}

__attribute__((constructor)) static void begin(void)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        kept[i] = malloc(i * 50 + 1);
        HOLD(kept[i] != NULL);
        memset(kept[i], (int)i, i * 50 + 1);
    }
    use_everything();
    HOLD(atexit(at_exit) == 0);
}

__attribute__((destructor)) static void end(void)
{
    use_everything();
    check_and_free_what_was_kept();
    free(of_the_resolver);
}

static int one(void)
{
    return 1;
}

/* Runs when the program first calls the function: relocation is over, constructors may not be. */
__attribute__((used)) static int (*choose(void))(void)
{
    HOLD(pthread_mutex_lock(&mutex) == 0);
    of_the_resolver = malloc(5000);
    HOLD(of_the_resolver != NULL);
    free(malloc(50));
    HOLD(pthread_mutex_unlock(&mutex) == 0);
    return one;
}

int life_edge_chosen(void) __attribute__((ifunc("choose")));

int life_edge_uses(void)
{
    return uses;
}
