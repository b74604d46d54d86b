/*
 * SPDX-License-Identifier: MIT
 *
 * See gzip.h. Numbers in it are little-endian, as this machine's are.
 */
#include "cia_malloc/profile/gzip.h"

#include "base/report.h"

#include <errno.h>

static void send(struct gzip *stream, const void *from, size_t count)
{
    const char *bytes = from;

    while (!stream->failed && count > 0) {
        ssize_t n = write_quietly(stream->fd, bytes, count);

        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        } else if (errno != EINTR) {
            stream->failed = true;
        }
    }
}

static void send_block(struct gzip *stream, bool last)
{
    struct __attribute__((packed)) {
        uint8_t last;
        uint16_t length, complement;
    } head = {last, (uint16_t)stream->waiting, (uint16_t)~stream->waiting};

    send(stream, &head, sizeof head);
    send(stream, stream->block, stream->waiting);
    stream->waiting = 0;
}

void gzip_open(struct gzip *stream, int fd)
{
    /* Magic number, deflate, no flags, no time, no extra flags, unknown system. */
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

    stream->fd = fd;
    stream->failed = false;
    stream->crc = UINT32_MAX;
    stream->length = 0;
    stream->waiting = 0;
    send(stream, head, sizeof head);
}

/* CRC-32 of IEEE 802.3, but for the complement at its end. */
static uint32_t crc_after(uint32_t crc, unsigned char byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
    return crc;
}

void gzip_write(struct gzip *stream, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;

    stream->length += (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        stream->crc = crc_after(stream->crc, from[i]);
        stream->block[stream->waiting++] = from[i];
        if (stream->waiting == GZIP_BLOCK)
            send_block(stream, false);
    }
}

bool gzip_close(struct gzip *stream)
{
    uint32_t tail[2] = {~stream->crc, stream->length};

    send_block(stream, true);
    send(stream, tail, sizeof tail);
    return !stream->failed;
}
