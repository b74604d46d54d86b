/*
 * SPDX-License-Identifier: MIT
 *
 * usage: tm_without_membarrier refuse|kill PROGRAM [ARGUMENT...]
 *
 * Runs a program for which membarrier(2) is not there, or whose end it is.
 */
#include "without_membarrier.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[1], "refuse") != 0 && strcmp(argv[1], "kill") != 0)) {
        fprintf(stderr, "usage: tm_without_membarrier refuse|kill PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (!take_membarrier_away(strcmp(argv[1], "kill") == 0))
        return 77;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
