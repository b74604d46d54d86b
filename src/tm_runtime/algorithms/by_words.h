/*
 * SPDX-License-Identifier: MIT
 *
 * The entries of an algorithm that works on aligned words of 8 bytes, from its read_part and
 * write_part, which are for bytes of one word. Included by lazy.c and norec.c, behind these two.
 */
static void read_words(struct tm_thread *self, void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;

    while (size != 0) {
        size_t piece = in_first_word(source, size);
        uint64_t value = piece == 8 ? read_part(self, source, 8) : read_part(self, source, piece);

        memcpy(target, &value, piece);
        target += piece;
        source += piece;
        size -= piece;
    }
}

static void write_words(struct tm_thread *self, void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;

    while (size != 0) {
        size_t piece = in_first_word(target, size);
        uint64_t value = 0;

        memcpy(&value, source, piece);
        write_part(self, target, value, piece);
        target += piece;
        source += piece;
        size -= piece;
    }
}

TM_INLINE uint64_t read_value(struct tm_thread *self, const void *from, size_t size)
{
    uint64_t value = 0;

    if (__builtin_expect(is_in_one_word(from, size), 1))
        return read_part(self, from, size);
    read_words(self, &value, from, size);
    return value;
}

TM_INLINE uint64_t read_value_for_write(struct tm_thread *self, const void *from, size_t size)
{
    return read_value(self, from, size);
}

TM_INLINE void write_value(struct tm_thread *self, void *to, uint64_t value, size_t size)
{
    if (__builtin_expect(is_in_one_word(to, size), 1))
        write_part(self, to, value, size);
    else
        write_words(self, to, &value, size);
}

TM_FOR_SIZES(TM_ENTRY)
