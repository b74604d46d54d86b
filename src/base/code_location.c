/*
 * SPDX-License-Identifier: MIT
 *
 * See code_location.h. A file is only believed if it is the one that is mapped (same inode), and
 * each number read from it is taken for what it is: something that may be anything.
 */
#include "base/code_location.h"

#include "base/process_maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- ELF files ---- */

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    size_t done = 0;

    if (offset > INT64_MAX - size)
        return false;
    while (done < size) {
        ssize_t n = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (n <= 0) {
            if (n < 0 && errno == EINTR)
                continue;
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

/* -1 if the file is not the one that is mapped. O_NONBLOCK: whatever has this name now, opening it
 * does not wait. */
static int open_mapped(const struct process_mapping *mapping)
{
    static char path[sizeof root_folder + PROCESS_PATH_ROOM];
    size_t root_length = strlen(root_folder);
    struct stat status;
    int fd;

    memcpy(path, root_folder, root_length);
    memcpy(path + root_length, mapping->path, strlen(mapping->path) + 1);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == mapping->inode)
        return fd;
    (void)close(fd);
    return -1;
}

static bool read_header(int fd, Elf64_Ehdr *header)
{
    return read_at(fd, header, sizeof *header, 0) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_phentsize == sizeof(Elf64_Phdr) &&
           (header->e_shnum == 0 || header->e_shentsize == sizeof(Elf64_Shdr));
}

/* Where the file offset is in the file's own addresses. */
static bool to_own_address(int fd, const Elf64_Ehdr *header, uint64_t file_offset,
                           uint64_t *address)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;

        if (!read_at(fd, &segment, sizeof segment, header->e_phoff + i * sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && file_offset >= segment.p_offset &&
            file_offset - segment.p_offset < segment.p_filesz) {
            *address = file_offset - segment.p_offset + segment.p_vaddr;
            return true;
        }
    }
    return false;
}

/* The full table where there is one, else that of the dynamic linker. */
static bool find_symbol_table(int fd, const Elf64_Ehdr *header, Elf64_Shdr *table)
{
    bool found = false;

    for (unsigned i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;

        if (!read_at(fd, &section, sizeof section, header->e_shoff + i * sizeof section))
            return false;
        if (section.sh_entsize != sizeof(Elf64_Sym))
            continue;
        if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !found)) {
            *table = section;
            found = true;
            if (section.sh_type == SHT_SYMTAB)
                break;
        }
    }
    return found;
}

static bool covers(const Elf64_Sym *symbol, uint64_t address)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           address >= symbol->st_value && address - symbol->st_value < symbol->st_size;
}

/* Of two names of one place the global one is the better known. */
static bool is_better(const Elf64_Sym *symbol, const Elf64_Sym *best)
{
    if (best->st_name == 0 || symbol->st_value != best->st_value)
        return best->st_name == 0 || symbol->st_value > best->st_value;
    return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && ELF64_ST_BIND(best->st_info) == STB_LOCAL;
}

static bool find_symbol(int fd, const Elf64_Shdr *table, uint64_t address, Elf64_Sym *best)
{
    static Elf64_Sym chunk[512];
    uint64_t left = table->sh_size / sizeof chunk[0];
    uint64_t offset = table->sh_offset;

    *best = (Elf64_Sym){.st_name = 0};
    while (left > 0) {
        size_t count =
            left < sizeof chunk / sizeof chunk[0] ? left : sizeof chunk / sizeof chunk[0];

        if (!read_at(fd, chunk, count * sizeof chunk[0], offset))
            break;
        for (size_t i = 0; i < count; i++) {
            if (chunk[i].st_name != 0 && covers(&chunk[i], address) && is_better(&chunk[i], best))
                *best = chunk[i];
        }
        left -= count;
        offset += count * sizeof chunk[0];
    }
    return best->st_name != 0;
}

/* A name ends at its 0 byte or where the room or the table does. */
static bool read_name(int fd, const Elf64_Ehdr *header, const Elf64_Shdr *table, uint32_t name,
                      char *text, size_t room)
{
    Elf64_Shdr strings;
    uint64_t length;

    if (table->sh_link >= header->e_shnum ||
        !read_at(fd, &strings, sizeof strings, header->e_shoff + table->sh_link * sizeof strings) ||
        name >= strings.sh_size)
        return false;
    length = strings.sh_size - name < room - 1 ? strings.sh_size - name : room - 1;
    if (!read_at(fd, text, length, strings.sh_offset + name))
        return false;
    text[length] = '\0';
    return text[0] != '\0';
}

static void look_into_file(int fd, uint64_t file_offset, struct code_location *location)
{
    Elf64_Ehdr header;
    Elf64_Shdr table;
    Elf64_Sym symbol;
    uint64_t address;

    if (!read_header(fd, &header) || !to_own_address(fd, &header, file_offset, &address))
        return;
    location->offset = address;
    if (!find_symbol_table(fd, &header, &table) || !find_symbol(fd, &table, address, &symbol) ||
        !read_name(fd, &header, &table, symbol.st_name, location->function,
                   sizeof location->function))
        return;
    location->function_offset = address - symbol.st_value;
    location->kind = CODE_IN_FUNCTION;
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
        int fd = open_mapped(&mapping);

        memcpy(location->file, mapping.path + skip, length - skip + 1);
        location->offset = address - mapping.start + mapping.file_offset;
        if (fd >= 0) {
            look_into_file(fd, location->offset, location);
            (void)close(fd);
        }
    }
    errno = saved_errno;
}
