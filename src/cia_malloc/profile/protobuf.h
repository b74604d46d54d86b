/*
 * SPDX-License-Identifier: MIT
 *
 * Fields of a protocol buffer message, appended to a buffer of fixed size: what does not fit is
 * left out, and the message says so.
 */
#ifndef MPLACE_CIA_PROFILE_PROTOBUF_H
#define MPLACE_CIA_PROFILE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PROTOBUF_VARINT = 0, PROTOBUF_BYTES = 2, PROTOBUF_ROOM = 4096 + 64 };

struct protobuf {
    size_t length;
    bool is_cut;
    unsigned char bytes[PROTOBUF_ROOM];
};

static inline void protobuf_begin(struct protobuf *message)
{
    message->length = 0;
    message->is_cut = false;
}

static inline void protobuf_varint(struct protobuf *message, uint64_t value)
{
    enum { LONGEST = 10 };

    if (message->length + LONGEST > PROTOBUF_ROOM) {
        message->is_cut = true;
        return;
    }
    for (; value >= 0x80; value >>= 7)
        message->bytes[message->length++] = (unsigned char)(value | 0x80);
    message->bytes[message->length++] = (unsigned char)value;
}

static inline void protobuf_number(struct protobuf *message, uint32_t field, uint64_t value)
{
    protobuf_varint(message, field << 3 | PROTOBUF_VARINT);
    protobuf_varint(message, value);
}

/* Of a field of so many bytes, what comes before them. */
static inline void protobuf_bytes_head(struct protobuf *message, uint32_t field, size_t count)
{
    protobuf_varint(message, field << 3 | PROTOBUF_BYTES);
    protobuf_varint(message, count);
}

static inline void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes,
                                  size_t count)
{
    protobuf_bytes_head(message, field, count);
    if (count > PROTOBUF_ROOM - message->length) {
        message->is_cut = true;
        return;
    }
    memcpy(message->bytes + message->length, bytes, count);
    message->length += count;
}

static inline void protobuf_message(struct protobuf *message, uint32_t field,
                                    const struct protobuf *inner)
{
    protobuf_bytes(message, field, inner->bytes, inner->length);
}

#endif
