/*
 * SPDX-License-Identifier: MIT
 *
 * Fields of a protocol buffer message, appended to a buffer of fixed size: that they fit is the
 * caller's to know.
 */
#ifndef MPLACE_CIA_PROFILE_PROTOBUF_H
#define MPLACE_CIA_PROFILE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    PROTOBUF_VARINT = 0,
    PROTOBUF_BYTES = 2,
    PROTOBUF_LONGEST = 10, /* bytes of a number */
    PROTOBUF_ROOM = 4096,
};

struct protobuf {
    size_t length;
    unsigned char bytes[PROTOBUF_ROOM];
};

static inline void protobuf_begin(struct protobuf *message)
{
    message->length = 0;
}

static inline void protobuf_varint(struct protobuf *message, uint64_t value)
{
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

static inline void protobuf_message(struct protobuf *message, uint32_t field,
                                    const struct protobuf *inner)
{
    protobuf_bytes_head(message, field, inner->length);
    memcpy(message->bytes + message->length, inner->bytes, inner->length);
    message->length += inner->length;
}

#endif
