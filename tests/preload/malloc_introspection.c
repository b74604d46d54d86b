/*
 * SPDX-License-Identifier: MIT
 *
 * The calls that look into the allocator or advise it: they answer sensibly, write where they
 * should and nowhere else, and leave the allocator usable, also when the thread that asks is
 * cancelled.
 */
#include "expect.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCKS = 20000, BLOCK_BYTES = 1000 };

/* With the argument "pool": all memory is one pool's, and no block is a mapping of its own. */
static bool is_pool;

static void mallinfo2_follows_what_is_in_use(void)
{
    static void *blocks[BLOCKS];
    struct mallinfo2 before = mallinfo2(), full, after;

    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BLOCK_BYTES)) != NULL);
    full = mallinfo2();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    after = mallinfo2();

    size_t asked = (size_t)BLOCKS * BLOCK_BYTES;
    EXPECT(full.uordblks >= before.uordblks + asked);
    EXPECT(full.uordblks <= before.uordblks + 2 * asked);
    EXPECT(full.arena + full.hblkhd >= full.uordblks);
    EXPECT(after.uordblks < before.uordblks + asked / 10);

    void *large = malloc(50 << 20);
    struct mallinfo2 with = mallinfo2();
    free(large);
    EXPECT(with.uordblks + with.hblkhd >= after.uordblks + after.hblkhd + (50 << 20));
}

/* Sizes that no list of small blocks takes in glibc, which does not count those; every other one is
 * freed, so that it joins no neighbour there.
 */
static void a_freed_block_is_one_more_free_block(void)
{
    enum { COUNT = 24 };
    void *blocks[COUNT];
    struct mallinfo2 full, now;

    for (int i = 0; i < COUNT; i++)
        EXPECT((blocks[i] = malloc(1600 + (size_t)i * 160)) != NULL);
    full = mallinfo2();
    for (int i = 0; i < COUNT; i += 2) {
        free(blocks[i]);
        now = mallinfo2();
        EXPECT(now.ordblks == full.ordblks + (size_t)i / 2 + 1);
        EXPECT(now.uordblks < full.uordblks && now.fordblks > full.fordblks);
    }
    EXPECT(now.fordblks - full.fordblks == full.uordblks - now.uordblks + now.arena - full.arena);
    for (int i = 1; i < COUNT; i += 2)
        free(blocks[i]);
}

/* Of one size, so many that they pass through every cache of an allocator. Thousands may be in a
 * quarantine, and other memory be taken instead.
 */
static void blocks_taken_again_are_free_no_more(void)
{
    static void *blocks[BLOCKS];
    struct mallinfo2 full, freed, again;
    cpu_set_t allowed, here;

    /* On another CPU other blocks would be taken. */
    EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    EXPECT(sched_setaffinity(0, sizeof here, &here) == 0);
    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(1600)) != NULL);
    full = mallinfo2();
    for (int i = 0; i < BLOCKS; i += 2)
        free(blocks[i]);
    freed = mallinfo2();
    for (int i = 0; i < BLOCKS; i += 2)
        EXPECT((blocks[i] = malloc(1600)) != NULL);
    again = mallinfo2();
    EXPECT(freed.ordblks >= full.ordblks + BLOCKS / 2 - BLOCKS / 100);
    EXPECT(freed.ordblks <= full.ordblks + BLOCKS / 2 + BLOCKS / 100);
    EXPECT(again.ordblks <= freed.ordblks - BLOCKS / 8);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    EXPECT(sched_setaffinity(0, sizeof allowed, &allowed) == 0);
}

static void mallinfo_answers_too(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old programs call it */
    void *block = malloc(100000);
    struct mallinfo info = mallinfo();
    EXPECT(info.uordblks + info.hblkhd >= 100000);
    EXPECT(info.ordblks > 0);
    free(block);
#pragma GCC diagnostic pop
}

static void malloc_info_writes_xml_and_knows_no_options(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);

    EXPECT(stream != NULL);
    EXPECT(malloc_info(0, stream) == 0);
    EXPECT(fclose(stream) == 0);
    EXPECT(strncmp(text, "<malloc version=", 16) == 0);
    EXPECT(strstr(text, "</malloc>") != NULL);
    free(text);
    /* The manual says -1 and errno, the library returns the error: both are not 0. */
    EXPECT(malloc_info(1, stderr) != 0);
}

/* What call wrote to standard error; its beginning where that is very much. */
static char error_text[1 << 16];

/* Runs call with both output streams sent to a pipe each; says how much arrived. */
static void output_of(void (*call)(void), size_t *to_stdout, size_t *to_stderr)
{
    int pipes[2][2], saved[2];
    size_t *counts[2] = {to_stdout, to_stderr};

    fflush(NULL);
    error_text[0] = '\0';
    for (int i = 0; i < 2; i++) {
        EXPECT(pipe2(pipes[i], O_NONBLOCK) == 0);
        EXPECT(fcntl(pipes[i][1], F_SETPIPE_SZ, 1 << 20) > 0);
        saved[i] = dup(1 + i);
        dup2(pipes[i][1], 1 + i);
    }
    call();
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        char buffer[4096];
        ssize_t length;
        dup2(saved[i], 1 + i);
        close(saved[i]);
        close(pipes[i][1]);
        *counts[i] = 0;
        while ((length = read(pipes[i][0], buffer, sizeof buffer)) > 0) {
            if (i == 1 && *counts[i] + (size_t)length < sizeof error_text) {
                memcpy(error_text + *counts[i], buffer, (size_t)length);
                error_text[*counts[i] + (size_t)length] = '\0';
            }
            *counts[i] += (size_t)length;
        }
        close(pipes[i][0]);
    }
}

static void malloc_stats_writes_to_stderr_alone(void)
{
    size_t to_stdout, to_stderr;

    output_of(malloc_stats, &to_stdout, &to_stderr);
    EXPECT(to_stdout == 0);
    EXPECT(to_stderr > 0);
}

/* The number behind the last "name =" in the text. */
static unsigned long number_of(const char *name)
{
    const char *at = NULL, *next = error_text;
    unsigned long number = 0;

    while ((next = strstr(next, name)) != NULL)
        at = next += strlen(name);
    EXPECT(at != NULL);
    EXPECT(sscanf(at, " = %lu", &number) == 1);
    return number;
}

/* Programs cut these out of it. */
static void malloc_stats_ends_with_the_sums_and_the_most_that_was_mapped(void)
{
    const size_t large = 50 << 20;
    size_t to_stdout, to_stderr;
    void *block = malloc(large), *small = malloc(100000);

    EXPECT(block != NULL && small != NULL);
    output_of(malloc_stats, &to_stdout, &to_stderr);
    EXPECT(strstr(error_text, "Total (incl. mmap):") != NULL);
    EXPECT(number_of("in use bytes    ") >= large + 100000);
    EXPECT(number_of("system bytes    ") >= number_of("in use bytes    "));
    unsigned long most = number_of("max mmap bytes  ");
    EXPECT(is_pool ? most == 0 : most >= large);
    EXPECT(is_pool == (number_of("max mmap regions") == 0));
    free(block);
    free(small);
    output_of(malloc_stats, &to_stdout, &to_stderr);
    EXPECT(number_of("in use bytes    ") < large);
    EXPECT(number_of("max mmap bytes  ") >= most);
}

/* glibc holds its locks here and so puts cancellation off; a thread that died inside would keep
 * them.
 */
static void *be_cancelled_in_malloc_stats(void *argument)
{
    EXPECT(pthread_cancel(pthread_self()) == 0);
    malloc_stats();
    malloc_info(0, stderr);
    pthread_testcancel();
    return argument;
}

static void run_a_thread_that_is_cancelled(void)
{
    pthread_t thread;
    void *result;

    EXPECT(pthread_create(&thread, NULL, be_cancelled_in_malloc_stats, NULL) == 0);
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
}

static void a_thread_cancelled_in_malloc_stats_writes_it_all_and_leaves_no_lock_behind(void)
{
    size_t to_stdout, to_stderr;

    output_of(run_a_thread_that_is_cancelled, &to_stdout, &to_stderr);
    EXPECT(number_of("max mmap bytes  ") > 0 || is_pool);
    output_of(malloc_stats, &to_stdout, &to_stderr);
    EXPECT(to_stderr > 0);
    for (int i = 0; i < 1000; i++)
        free(malloc((size_t)i * 10));
}

static void malloc_trim_says_whether_it_gave_something_back(void)
{
    static void *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (i % 16 != 0)
            free(blocks[i]);
    int first = malloc_trim(0);
    EXPECT(first == 0 || first == 1);
    for (int i = 0; i < BLOCKS; i += 16) {
        EXPECT(((char *)blocks[i])[0] == 1 && ((char *)blocks[i])[BLOCK_BYTES - 1] == 1);
        free(blocks[i]);
    }
    EXPECT(malloc_trim(0) == 1); /* 20 MB were in use and are not: some must go back */
}

static void mallopt_accepts_what_programs_pass_to_it(void)
{
    EXPECT(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    EXPECT(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
    EXPECT(mallopt(M_TOP_PAD, 1 << 16) == 1);
    EXPECT(mallopt(M_MMAP_MAX, 1000) == 1);
    EXPECT(mallopt(M_ARENA_MAX, 2) == 1);
    EXPECT(mallopt(M_PERTURB, 0) == 1);
    free(malloc(2 << 20));
}

int main(int argc, char **argv)
{
    is_pool = argc == 2 && strcmp(argv[1], "pool") == 0;
    a_freed_block_is_one_more_free_block();
    blocks_taken_again_are_free_no_more();
    mallinfo2_follows_what_is_in_use();
    mallinfo_answers_too();
    malloc_info_writes_xml_and_knows_no_options();
    malloc_stats_writes_to_stderr_alone();
    malloc_stats_ends_with_the_sums_and_the_most_that_was_mapped();
    a_thread_cancelled_in_malloc_stats_writes_it_all_and_leaves_no_lock_behind();
    malloc_trim_says_whether_it_gave_something_back();
    mallopt_accepts_what_programs_pass_to_it();
    return 0;
}
