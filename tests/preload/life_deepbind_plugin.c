/*
 * SPDX-License-Identifier: MIT
 *
 * A library that life_deepbind opens with RTLD_DEEPBIND, in the way of PHP's extensions: what it
 * calls is first looked for in what it needs itself, the C library among that.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

char *plugin_copy(const char *text);
void plugin_free(char *text);
void plugin_count(pthread_mutex_t *mutex, long *count, long times);
int plugin_try(pthread_mutex_t *mutex);
void *plugin_open(const char *name, int mode);

static char *kept;

/* strdup is the C library's, and allocates by what serves the process. */
__attribute__((constructor)) static void load(void)
{
    kept = strdup("before");
    kept = realloc(kept, 3000);
    if (kept == NULL || strcmp(kept, "before") != 0)
        abort();
}

__attribute__((destructor)) static void unload(void)
{
    free(kept);
}

char *plugin_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    if (copy == NULL)
        abort();
    free(strdup(text));
    return strcpy(copy, text);
}

void plugin_free(char *text)
{
    free(text);
}

void plugin_count(pthread_mutex_t *mutex, long *count, long times)
{
    while (times-- > 0) {
        pthread_mutex_lock(mutex);
        ++*count;
        pthread_mutex_unlock(mutex);
    }
}

/* What it gets it gives back. */
int plugin_try(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_trylock(mutex);

    if (error == 0)
        pthread_mutex_unlock(mutex);
    return error;
}

void *plugin_open(const char *name, int mode)
{
    void *library = dlopen(name, mode);

    __asm__ volatile("" : "+r"(library)); /* no tail call: the linker looks where it returns to */
    return library;
}
