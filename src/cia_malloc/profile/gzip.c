/*
 * SPDX-License-Identifier: MIT
 *
 * See gzip.h.
 */
#include "cia_malloc/profile/gzip.h"

#include "base/system_call.h"

#include <errno.h>
#include <string.h>

/* CRC-32 of IEEE 802.3, four bits at a time. */
static uint32_t crc_of(uint32_t crc, const unsigned char *bytes, size_t count)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };

    crc = ~crc;
    for (size_t i = 0; i < count; i++) {
        crc = crc >> 4 ^ table[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ table[(crc ^ (uint32_t)bytes[i] >> 4) & 15];
    }
    return ~crc;
}

static void send(struct gzip *stream, const unsigned char *bytes, size_t count)
{
    while (!stream->failed && count > 0) {
        long n = system_call(SYS_write, stream->fd, bytes, (long)count);

        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        } else if (n != -EINTR) {
            stream->failed = true;
        }
    }
}

static void put_16(unsigned char *to, uint32_t value)
{
    to[0] = (unsigned char)value;
    to[1] = (unsigned char)(value >> 8);
}

static void send_block(struct gzip *stream, bool last)
{
    unsigned char head[5] = {last};

    put_16(head + 1, (uint32_t)stream->waiting);
    put_16(head + 3, ~(uint32_t)stream->waiting);
    send(stream, head, sizeof head);
    send(stream, stream->block, stream->waiting);
    stream->waiting = 0;
}

void gzip_open(struct gzip *stream, int fd)
{
    /* Magic number, deflate, no flags, no time, no extra flags, unknown system. */
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

    stream->fd = fd;
    stream->failed = false;
    stream->crc = stream->length = 0;
    stream->waiting = 0;
    send(stream, head, sizeof head);
}

void gzip_write(struct gzip *stream, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;

    stream->crc = crc_of(stream->crc, from, count);
    stream->length += (uint32_t)count;
    while (count > 0) {
        size_t room = GZIP_BLOCK - stream->waiting;
        size_t part = count < room ? count : room;

        memcpy(stream->block + stream->waiting, from, part);
        stream->waiting += part;
        from += part;
        count -= part;
        if (stream->waiting == GZIP_BLOCK)
            send_block(stream, false);
    }
}

bool gzip_close(struct gzip *stream)
{
    unsigned char tail[8];

    send_block(stream, true);
    put_16(tail, stream->crc);
    put_16(tail + 2, stream->crc >> 16);
    put_16(tail + 4, stream->length);
    put_16(tail + 6, stream->length >> 16);
    send(stream, tail, sizeof tail);
    return !stream->failed;
}
