/*
 * SPDX-License-Identifier: MIT
 *
 * For tests that expect the process to be ended: something wrong is done in a child, and the parent
 * looks at how it ended, at what it said on stderr, and at which address it named before.
 */
#ifndef MPLACE_TESTS_MISUSE_CHILD_H
#define MPLACE_TESTS_MISUSE_CHILD_H

#include <stdbool.h>

struct ending {
    int status; /* as of waitpid; 0: it did not mind */
    char said[4096];
    void *named;
};

/* Runs a function in a child. Ends this process if there can be none. */
void run_in_a_child(void (*run)(const void *argument), const void *argument, struct ending *ending);

/* In the child: the address that the parent is to find in what is said. Returns it. */
void *will_be_named(void *address);

/* Whether the child said one line, of the library, that names the address, and aborted. */
bool was_noticed(const struct ending *ending);

/* Whether it was ended by the kernel, for where it wrote. */
bool was_stopped(const struct ending *ending);

/* How it ended, for a person. */
void tell(const struct ending *ending, const char *what);

#endif
