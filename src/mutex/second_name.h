/*
 * SPDX-License-Identifier: MIT
 *
 * A further exported name of a function of ours. GCC wants the attributes of libc's declaration of
 * it to be those of the first name; clang neither knows such an attribute nor misses it.
 */
#ifndef MUTEX_SECOND_NAME_H
#define MUTEX_SECOND_NAME_H

#define SECOND_NAME_TEXT(name)    #name
#define SECOND_NAME_TEXT_OF(name) SECOND_NAME_TEXT(name)

#if __has_attribute(copy)
#define SECOND_NAME_OF(first)                                                                      \
    __attribute__((visibility("default"), alias(SECOND_NAME_TEXT_OF(first)), copy(first)))
#else
#define SECOND_NAME_OF(first)                                                                      \
    __attribute__((visibility("default"), alias(SECOND_NAME_TEXT_OF(first))))
#endif

#define ALSO_AS(second, first) extern __typeof__(first) second SECOND_NAME_OF(first)

#endif
