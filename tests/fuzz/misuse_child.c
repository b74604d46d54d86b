/*
 * SPDX-License-Identifier: MIT
 *
 * See misuse_child.h.
 */
#include "misuse_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 60 };

/* Shared with the child. */
static void **named(void)
{
    static void **place;

    if (place == NULL) {
        place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED)
            exit(2);
    }
    return place;
}

void *will_be_named(void *address)
{
    return *named() = address;
}

void run_in_a_child(void (*run)(const void *argument), const void *argument, struct ending *ending)
{
    int ends[2];
    ssize_t got;
    size_t length = 0;

    *named() = NULL;
    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        dup2(ends[1], STDERR_FILENO);
        run(argument);
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], ending->said + length, sizeof ending->said - 1 - length)) > 0 ||
           (got < 0 && errno == EINTR))
        length += got > 0 ? (size_t)got : 0;
    ending->said[length] = '\0';
    close(ends[0]);
    if (child < 0 || waitpid(child, &ending->status, 0) != child)
        exit(2);
    ending->named = *named();
}

static bool is_ours(const char *said)
{
    static const char *const names[] = {"libcia_malloc: ", "libbank_malloc: "};

    return strncmp(said, names[0], strlen(names[0])) == 0 ||
           strncmp(said, names[1], strlen(names[1])) == 0;
}

bool was_noticed(const struct ending *ending)
{
    char name[32];
    const char *end = strchr(ending->said, '\n');

    snprintf(name, sizeof name, "%p", ending->named);
    return WIFSIGNALED(ending->status) && WTERMSIG(ending->status) == SIGABRT &&
           is_ours(ending->said) && end != NULL && end[1] == '\0' &&
           strstr(ending->said, name) != NULL;
}

bool was_stopped(const struct ending *ending)
{
    return WIFSIGNALED(ending->status) && WTERMSIG(ending->status) == SIGSEGV &&
           ending->named != NULL && ending->said[0] == '\0';
}

void tell(const struct ending *ending, const char *what)
{
    dprintf(STDERR_FILENO, "%s: status %#x, %p, said: %s\n", what, (unsigned)ending->status,
            ending->named, ending->said[0] != '\0' ? ending->said : "nothing");
}
