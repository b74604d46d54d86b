/*
 * SPDX-License-Identifier: MIT
 *
 * Cache geometry; see cache_geometry.h. Intel SDM volume 2A, CPUID leaf 4; AMD APM volume 3,
 * function 8000_001Dh: both return the same fields in the same registers.
 */
#include "base/cache_geometry.h"

#include "base/settings.h"

#include <cpuid.h>
#include <stddef.h>

enum {
    LEAF_INTEL = 0x4,
    LEAF_AMD = 0x8000001D,
    TYPE_NONE = 0,
    TYPE_DATA = 1,
    TYPE_UNIFIED = 3,
    SUBLEAVES = 16, /* more than any processor has caches: a bound against a broken hypervisor */
};

static const struct cache_level default_l1d = {.sets = 64, .ways = 8, .line = 64};
static const struct cache_level default_l2 = {.sets = 1024, .ways = 8, .line = 64};
static const char allowed[] = "SETSxWAYS or SETSxWAYSxLINE; sets and line are powers of two";

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static bool is_plausible(const struct cache_level *level)
{
    return is_power_of_two(level->sets) && level->sets <= 1u << 20 && level->ways >= 1 &&
           level->ways <= 1024 && is_power_of_two(level->line) && level->line >= 16 &&
           level->line <= 4096;
}

/* Reads one number of at most 7 digits; returns the first character behind it, or NULL. */
static const char *parse_field(const char *text, uint32_t *value)
{
    const char *at = text;

    *value = 0;
    for (; *at >= '0' && *at <= '9' && at - text < 7; at++)
        *value = *value * 10 + (uint32_t)(*at - '0');
    return at == text ? NULL : at;
}

bool cache_geometry_parse(const char *text, struct cache_level *level)
{
    struct cache_level parsed = {.line = 64};

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
    if (*text != '\0' || !is_plausible(&parsed))
        return false;
    *level = parsed;
    return true;
}

/* Caches by level, those below it; one without sets is not known. */
enum { LEVELS = 3 };

static bool are_known(const struct cache_level caches[LEVELS])
{
    return caches[1].sets != 0 && caches[2].sets != 0;
}

/* Fills in the data or unified caches of a leaf, once through: a hypervisor traps each CPUID. */
static void read_leaf(unsigned leaf, struct cache_level caches[LEVELS])
{
    if (__get_cpuid_max(leaf & 0x80000000, NULL) < leaf)
        return;
    for (unsigned subleaf = 0; subleaf < SUBLEAVES && !are_known(caches); subleaf++) {
        unsigned eax, ebx, ecx, edx;

        __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
        unsigned type = eax & 0x1f, level = eax >> 5 & 7;
        if (type == TYPE_NONE)
            return;
        struct cache_level cache = {
            .sets = ecx + 1,
            .ways = ((ebx >> 22) & 0x3ff) + 1,
            .line = (ebx & 0xfff) + 1,
        };
        /* Others are fully associative, or not a power of two: no index to be aware of. */
        if ((type == TYPE_DATA || type == TYPE_UNIFIED) && level < LEVELS &&
            caches[level].sets == 0 && is_plausible(&cache))
            caches[level] = cache;
    }
}

static enum cache_source choose(const char *setting, const struct cache_level *of_processor,
                                const struct cache_level *fallback, struct cache_level *level)
{
    const char *text = setting_text(setting);

    if (text != NULL && cache_geometry_parse(text, level))
        return CACHE_FROM_SETTING;
    if (text != NULL)
        setting_complain(setting, text, allowed);
    *level = of_processor->sets != 0 ? *of_processor : *fallback;
    return of_processor->sets != 0 ? CACHE_FROM_CPUID : CACHE_FROM_DEFAULT;
}

void cache_geometry_read(struct cache_geometry *geometry)
{
    struct cache_level caches[LEVELS] = {0};

    /* A processor has one of the two leaves; the other reads as zeroes or is out of range. */
    read_leaf(LEAF_INTEL, caches);
    if (!are_known(caches))
        read_leaf(LEAF_AMD, caches);
    geometry->l1d_source = choose("MPLACE_L1D", &caches[1], &default_l1d, &geometry->l1d);
    geometry->l2_source = choose("MPLACE_L2", &caches[2], &default_l2, &geometry->l2);
}
