/*
 * SPDX-License-Identifier: MIT
 *
 * The table of the keys of a machine file: name, default, what is allowed, meaning.
 */
#ifndef CHIP_KEYS_H
#define CHIP_KEYS_H

#include "chip/machine/values.h"

#include <stddef.h>
#include <stdio.h>

enum { KEY_WORDS_MOST = 7 };

enum key_kind {
    KEY_NUMBER,
    KEY_POWER, /* a power of two */
    KEY_WORD,  /* one of `words`, which stands for its place in them */
    KEY_BITS,  /* struct address_bits */
    KEY_PART,  /* the name of a file with keys */
};

struct key {
    const char *name, *meaning;
    enum key_kind kind;
    size_t offset; /* in struct machine; of the first three kinds, of a uint32_t */
    uint32_t value, least, most;
    const char *words[KEY_WORDS_MOST];
};

/* Sets all keys of the first three kinds; those of the others have all zeroes as default. */
void keys_defaults(struct machine *machine);

/* NULL: there is none of this name. */
const struct key *keys_find(const char *name);

/* Whether the key's value is now that of memory.part. */
void key_note_part(const struct key *key, struct machine *machine, bool of_part);

/* The keys whose values are those of memory.part have their defaults again. */
void keys_forget_part(struct machine *machine);

/* What is allowed, as text. */
void key_allowed(const struct key *key, char *text, size_t length);

/* Sets the key, which is not of KEY_PART. False: the value is not allowed. */
bool key_parse(const struct key *key, struct machine *machine, const char *value);

/* All keys with value, meaning and what is allowed, as a machine file. */
void keys_print(const struct machine *machine, FILE *out);

#endif
