/*
 * SPDX-License-Identifier: MIT
 *
 * See settings.h.
 */
#include "bank_malloc/api/settings.h"

#include "bank_malloc/memory/frames.h"
#include "bank_malloc/pool/pool.h"
#include "base/code/process_maps.h"
#include "base/report.h"
#include "base/settings.h"
#include "base/short_file.h"
#include "base/system_call.h"

#include <errno.h>
#include <string.h>
#include <sys/sysinfo.h>

uint64_t bank_machine_memory(void)
{
    struct sysinfo info;

    return system_call(SYS_sysinfo, (long)&info, NULL, 0) == 0
               ? (uint64_t)info.totalram * info.mem_unit
               : (uint64_t)1 << 30;
}

bool bank_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *unit;

    *bytes = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(*bytes, 10, bytes) ||
            __builtin_add_overflow(*bytes, (uint64_t)(*text - '0'), bytes))
            return false;
    }
    if (*text == '\0')
        return true;
    unit = strchr(units, *text);
    return unit != NULL && text[1] == '\0' &&
           !__builtin_mul_overflow(*bytes, (uint64_t)1024 << 10 * (unit - units), bytes);
}

bool bank_parse_modes(const char *text, unsigned *modes)
{
    static const struct {
        const char *name;
        unsigned mode;
    } words[] = {{"restricted", POOL_RESTRICTED},
                 {"unrestricted", POOL_UNRESTRICTED},
                 {"split", POOL_SPLIT}};

    *modes = 0;
    if (strcmp(text, "none") == 0)
        return true;
    for (;; text++) {
        size_t length = strcspn(text, ","), i = 0;

        while (i < 3 && (strlen(words[i].name) != length || memcmp(words[i].name, text, length)))
            i++;
        if (i == 3)
            return false;
        *modes |= words[i].mode;
        text += length;
        if (*text == '\0')
            return true;
    }
}

static unsigned read_modes(void)
{
    const char *text = setting_text("BANK_MODE");
    unsigned modes;

    if (text == NULL || bank_parse_modes(text, &modes))
        return text == NULL ? POOL_ALL_MODES : modes;
    report_line(
        "mplace: BANK_MODE=%s is not allowed (none, or some of restricted, unrestricted and "
        "split with commas between); using restricted,unrestricted,split",
        text);
    return POOL_ALL_MODES;
}

static uint64_t read_pool(void)
{
    const char *text = setting_text("BANK_POOL");
    uint64_t bytes, memory = bank_machine_memory();

    if (text == NULL)
        return 0;
    if (!bank_parse_bytes(text, &bytes) || bytes < HUGE_PAGE_BYTES) {
        report_line("mplace: BANK_POOL=%s is not allowed (bytes from 2M on, with K, M, G or T for "
                    "units of 1024); taking the pool on demand",
                    text);
        return 0;
    }
    if (bytes > memory) {
        report_line("mplace: BANK_POOL=%s is not allowed (the machine has %luM of memory); taking "
                    "the pool on demand",
                    text, memory >> 20);
        return 0;
    }
    return bytes;
}

enum { MAP_FILE_MOST = 1 << 16 };

static const char without_banks[] = "memory is allocated without regard to banks";

static bool find_map(const char *text, struct dram_map *map)
{
    static char content[MAP_FILE_MOST + 1];
    char problem[256];

    if (dram_map_shipped(map, text))
        return true;
    long length = short_file_read(text, content, sizeof content);
    if (length < 0 || length > MAP_FILE_MOST) {
        report_line("mplace: BANK_MAP=%s is neither a map that mplace has nor a file of at most "
                    "%d bytes that can be read; %s",
                    text, MAP_FILE_MOST, without_banks);
        return false;
    }
    if (dram_map_parse(map, text, content, (size_t)length, problem, sizeof problem))
        return true;
    report_line("mplace: BANK_MAP: %s; %s", problem, without_banks);
    return false;
}

static bool read_map(struct bank_settings *settings)
{
    const char *text = setting_text("BANK_MAP");
    struct dram_map *map = &settings->map;

    settings->banks_lost = settings->controllers_lost = 0;
    if (text == NULL) {
        if (!process_maps_of_parent_have("libbank_malloc.so"))
            report_line("mplace: libbank_malloc.so: BANK_MAP is not set: %s", without_banks);
        return false;
    }
    if (!find_map(text, map))
        return false;
    dram_map_restrict(map, FRAME_SHIFT, &settings->banks_lost, &settings->controllers_lost);
    if (map->banks + map->controllers > (unsigned)__builtin_ctz(POOL_COLOURS_MOST)) {
        report_line("mplace: BANK_MAP=%s tells more than %d banks apart; %s", text,
                    POOL_COLOURS_MOST, without_banks);
        return false;
    }
    if (map->banks + map->controllers == 0 && !map->nodes) {
        report_line("mplace: BANK_MAP=%s tells no pages apart; %s", text, without_banks);
        return false;
    }
    return true;
}

void bank_settings_read(struct bank_settings *settings)
{
    static const char *const physical[] = {"pagemap", "simulated"};
    int saved_errno = errno;

    settings->has_map = read_map(settings);
    settings->is_simulated = setting_choice("BANK_PHYSICAL", physical, 2, 0) == 1;
    settings->follows = setting_switch("BANK_FOLLOW", 0) != 0;
    settings->modes = read_modes();
    settings->pool = read_pool();
    settings->colours = setting_text("BANK_COLOURS");
    settings->near = setting_text("BANK_NEAR");
    errno = saved_errno;
}
