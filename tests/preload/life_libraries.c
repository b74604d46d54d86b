/*
 * SPDX-License-Identifier: MIT
 *
 * Libraries that allocate, lock and start threads as they are loaded and unloaded (life_edge.c's is
 * one), loaded and unloaded by many threads at once.
 *
 *   life_libraries ROUNDS LIBRARY...
 */
#include "expect.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 6 };

static char **paths;
static size_t path_count;
static long rounds;

static void *load_and_unload(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    for (long i = 0; i < rounds; i++) {
        void *library = dlopen(paths[next_random(&random) % path_count],
                               next_random(&random) % 2 ? RTLD_NOW : RTLD_LAZY);
        int (*uses)(void);

        EXPECT(library != NULL);
        *(void **)&uses = dlsym(library, "life_edge_uses");
        EXPECT(uses != NULL && uses() >= 1);
        (void)dlsym(library, "no_such_function"); /* its message is allocated */
        EXPECT(dlerror() != NULL);
        EXPECT(dlclose(library) == 0); /* mostly the last that has it: it is unloaded */
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];

    if (count < 3 || (rounds = atol(arguments[1])) <= 0) {
        fprintf(stderr, "life_libraries: wants a number of rounds and libraries\n");
        return 2;
    }
    paths = arguments + 2;
    path_count = (size_t)(count - 2);
    for (uintptr_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, load_and_unload, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    return 0;
}
