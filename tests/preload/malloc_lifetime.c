/*
 * SPDX-License-Identifier: MIT
 *
 * Allocation works from the first constructor to the last destructor of a process: in libraries
 * that come and go, in destructors of thread-local data, in exit handlers, and when a thread that
 * is not the first calls exit while others allocate.
 *
 *   malloc_lifetime PLUGIN
 */
#include "expect.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static char *from_constructor;

static void use_the_allocator(void)
{
    void *blocks[40];

    for (size_t i = 0; i < 40; i++) {
        blocks[i] = i % 2 ? malloc(i * i * 30) : calloc(i + 1, 100);
        EXPECT(blocks[i] != NULL);
    }
    for (int i = 0; i < 40; i++)
        free(blocks[i]);
}

__attribute__((constructor(101))) static void first_constructor(void)
{
    from_constructor = malloc(300);
    EXPECT(from_constructor != NULL);
    fill_pattern(from_constructor, 0, 300, 1);
}

/* Runs in each process that this program becomes, after everything else of it. */
__attribute__((destructor(101))) static void last_destructor(void)
{
    EXPECT(holds_pattern(from_constructor, 0, 300, 1));
    free(from_constructor);
    use_the_allocator();
}

static void libraries_may_allocate_as_they_come_and_go(const char *path)
{
    for (int i = 0; i < 50; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        EXPECT(library != NULL);
        char *(*plugin_block)(void);
        *(void **)&plugin_block = dlsym(library, "plugin_block");
        EXPECT(plugin_block != NULL);
        char *block = plugin_block();
        EXPECT(dlclose(library) == 0);
        EXPECT(strcmp(block, "allocated in a constructor") == 0);
        free(block); /* outlives the library that allocated it */
    }
}

static pthread_key_t key;

static void destroy_thread_data(void *data)
{
    EXPECT(holds_pattern(data, 0, 700, 2));
    free(data);
    use_the_allocator();
    static _Thread_local int rounds;
    if (++rounds < 3) { /* a destructor may set the key again and is then called again */
        char *more = malloc(700);
        fill_pattern(more, 0, 700, 2);
        EXPECT(pthread_setspecific(key, more) == 0);
    }
}

static void *thread_with_data(void *argument)
{
    char *data = malloc(700);

    fill_pattern(data, 0, 700, 2);
    EXPECT(pthread_setspecific(key, data) == 0);
    use_the_allocator();
    return argument;
}

static void destructors_of_thread_data_may_allocate_and_free(void)
{
    pthread_t threads[8];

    EXPECT(pthread_key_create(&key, destroy_thread_data) == 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            EXPECT(pthread_create(&threads[i], NULL, thread_with_data, NULL) == 0);
        for (int i = 0; i < 8; i++)
            EXPECT(pthread_join(threads[i], NULL) == 0);
    }
    EXPECT(pthread_key_delete(key) == 0);
}

static void exit_handler(void)
{
    use_the_allocator();
}

static void *allocate_for_ever(void *argument)
{
    for (;;)
        use_the_allocator();
    return argument;
}

static void *exit_from_here(void *argument)
{
    use_the_allocator();
    exit((int)(uintptr_t)argument);
}

/* Each in a child: exit handlers and destructors run there, while other threads go on allocating.
 */
static void exit_in_any_thread_may_allocate_to_the_last(int in_second_thread)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        pthread_t thread;
        alarm(20);
        EXPECT(atexit(exit_handler) == 0);
        for (int i = 0; i < 3; i++)
            EXPECT(pthread_create(&thread, NULL, allocate_for_ever, NULL) == 0);
        if (!in_second_thread)
            exit(7);
        EXPECT(pthread_create(&thread, NULL, exit_from_here, (void *)7) == 0);
        pthread_exit(NULL); /* the first thread is gone when the second calls exit */
    }
    while (waitpid(child, &status, 0) < 0)
        EXPECT(errno == EINTR);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "malloc_lifetime: wants one argument, the path of the plugin\n");
        return 2;
    }
    libraries_may_allocate_as_they_come_and_go(argv[1]);
    destructors_of_thread_data_may_allocate_and_free();
    for (int i = 0; i < 20; i++)
        exit_in_any_thread_may_allocate_to_the_last(i % 2);
    EXPECT(atexit(exit_handler) == 0);
    return 0;
}
