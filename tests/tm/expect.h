/*
 * SPDX-License-Identifier: MIT
 *
 * For programs of claims: PROGRAM CLAIM runs one; exit status 1 if it does not hold.
 */
#ifndef TM_EXPECT_H
#define TM_EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(holds)                                                                              \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #holds);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct claim {
    const char *name;
    void (*check)(void);
};
#define CLAIM(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }

__attribute__((unused)) static int run_claim(int argc, char **argv, const struct claim *claims,
                                             size_t count)
{
    for (size_t i = 0; argc == 2 && i < count; i++) {
        if (strcmp(argv[1], claims[i].name) == 0) {
            claims[i].check();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CLAIM\n", argv[0]);
    return 2;
}

#endif
