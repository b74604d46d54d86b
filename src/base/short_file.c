/*
 * SPDX-License-Identifier: MIT
 *
 * See short_file.h.
 */
#include "base/short_file.h"

#include "base/system_call.h"

#include <fcntl.h>

long short_file_read(const char *path, char *text, size_t size)
{
    long file = system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    long got = file < 0 ? file : 1;
    size_t length = 0;

    while (got > 0 && length < size) {
        got = system_call(SYS_read, file, text + length, (long)(size - length));
        length += got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        (void)system_call(SYS_close, file, NULL, 0);
    return got < 0 ? got : (long)length;
}
