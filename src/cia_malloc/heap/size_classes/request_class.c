/*
 * SPDX-License-Identifier: MIT
 *
 * See request_class.h.
 */
#include "cia_malloc/heap/size_classes/request_class.h"

#include "base/report.h"
#include "base/settings.h"
#include "cia_malloc/pages/allocator_mode.h"

_Atomic uint16_t magazine_offset_by_granules[MAGAZINE_LARGEST_GRANULES + 1];
_Atomic uint64_t size_class_exclusive_most = UINT64_MAX;

static atomic_bool is_packed[EXCLUSIVE_CLASSES]; /* relaxed: orders nothing */

bool size_class_is_packed(unsigned size_class)
{
    return size_class_is_compact(size_class) ||
           atomic_load_explicit(&is_packed[size_class], memory_order_relaxed);
}

static void take(uint32_t granules, bool packed)
{
    size_t bytes = (size_t)granules << GRANULE_SHIFT;
    unsigned size_class = packed ? size_class_packed(bytes) : size_class_of(bytes);

    atomic_store_explicit(&magazine_offset_by_granules[granules],
                          (uint16_t)magazine_offset(size_class, 0), memory_order_relaxed);
}

void size_class_pack(unsigned size_class)
{
    for (uint32_t granules = 0; granules <= COMPACT_LARGEST_GRANULES; granules++) {
        if (size_class_of((size_t)granules << GRANULE_SHIFT) == size_class)
            take(granules, true);
    }
    /* Last: the child of a fork in between does it again. */
    atomic_store_explicit(&is_packed[size_class], true, memory_order_relaxed);
}

void size_class_read_setting(void)
{
    enum { EXCLUSIVE, COMPACT, AUTO };
    /* What a core's second-level cache holds several times: blocks that are hot all at once lie
       exclusively, and a class that grows further is packed. */
    enum { EXCLUSIVE_MOST = 256 << 10 };
    static const char *const choices[] = {"exclusive", "compact", "auto"};
    size_t lines = setting_choice("CIA_LINES", choices, 3, AUTO);
    const char *tiny = setting_text("CIA_TINY");

    if (tiny != NULL)
        report_line("mplace: CIA_TINY=%s is not a setting any more; CIA_LINES=compact packs blocks",
                    tiny);
    if (harden_is_on())
        lines = EXCLUSIVE; /* every block has lines of its own */
    if (lines == AUTO)
        atomic_store_explicit(&size_class_exclusive_most, EXCLUSIVE_MOST, memory_order_relaxed);
    /* A thread that comes late finds classes that others have packed by now. */
    for (uint32_t granules = 0; granules <= MAGAZINE_LARGEST_GRANULES; granules++)
        take(granules, lines == COMPACT ||
                           size_class_is_packed(size_class_of((size_t)granules << GRANULE_SHIFT)));
}
