/*
 * SPDX-License-Identifier: MIT
 *
 * See write_set.h. The table has a power of two of 32-bit slots: 0, or an entry's number plus one.
 * It is zero between transactions.
 */
#include "tm_runtime/logs/write_set.h"

#include "tm_runtime/logs/undo_log.h"
#include "tm_runtime/memory.h"

#include <string.h>

enum { FIRST_SLOTS = 1024 };

static size_t slot_of(const uint64_t *word, size_t slots)
{
    return (size_t)((uint64_t)(uintptr_t)word * 0x9e3779b97f4a7c15u >> 30) & (slots - 1);
}

static size_t slots_of(const struct tm_thread *self)
{
    return self->redo_table.used / sizeof(uint32_t);
}

/* The slot with the word, or the free one where it belongs. */
static uint32_t *find_slot(struct tm_thread *self, const uint64_t *word)
{
    uint32_t *table = LOG_AT(&self->redo_table, uint32_t, 0);
    size_t slots = slots_of(self);
    size_t at = slot_of(word, slots);

    while (table[at] != 0 && LOG_AT(&self->redo, struct redo_entry, table[at] - 1)->word != word)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

struct redo_entry *write_set_find(struct tm_thread *self, const uint64_t *word)
{
    uint32_t number;

    if (self->redo.used == 0)
        return NULL;
    number = *find_slot(self, word);
    return number == 0 ? NULL : LOG_AT(&self->redo, struct redo_entry, number - 1);
}

static bool grow_table(struct tm_thread *self)
{
    size_t slots = slots_of(self) == 0 ? FIRST_SLOTS : slots_of(self) * 2;
    size_t count = LOG_COUNT(&self->redo, struct redo_entry);

    if (!log_reserve(&self->redo_table, slots * sizeof(uint32_t) - self->redo_table.used))
        return false;
    self->redo_table.used = slots * sizeof(uint32_t);
    memset(self->redo_table.bytes, 0, self->redo_table.used);
    for (size_t i = 0; i < count; i++)
        *find_slot(self, LOG_AT(&self->redo, struct redo_entry, i)->word) = (uint32_t)i + 1;
    return true;
}

bool write_set_put(struct tm_thread *self, void *address, size_t size, uint64_t value)
{
    uint64_t *word = word_of(address);
    unsigned shift = shift_in_word(address);
    uint64_t mask = mask_of(size) << shift;
    size_t count = LOG_COUNT(&self->redo, struct redo_entry);
    struct redo_entry *entry;
    uint32_t *slot;

    if (count * 2 >= slots_of(self) && !grow_table(self))
        return false;
    if (!log_reserve(&self->redo, sizeof *entry))
        return false;
    slot = find_slot(self, word);
    if (*slot == 0) {
        entry = log_append(&self->redo, sizeof *entry);
        *entry = (struct redo_entry){.word = word};
        *slot = (uint32_t)count + 1;
        self->redo_filter |= write_set_filter_of(word);
    }
    entry = LOG_AT(&self->redo, struct redo_entry, *slot - 1);
    entry->value = (entry->value & ~mask) | (value << shift & mask);
    entry->mask |= mask;
    return true;
}

void write_set_write_back(struct tm_thread *self)
{
    for (size_t i = 0; i < LOG_COUNT(&self->redo, struct redo_entry); i++) {
        const struct redo_entry *entry = LOG_AT(&self->redo, struct redo_entry, i);

        if (entry->mask == UINT64_MAX) {
            memory_store(entry->word, entry->value, 8);
            continue;
        }
        for (unsigned byte = 0; byte < 8; byte++) {
            if (entry->mask >> byte * 8 & 1)
                memory_store((char *)entry->word + byte, entry->value >> byte * 8 & 0xff, 1);
        }
    }
}

void write_set_clear(struct tm_thread *self)
{
    size_t count = LOG_COUNT(&self->redo, struct redo_entry);

    if (count == 0)
        return;
    if (count * 8 > slots_of(self)) {
        memset(self->redo_table.bytes, 0, self->redo_table.used);
    } else {
        /* Newest first: the older ones of a chain are found by way of slots still taken. */
        for (size_t i = count; i-- > 0;)
            *find_slot(self, LOG_AT(&self->redo, struct redo_entry, i)->word) = 0;
    }
    self->redo.used = 0;
    self->redo_filter = 0;
}

bool write_set_write_in_place(struct tm_thread *self)
{
    for (size_t i = 0; i < LOG_COUNT(&self->redo, struct redo_entry); i++) {
        const struct redo_entry *entry = LOG_AT(&self->redo, struct redo_entry, i);

        for (unsigned byte = 0; byte < 8; byte++) {
            if (entry->mask >> byte * 8 & 1 &&
                !undo_log_save(&self->undo, (char *)entry->word + byte, 1))
                return false;
        }
    }
    write_set_write_back(self);
    write_set_clear(self);
    return true;
}
