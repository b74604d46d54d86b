/*
 * SPDX-License-Identifier: MIT
 *
 * A gzip stream (RFC 1952) whose deflate blocks are stored as they are (RFC 1951, 3.2.4): what
 * readers of compressed profiles want, without a compressor. Written to a file descriptor by
 * write_quietly; nothing here allocates or locks. errno changes.
 */
#ifndef MPLACE_CIA_PROFILE_GZIP_H
#define MPLACE_CIA_PROFILE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GZIP_BLOCK = 32 << 10 };

struct gzip {
    int fd;
    bool failed; /* nothing more is written */
    uint32_t crc, length;
    size_t waiting; /* bytes in block */
    unsigned char block[GZIP_BLOCK];
};

void gzip_open(struct gzip *stream, int fd);
void gzip_write(struct gzip *stream, const void *bytes, size_t count);

/* Ends the stream; false when any of it could not be written. Leaves the descriptor open. */
bool gzip_close(struct gzip *stream);

#endif
