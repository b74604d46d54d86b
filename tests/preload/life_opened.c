/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library that a program loads itself. The program's calls go where they went: what is in
 * its scope first is libc's. What it finds in the library by dlsym works, in threads too, with
 * blocks and mutexes of its own; the library may go and come again, in any order; fork and exit
 * find no handler of one that is gone.
 *
 *   life_opened LIBRARY...
 */
#include "expect.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
    int (*lock)(pthread_mutex_t *);
    int (*unlock)(pthread_mutex_t *);
} of_library;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counted; /* guarded by mutex */

static void *use(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    for (int i = 0; i < 3000; i++) {
        if (of_library.malloc != NULL) {
            size_t size = i % 4 != 0 ? 100 : 1 + next_random(&random) % 4000;
            char *block = of_library.malloc(size);

            EXPECT(block != NULL);
            fill_pattern(block, 0, size, size);
            EXPECT(holds_pattern(block, 0, size, size));
            of_library.free(block);
        }
        if (of_library.lock != NULL) {
            EXPECT(of_library.lock(&mutex) == 0);
            counted++;
            EXPECT(of_library.unlock(&mutex) == 0);
        }
    }
    return NULL;
}

static void use_in_threads(void)
{
    pthread_t threads[3];

    counted = 0;
    for (uintptr_t i = 0; i < 3; i++)
        EXPECT(pthread_create(&threads[i], NULL, use, (void *)i) == 0);
    for (int i = 0; i < 3; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(of_library.lock == NULL || counted == 9000);
}

static void use_libc(void)
{
    char *block = malloc(100);

    EXPECT(block != NULL);
    EXPECT(pthread_mutex_lock(&mutex) == 0);
    EXPECT(pthread_mutex_unlock(&mutex) == 0);
    free(block);
}

static void use_a_child(void)
{
    pid_t child = fork();
    int status;

    EXPECT(child >= 0);
    if (child == 0) {
        use_libc();
        exit(3);
    }
    while (waitpid(child, &status, 0) < 0)
        EXPECT(errno == EINTR);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void *open_and_use(const char *path, int mode)
{
    void *library = dlopen(path, mode);
    const char *(*name)(void);

    if (library == NULL)
        fprintf(stderr, "life_opened: %s\n", dlerror());
    EXPECT(library != NULL);
    *(void **)&name = dlsym(library, "mplace_malloc_name");
    /* dlsym looks behind the library, too: in libc, which has the functions but not the name. */
    *(void **)&of_library.malloc = name != NULL ? dlsym(library, "malloc") : NULL;
    *(void **)&of_library.free = name != NULL ? dlsym(library, "free") : NULL;
    *(void **)&name = dlsym(library, "mplace_lock_name");
    *(void **)&of_library.lock = name != NULL ? dlsym(library, "pthread_mutex_lock") : NULL;
    *(void **)&of_library.unlock = name != NULL ? dlsym(library, "pthread_mutex_unlock") : NULL;
    EXPECT(of_library.malloc != NULL || of_library.lock != NULL);
    EXPECT(of_library.malloc != malloc && of_library.lock != pthread_mutex_lock);
    use_in_threads();
    use_libc();
    use_a_child();
    return library;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "life_opened: wants libraries\n");
        return 2;
    }
    for (int i = 1; i < count; i++) {
        for (int round = 0; round < 3; round++) {
            void *library =
                open_and_use(arguments[i], round == 1 ? RTLD_LAZY | RTLD_GLOBAL : RTLD_NOW);
            (void)use(NULL); /* what that leaves with this thread must be good afterwards */
            EXPECT(dlclose(library) == 0);
            usleep(2000); /* the kernel looks at a thread's sequence when it stops running */
            use_libc();
            use_a_child();
        }
    }
    for (int i = 1; i < count; i++) /* and all together, not closed */
        (void)open_and_use(arguments[i], RTLD_NOW);
    return 0;
}
