/*
 * SPDX-License-Identifier: MIT
 *
 * Set-associative arrays; see array.h.
 */
#include "chip/caches/array.h"

#include <stdlib.h>
#include <string.h>

bool array_init(struct array *array, uint32_t sets, uint32_t ways, uint32_t shift)
{
    size_t places = (size_t)sets * ways;

    *array = (struct array){.sets = sets, .ways = ways, .shift = shift};
    array->tags = malloc(places * sizeof *array->tags);
    array->lines = calloc(places, sizeof *array->lines);
    if (array->tags == NULL || array->lines == NULL)
        return false;
    memset(array->tags, 0xff, places * sizeof *array->tags);
    return true;
}

void array_destroy(struct array *array)
{
    free(array->tags);
    free(array->lines);
}

struct line *array_victim(const struct array *array, uint64_t block)
{
    uint32_t first = array_set(array, block) * array->ways;
    struct line *oldest = &array->lines[first];

    for (uint32_t way = 0; way < array->ways; way++) {
        struct line *line = &array->lines[first + way];

        if (array->tags[first + way] == ARRAY_NONE)
            return line;
        if (line->stamp < oldest->stamp)
            oldest = line;
    }
    return oldest;
}

void array_put(struct array *array, struct line *line, uint64_t block, const struct line *state)
{
    *array_tag(array, line) = block;
    *line = *state;
    array_touch(array, line);
}
