/*
 * SPDX-License-Identifier: MIT
 *
 * Reads a file of the kernel's or of a setting, for code that may hold a lock of the program or is
 * asked by the first malloc: by system calls of its own. libc's open, read and close would be
 * points where a thread can be cancelled, which malloc must not be; and another library may stand
 * before them and lock or allocate there. errno stays as it is.
 */
#ifndef MPLACE_BASE_SHORT_FILE_H
#define MPLACE_BASE_SHORT_FILE_H

#include <stddef.h>

/*
 * Reads a file's first bytes, at most size of them, and adds no terminator. Returns how many; less
 * than size: that is all of it. A negated errno value when it cannot be opened or read. Does not
 * wait for the other end of a pipe: none has written, and the file is empty.
 */
long short_file_read(const char *path, char *text, size_t size);

#endif
