/*
 * SPDX-License-Identifier: MIT
 *
 * mplace_malloc_value and mplace_malloc_usable_class of mplace.h, under libcia_malloc.so in all its
 * modes.
 *
 * usage: cia_values          all claims
 *        cia_values read     reads names, one a line, and answers each with its figure
 */
#include "expect.h"
#include "mplace.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static int64_t (*value)(const char *name);
static size_t (*usable_class)(size_t size);

static void a_name_that_is_none_is_minus_one(void)
{
    static const char *const none[] = {"",          "bytes",          "bytes.", "bytes.allocated ",
                                       "live_byte", "BYTES.ALLOCATED"};

    EXPECT(value(NULL) == -1);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        EXPECT(value(none[i]) == -1);
}

static void figures_follow_what_the_program_has(void)
{
    enum { BLOCKS = 1000, BYTES = 6000, LONG_BYTES = 3 << 20 };
    static void *blocks[BLOCKS];
    int64_t bytes = value("bytes.allocated"), served = value("blocks.served");

    for (int i = 0; i < BLOCKS; i++)
        EXPECT((blocks[i] = malloc(BYTES)) != NULL);
    EXPECT(value("bytes.allocated") >= bytes + (int64_t)BLOCKS * BYTES);
    EXPECT(value("bytes.allocated") == value("live_bytes"));
    EXPECT(value("blocks.served") == served + BLOCKS);
    EXPECT(value("bytes.mapped") >= value("bytes.allocated"));
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    EXPECT(value("bytes.allocated") == bytes);

    void *huge = malloc(LONG_BYTES);
    EXPECT(huge != NULL && value("blocks.huge") == 1 && value("bytes.huge") >= LONG_BYTES);
    free(huge);
    EXPECT(value("blocks.huge") == 0 && value("bytes.huge") == 0);
}

static void errno_stays(void)
{
    errno = 1234;
    EXPECT(value("bytes.allocated") >= 0 && value("bytes.anon_huge_page") >= 0);
    EXPECT(value("no such") == -1 && usable_class(100) >= 100);
    EXPECT(errno == 1234);
}

/* The first claim, for nothing was allocated before it: the modes are known all the same. */
static void a_class_is_as_long_as_its_blocks(void)
{
    size_t before = usable_class(100);
    void *block = malloc(100);

    EXPECT(malloc_usable_size(block) == before);
    free(block);
    for (size_t size = 0; size < 300000; size += size < 3000 ? 1 : 97) {
        size_t said = usable_class(size);

        block = malloc(size);
        EXPECT(block != NULL && said >= size && said > 0);
        EXPECT(size <= 65984 ? malloc_usable_size(block) == said
                             : malloc_usable_size(block) >= said && said < size + 64);
        free(block);
    }
    EXPECT(usable_class((size_t)PTRDIFF_MAX + 1) == 0 && usable_class(SIZE_MAX) == 0);
}

static volatile sig_atomic_t handled;

static void ask_in_handler(int signal)
{
    (void)signal;
    EXPECT(value("bytes.allocated") >= 0 && value("subheaps.not_counted") >= 0);
    handled++;
}

/* Wherever the handler interrupts malloc and free, locked or not, both go on. */
static void a_signal_handler_may_ask(void)
{
    enum { SIGNALS = 100, KEPT = 64 };
    struct itimerval each = {.it_interval.tv_usec = 300, .it_value.tv_usec = 300};
    static void *kept[KEPT];
    uint64_t random = 1;

    EXPECT(signal(SIGALRM, ask_in_handler) != SIG_ERR);
    EXPECT(setitimer(ITIMER_REAL, &each, NULL) == 0);
    while (handled < SIGNALS) {
        uint64_t draw = next_random(&random);
        void **place = &kept[draw % KEPT];

        free(*place);
        EXPECT((*place = malloc((draw >> 8) % 100000)) != NULL);
    }
    each = (struct itimerval){.it_value.tv_usec = 0};
    EXPECT(setitimer(ITIMER_REAL, &each, NULL) == 0);
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
}

/* Without files of stdio, whose buffers are blocks; dprintf has one too. */
static void answer_names(void)
{
    static char text[4096], answer[4200];
    size_t length = 0;

    while (read(STDIN_FILENO, text + length, 1) == 1) {
        if (text[length] != '\n') {
            length += length < sizeof text - 1;
            continue;
        }
        text[length] = '\0';
        length = (size_t)snprintf(answer, sizeof answer, "%s %lld\n", text, (long long)value(text));
        EXPECT(write(STDOUT_FILENO, answer, length) == (ssize_t)length);
        length = 0;
    }
}

int main(int count, char **arguments)
{
    (void)arguments;
    *(void **)&value = dlsym(RTLD_DEFAULT, "mplace_malloc_value");
    *(void **)&usable_class = dlsym(RTLD_DEFAULT, "mplace_malloc_usable_class");
    if (value == NULL || usable_class == NULL) {
        dprintf(STDERR_FILENO, "libcia_malloc.so is not loaded, or too old\n");
        return 1;
    }
    if (count > 1) {
        answer_names();
        return 0;
    }
    a_class_is_as_long_as_its_blocks();
    a_name_that_is_none_is_minus_one();
    figures_follow_what_the_program_has();
    errno_stays();
    a_signal_handler_may_ask();
    return 0;
}
