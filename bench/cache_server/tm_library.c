/*
 * SPDX-License-Identifier: MIT
 *
 * See tm_library.h. Figure 7 of the paper: GCC does not instrument stores to the stack, and a pure
 * function is not looked into.
 */
#include "tm_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((transaction_safe)) int tm_memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = left, *b = right;

    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

__attribute__((transaction_safe)) void *tm_realloc(void *block, size_t old_size, size_t size)
{
    void *bigger = malloc(size);

    if (bigger == NULL)
        return NULL;
    if (block != NULL) {
        memcpy(bigger, block, old_size < size ? old_size : size);
        free(block);
    }
    return bigger;
}

/* The number at the start of the text; *length is how many characters belong to it. */
__attribute__((transaction_pure, noinline)) static unsigned long long
pure_strtoull(const char *text, size_t *length, int base)
{
    char *end;
    unsigned long long number = strtoull(text, &end, base);

    *length = (size_t)(end - text);
    return number;
}

__attribute__((transaction_safe)) unsigned long long tm_strtoull(const char *text, char **end,
                                                                 int base)
{
    char copy[TM_DIGITS];
    size_t length = 0;
    unsigned long long number;

    while (length < sizeof copy - 1 && text[length] != '\0') {
        copy[length] = text[length];
        length++;
    }
    copy[length] = '\0';
    number = pure_strtoull(copy, &length, base);
    if (end != NULL)
        *end = (char *)text + length;
    return number;
}

__attribute__((transaction_pure, noinline)) static int pure_decimal(char *to, size_t size,
                                                                    unsigned long long number)
{
    return snprintf(to, size, "%llu", number);
}

__attribute__((transaction_safe)) int tm_decimal(char *to, size_t size, unsigned long long number)
{
    char copy[TM_DIGITS];
    int digits = pure_decimal(copy, sizeof copy, number);

    for (size_t i = 0; i < size; i++) {
        to[i] = copy[i];
        if (copy[i] == '\0')
            break;
    }
    return digits;
}
