/*
 * SPDX-License-Identifier: MIT
 *
 * Names of files and functions are bytes; JSON is UTF-8. For the simulators and the Valgrind tools,
 * so it uses no library.
 */
#ifndef TEXT_UTF_8_H
#define TEXT_UTF_8_H

/* The bytes of the character that the text, which a zero ends, begins with; 0: it begins with none
 * (RFC 3629: overlong forms, surrogates and what is above U+10FFFF are none). */
static inline unsigned utf_8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned length = at[0] < 0x80   ? 1
                      : at[0] < 0xc2 ? 0
                      : at[0] < 0xe0 ? 2
                      : at[0] < 0xf0 ? 3
                      : at[0] < 0xf5 ? 4
                                     : 0;

    for (unsigned i = 1; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

#endif
