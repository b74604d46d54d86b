/*
 * SPDX-License-Identifier: MIT
 *
 * See code_location.h.
 */
#include "base/code/code_location.h"

#include "base/code/elf_functions.h"
#include "base/code/process_maps.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- whose ---- */

static char maps_file[32] = "/proc/self/maps";
static char root_folder[32] = ""; /* what paths in maps_file begin at */

void code_location_use_process(const char *folder)
{
    if (strlen(folder) + sizeof "/maps" > sizeof maps_file)
        return;
    strcat(strcpy(maps_file, folder), "/maps");
    strcat(strcpy(root_folder, folder), "/root");
}

static enum code_location_kind find_mapping(uint64_t address, struct process_mapping *mapping)
{
    static struct process_maps maps;
    enum code_location_kind kind = CODE_UNMAPPED;

    if (!process_maps_open(&maps, maps_file))
        return CODE_UNKNOWN;
    while (kind == CODE_UNMAPPED && process_maps_next(&maps, mapping)) {
        if (address >= mapping->start && address < mapping->end && mapping->executable)
            kind = mapping->path[0] == '/' ? CODE_IN_FILE : CODE_WITHOUT_FILE;
    }
    process_maps_close(&maps);
    return kind;
}

/* ---- the file ---- */

static void search_file(const struct process_mapping *mapping, uint64_t file_offset,
                        struct code_location *location)
{
    struct elf_file file;
    struct elf_place place;

    if (!elf_open_mapped(&file, mapping, root_folder))
        return;
    if (elf_place_at(&file, file_offset, &place)) {
        location->offset = place.address;
        elf_find_functions(&file, &place, 1);
        if (elf_read_name(&file, &place, location->function, sizeof location->function)) {
            location->function_offset = place.address - place.start;
            location->kind = CODE_IN_FUNCTION;
        }
    }
    elf_close(&file);
}

void code_location_of_call(const void *return_address, struct code_location *location)
{
    static struct process_mapping mapping;
    uint64_t address = (uint64_t)(uintptr_t)return_address - 1;
    int saved_errno = errno;

    location->file[0] = location->function[0] = '\0';
    location->offset = location->function_offset = 0;
    location->kind = find_mapping(address, &mapping);
    if (location->kind == CODE_IN_FILE) {
        size_t length = strlen(mapping.path);
        size_t skip = length < sizeof location->file ? 0 : length - sizeof location->file + 1;

        memcpy(location->file, mapping.path + skip, length - skip + 1);
        location->offset = address - mapping.start + mapping.file_offset;
        search_file(&mapping, location->offset, location);
    }
    errno = saved_errno;
}
