/*
 * SPDX-License-Identifier: MIT
 *
 * The end without a result: one line on standard error, exit status 2.
 */
#ifndef MPLACE_STATS_READER_REFUSE_H
#define MPLACE_STATS_READER_REFUSE_H

_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
