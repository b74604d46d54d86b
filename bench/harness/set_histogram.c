/*
 * SPDX-License-Identifier: MIT
 *
 * The set histogram; see set_histogram.h. The index is taken from the virtual address: for an L1D
 * whose sets times line size is no more than a page (all x86-64 so far) that is the physical index.
 */
#include "harness/set_histogram.h"

#include "harness/pages.h"

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

bool l1d_geometry_is_plausible(const struct l1d_geometry *geometry)
{
    return is_power_of_two(geometry->sets) && geometry->sets <= 1u << 20 && geometry->ways >= 1 &&
           geometry->ways <= 1024 && is_power_of_two(geometry->line) && geometry->line >= 16 &&
           geometry->line <= 4096;
}

/* One number of at most 7 digits; returns the first character behind it, or NULL. */
static const char *parse_field(const char *text, uint32_t *value)
{
    const char *at = text;

    *value = 0;
    for (; *at >= '0' && *at <= '9' && at - text < 7; at++)
        *value = *value * 10 + (uint32_t)(*at - '0');
    return at == text ? NULL : at;
}

bool l1d_geometry_parse(const char *text, struct l1d_geometry *geometry)
{
    struct l1d_geometry parsed = {.line = 64};

    text = parse_field(text, &parsed.sets);
    if (text == NULL || *text++ != 'x')
        return false;
    text = parse_field(text, &parsed.ways);
    if (text == NULL)
        return false;
    if (*text == 'x') {
        text = parse_field(text + 1, &parsed.line);
        if (text == NULL)
            return false;
    }
    if (*text != '\0' || !l1d_geometry_is_plausible(&parsed))
        return false;
    *geometry = parsed;
    return true;
}

bool set_histogram_open(struct set_histogram *histogram, const struct l1d_geometry *geometry)
{
    *histogram = (struct set_histogram){.geometry = *geometry};
    histogram->count = pages_map(geometry->sets, sizeof *histogram->count);
    return histogram->count != NULL;
}

void set_histogram_add(struct set_histogram *histogram, const void *address)
{
    const struct l1d_geometry *geometry = &histogram->geometry;
    uint32_t set = (uint32_t)((uintptr_t)address / geometry->line) & (geometry->sets - 1);
    uint32_t count = ++histogram->count[set];

    histogram->sets_used += count == 1;
    if (count > histogram->max_per_set)
        histogram->max_per_set = count;
}

void set_histogram_close(struct set_histogram *histogram)
{
    pages_unmap(histogram->count, histogram->geometry.sets, sizeof *histogram->count);
    histogram->count = NULL;
}

void set_histogram_draw(const struct set_histogram *histogram, FILE *stream)
{
    enum { BAR_WIDTH = 64 };
    uint32_t most = histogram->max_per_set;
    /* One mark a node while that fits, else the fullest set has the whole width. */
    uint32_t width = most <= BAR_WIDTH ? most : BAR_WIDTH;

    fprintf(stream, "# L1D %u sets x %u ways x %u B: set, nodes that begin in it\n",
            histogram->geometry.sets, histogram->geometry.ways, histogram->geometry.line);
    for (uint32_t set = 0; set < histogram->geometry.sets; set++) {
        uint32_t count = histogram->count[set];
        uint32_t marks = most == 0 ? 0 : (uint32_t)(((uint64_t)count * width + most - 1) / most);

        fprintf(stream, "%6u %6u ", set, count);
        for (uint32_t i = 0; i < marks; i++)
            putc('#', stream);
        /* More nodes than ways: this set cannot hold them, and evicts on every traversal. */
        fputs(count > histogram->geometry.ways ? " !\n" : "\n", stream);
    }
}
