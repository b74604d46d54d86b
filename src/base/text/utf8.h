/*
 * SPDX-License-Identifier: MIT
 *
 * Names of files and functions are bytes; what is written for other programs is UTF-8.
 */
#ifndef MPLACE_BASE_TEXT_UTF8_H
#define MPLACE_BASE_TEXT_UTF8_H

/*
 * The length of the well-formed UTF-8 sequence that text begins with, 0 if it is none (RFC 3629:
 * shortest form, no surrogates, nothing above 10FFFF). Never reads past the 0 byte.
 */
static inline unsigned utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    unsigned char least = 0x80, most = 0xbf; /* of the second byte */
    unsigned length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first > 0xf4)
        return 0;
    if (length < 2)
        return length;
    if (first == 0xe0)
        least = 0xa0;
    else if (first == 0xed)
        most = 0x9f;
    else if (first == 0xf0)
        least = 0x90;
    else if (first == 0xf4)
        most = 0x8f;
    if (text[1] < least || text[1] > most)
        return 0;
    for (unsigned i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    }
    return length;
}

#endif
