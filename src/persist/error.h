/*
 * SPDX-License-Identifier: MIT
 *
 * What persist_error says.
 */
#ifndef MPLACE_PERSIST_ERROR_H
#define MPLACE_PERSIST_ERROR_H

/* Notes a line for the calling thread. Returns the errno value. */
__attribute__((format(printf, 2, 3))) int error_say(int error, const char *format, ...);

#endif
