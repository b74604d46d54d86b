/*
 * SPDX-License-Identifier: MIT
 *
 * What the simulator says about a machine file.
 */
#ifndef TESTS_UNIT_CHIP_COMPLAINT_H
#define TESTS_UNIT_CHIP_COMPLAINT_H

#include "chip/machine/machine.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The complaint about a file with this text, one line, or "". parts: where memory.part looks. */
static inline const char *complaint_about(const char *text, const char *parts)
{
    static char problem[2048];
    char path[] = "/tmp/chip_machine.XXXXXX";
    int file = mkstemp(path);
    struct machine machine;

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    machine_defaults(&machine);
    machine_parts(&machine, parts);
    problem[0] = '\0';
    if (machine_read(&machine, path, problem, sizeof problem))
        machine_check(&machine, problem, sizeof problem);
    unlink(path);
    ck_assert_ptr_null(strchr(problem, '\n'));
    return problem;
}

#endif
