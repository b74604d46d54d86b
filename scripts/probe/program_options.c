/*
 * SPDX-License-Identifier: MIT
 *
 * getopt_long with the two options of every program; see program_options.h.
 */
#include "program_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int program_options(int count, char **arguments, const struct option *flags, const char *usage)
{
    struct option known[PROGRAM_FLAGS_MOST + 3] = {
        {.name = "help", .val = 'h'},
        {.name = "version", .val = 'v'},
    };
    const char *slash = strrchr(arguments[0], '/');

    for (int i = 0; i < PROGRAM_FLAGS_MOST && flags[i].name != NULL; i++)
        known[2 + i] = flags[i];
    for (;;) {
        switch (getopt_long(count, arguments, "+", known, NULL)) {
        case 0: /* a flag */
            break;
        case 'h':
            (void)printf("usage: %s\n", usage);
            exit(0);
        case 'v':
            (void)printf("%s (mplace) %s\n", slash != NULL ? slash + 1 : arguments[0],
                         MPLACE_VERSION);
            exit(0);
        case -1:
            return optind;
        default:
            exit(2);
        }
    }
}
