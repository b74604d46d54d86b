/*
 * SPDX-License-Identifier: MIT
 *
 * A program that uses what the preload libraries serve, from the first to the last of its moments:
 * the malloc family, mutexes and conditions, threads that end while others free their blocks, a
 * child of fork. It runs where a process may find itself (life_places_test.sh,
 * life_secure_test.sh), so it needs nothing else: no file, no argument, no variable. It also builds
 * statically, with another libc, and for another word size, where no library can reach it.
 *
 *   life_worker [no-files] [data-at-2 FILE] [status N] [secure]
 *
 * no-files: allows itself no file descriptor. data-at-2: closes standard error, and what it writes
 * next is a file of its own. status: how it exits. secure: prints whether it has more rights than
 * its user, and that is all.
 *
 * Prints "works under MALLOC and LOCK", the names that the libraries give themselves, or "plain".
 */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifndef LIFE_ALONE
#include <dlfcn.h>
#endif

enum { THREADS = 3, ROUNDS = 300, KEPT = 64 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, checking;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Blocks that threads hand to each other; guarded by plain. */
static struct {
    unsigned char *block;
    size_t size;
    uint64_t tag;
} kept[KEPT];
static int turn; /* of the threads, one after the other; guarded by plain, signalled by changed */

static const char *name_of(const char *function)
{
#ifdef LIFE_ALONE
    (void)function;
#else
    const char *(*name)(void);

    *(void **)&name = dlsym(RTLD_DEFAULT, function);
    if (name != NULL)
        return name();
#endif
    return "plain";
}

static void use_every_way_to_allocate(void)
{
    for (size_t size = 1; size < (size_t)3 << 20; size = size * 3 + 1) {
        unsigned char *block = malloc(size), *zeroed = calloc(size, 1);
        void *aligned = NULL;

        EXPECT(block != NULL && zeroed != NULL && is_zero(zeroed, size));
        EXPECT(posix_memalign(&aligned, 256, size) == 0 && is_aligned(aligned, 256));
        fill_pattern(block, 0, size, size);
        EXPECT(malloc_usable_size(block) >= size);
        block = realloc(block, size * 2);
        EXPECT(block != NULL && holds_pattern(block, 0, size, size));
        free(zeroed);
        free(aligned);
        free(block);
    }
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Puts a block of its own there, and frees whatever thread's block was. */
static void swap_a_block(uint64_t *random)
{
    size_t place = next_random(random) % KEPT, size = 1 + next_random(random) % 3000;
    uint64_t tag = next_random(random);
    unsigned char *block = malloc(size);

    EXPECT(block != NULL);
    fill_pattern(block, 0, size, tag);
    EXPECT(pthread_mutex_lock(&plain) == 0);
    unsigned char *old = kept[place].block;
    size_t old_size = kept[place].size;
    uint64_t old_tag = kept[place].tag;
    kept[place].block = block;
    kept[place].size = size;
    kept[place].tag = tag;
    EXPECT(pthread_mutex_unlock(&plain) == 0);
    EXPECT(old == NULL || holds_pattern(old, 0, old_size, old_tag));
    free(old);
}

static void use_every_kind_of_mutex(void)
{
    EXPECT(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    EXPECT(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
    EXPECT(pthread_mutex_unlock(&recursive) == EPERM);
    EXPECT(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == EDEADLK);
    EXPECT(pthread_mutex_unlock(&checking) == 0);
}

static void await_the_turn(int mine)
{
    EXPECT(pthread_mutex_lock(&plain) == 0);
    while (turn != mine)
        EXPECT(pthread_cond_wait(&changed, &plain) == 0);
    turn++;
    EXPECT(pthread_cond_broadcast(&changed) == 0);
    EXPECT(pthread_mutex_unlock(&plain) == 0);
}

static void *work(void *argument)
{
    uint64_t random = (uintptr_t)argument;

    for (int round = 0; round < ROUNDS; round++)
        swap_a_block(&random);
    use_every_kind_of_mutex();
    await_the_turn((int)(uintptr_t)argument);
    return NULL;
}

static void use_threads(void)
{
    pthread_t threads[THREADS];

    turn = 0;
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(turn == THREADS);
}

static void use_a_child(void)
{
    pid_t child = fork();
    int status;

    EXPECT(child >= 0);
    if (child == 0) {
        use_threads();
        use_every_way_to_allocate();
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0)
        EXPECT(errno == EINTR);
    EXPECT(status == 0);
}

static void make_mutex(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;

    EXPECT(pthread_mutexattr_init(&attributes) == 0);
    EXPECT(pthread_mutexattr_settype(&attributes, type) == 0);
    EXPECT(pthread_mutex_init(mutex, &attributes) == 0);
    EXPECT(pthread_mutexattr_destroy(&attributes) == 0);
}

static void close_standard_error_and_write_data(const char *file)
{
    static const char data[] = "data\n";

    close(STDERR_FILENO);
    int opened = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (opened != STDERR_FILENO || write(opened, data, sizeof data - 1) != sizeof data - 1)
        _exit(1);
}

int main(int count, char **arguments)
{
    int status = 0;

    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "no-files") == 0) {
            const struct rlimit none = {0, 0};
            EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
        } else if (strcmp(arguments[i], "data-at-2") == 0 && i + 1 < count) {
            close_standard_error_and_write_data(arguments[++i]);
        } else if (strcmp(arguments[i], "secure") == 0) {
            puts(getauxval(AT_SECURE) != 0 ? "yes" : "no");
            return 0;
        } else if (strcmp(arguments[i], "status") == 0 && i + 1 < count) {
            status = atoi(arguments[++i]);
        } else {
            fprintf(stderr, "life_worker: unknown argument %s\n", arguments[i]);
            return 2;
        }
    }
    alarm(120); /* a hang is a failure that names itself */
    make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE);
    make_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK);
    use_every_way_to_allocate();
    use_threads();
    use_a_child();
    use_threads();
    for (int i = 0; i < KEPT; i++)
        free(kept[i].block);
    printf("works under %s and %s\n", name_of("mplace_malloc_name"), name_of("mplace_lock_name"));
    return status;
}
