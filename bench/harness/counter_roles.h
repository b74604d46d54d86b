/*
 * SPDX-License-Identifier: MIT
 *
 * What a count is wanted for, whatever the processor calls the event: "--counters l1d-misses". The
 * names are those that scripts/report/claims asks for.
 */
#ifndef BENCH_HARNESS_COUNTER_ROLES_H
#define BENCH_HARNESS_COUNTER_ROLES_H

#include <stddef.h>

/* The list of all roles, in place of one. */
#define COUNTER_ROLES_ALL "paper"

/* The name of the i-th role; NULL past the last one. */
const char *counter_role_name(size_t i);

/*
 * The i-th event that can fill a role, in libpfm4's words; NULL past the last one, or when there is
 * no such role. The first that libpfm4 knows on this processor is the one to count.
 */
const char *counter_role_event(const char *role, size_t i);

#endif
