/*
 * SPDX-License-Identifier: MIT
 *
 * A preload library for one test: every 16th malloc or realloc gives the block of the one before
 * once more, if it is long enough. Nothing is ever freed, so that a block that two hold is not
 * freed twice, and the program that is to notice gets to see it.
 */
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t size);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size)
{
    enum { TWICE = 16 };
    static unsigned count;
    static void *last;
    void *block;

    pthread_mutex_lock(&mutex);
    if (++count % TWICE == 0 && last != NULL && malloc_usable_size(last) >= size)
        block = last;
    else
        block = last = __libc_malloc(size);
    pthread_mutex_unlock(&mutex);
    return block;
}

void *realloc(void *block, size_t size)
{
    void *other = malloc(size);
    size_t length = block != NULL ? malloc_usable_size(block) : 0;

    if (other != NULL && other != block && block != NULL)
        memmove(other, block, length < size ? length : size);
    return other;
}

void free(void *block)
{
    (void)block;
}
