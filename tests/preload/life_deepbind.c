/*
 * SPDX-License-Identifier: MIT
 *
 * A library that was opened with RTLD_DEEPBIND shares blocks and mutexes with its program, which
 * has an allocator and a lock of another library's.
 *
 *   life_deepbind PLUGIN NAME    NAME: of a library in the folder of the plugin, which is the
 * plugin's run path and not this program's
 */
#include "expect.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, TIMES = 20000 };

static char *(*plugin_copy)(const char *);
static void (*plugin_free)(char *);
static void (*plugin_count)(pthread_mutex_t *, long *, long);
static int (*plugin_try)(pthread_mutex_t *);
static void *(*plugin_open)(const char *, int);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    EXPECT(found != NULL);
    return found;
}

static void bind(void *library)
{
    *(void **)&plugin_copy = symbol(library, "plugin_copy");
    *(void **)&plugin_free = symbol(library, "plugin_free");
    *(void **)&plugin_count = symbol(library, "plugin_count");
    *(void **)&plugin_try = symbol(library, "plugin_try");
    *(void **)&plugin_open = symbol(library, "plugin_open");
}

static void blocks_may_be_freed_on_either_side(void)
{
    for (int i = 0; i < 3000; i++) {
        char text[64];

        snprintf(text, sizeof text, "text %d", i);
        char *copy = plugin_copy(text);
        EXPECT(strcmp(copy, text) == 0);
        free(copy);
        copy = strdup(text);
        EXPECT(copy != NULL);
        plugin_free(copy);
    }
}

static void *count_here_or_there(void *argument)
{
    if (argument != NULL) {
        plugin_count(&mutex, &count, TIMES);
        return NULL;
    }
    for (int i = 0; i < TIMES; i++) {
        EXPECT(pthread_mutex_lock(&mutex) == 0);
        count++;
        EXPECT(pthread_mutex_unlock(&mutex) == 0);
    }
    return NULL;
}

static void a_mutex_excludes_both_sides(void)
{
    pthread_t threads[THREADS];

    count = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, count_here_or_there, (void *)(i % 2)) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(count == (long)THREADS * TIMES);
}

/* Elided or not, and whoever tries. What the section sees is judged after it. */
static void a_mutex_that_the_program_holds_is_busy_to_the_library(void)
{
    for (int i = 0; i < 20; i++) {
        EXPECT(pthread_mutex_lock(&mutex) == 0);
        int tried = plugin_try(&mutex);
        EXPECT(pthread_mutex_unlock(&mutex) == 0);
        EXPECT(tried == EBUSY);
        EXPECT(plugin_try(&mutex) == 0);
    }
}

static void names_are_looked_for_along_the_callers_run_path(const char *name)
{
    EXPECT(dlopen(name, RTLD_NOW) == NULL);
    EXPECT(strstr(dlerror(), name) != NULL);
    for (int deep = 0; deep < 2; deep++) {
        void *library = plugin_open(name, RTLD_NOW | (deep ? RTLD_DEEPBIND : 0));

        EXPECT(library != NULL);
        EXPECT(dlclose(library) == 0);
    }
}

static void another_namespace_is_opened(void)
{
    void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW | RTLD_DEEPBIND);
    double (*function)(double);
    Lmid_t space;

    EXPECT(library != NULL);
    EXPECT(dlinfo(library, RTLD_DI_LMID, &space) == 0 && space != LM_ID_BASE);
    *(void **)&function = symbol(library, "sqrt");
    EXPECT(function(9) == 3);
    EXPECT(dlclose(library) == 0);
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 3) {
        fprintf(stderr, "life_deepbind: wants a plugin and the name of a library beside it\n");
        return 2;
    }
    for (int by_namespace = 0; by_namespace < 2; by_namespace++) {
        const int mode = RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND;
        void *library =
            by_namespace ? dlmopen(LM_ID_BASE, arguments[1], mode) : dlopen(arguments[1], mode);

        EXPECT(library != NULL);
        bind(library);
        blocks_may_be_freed_on_either_side();
        a_mutex_that_the_program_holds_is_busy_to_the_library();
        a_mutex_excludes_both_sides();
        names_are_looked_for_along_the_callers_run_path(arguments[2]);
        EXPECT(dlclose(library) == 0);
    }
    another_namespace_is_opened();
    return 0;
}
