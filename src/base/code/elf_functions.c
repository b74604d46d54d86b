/*
 * SPDX-License-Identifier: MIT
 *
 * See elf_functions.h. The file is opened, read and closed by system calls of our own, as in
 * short_file.h, and for the same reason.
 */
#include "base/code/elf_functions.h"

#include "base/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    size_t done = 0;

    if (offset > INT64_MAX - size)
        return false;
    while (done < size) {
        long n = system_call_6(SYS_pread64, fd, (long)buffer + (long)done, (long)(size - done),
                               (long)(offset + done), 0, 0);
        if (n > 0)
            done += (size_t)n;
        else if (n != -EINTR)
            return false;
    }
    return true;
}

static bool read_header(int fd, Elf64_Ehdr *header)
{
    return read_at(fd, header, sizeof *header, 0) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_phentsize == sizeof(Elf64_Phdr) &&
           (header->e_shnum == 0 || header->e_shentsize == sizeof(Elf64_Shdr));
}

static bool read_section(const struct elf_file *file, unsigned number, Elf64_Shdr *section)
{
    return number < file->header.e_shnum &&
           read_at(file->fd, section, sizeof *section,
                   file->header.e_shoff + number * sizeof *section);
}

/* The full table where there is one, else that of the dynamic linker. */
static void find_symbol_table(struct elf_file *file)
{
    Elf64_Shdr section;

    file->symbols = file->strings = (Elf64_Shdr){.sh_size = 0};
    for (unsigned i = 0; read_section(file, i, &section); i++) {
        bool is_full = section.sh_type == SHT_SYMTAB;

        if (section.sh_entsize != sizeof(Elf64_Sym) || (!is_full && section.sh_type != SHT_DYNSYM))
            continue;
        file->symbols = section;
        if (is_full)
            break;
    }
    if (!read_section(file, file->symbols.sh_link, &file->strings))
        file->strings.sh_size = 0;
}

bool elf_open_mapped(struct elf_file *file, const struct process_mapping *mapping, const char *root)
{
    static char path[64 + PROCESS_PATH_ROOM];
    size_t root_length = strlen(root);
    struct stat status;

    if (root_length + strlen(mapping->path) >= sizeof path)
        return false;
    memcpy(path, root, root_length);
    memcpy(path + root_length, mapping->path, strlen(mapping->path) + 1);
    file->fd =
        (int)system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0)
        return false;
    if (fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_ino == mapping->inode && read_header(file->fd, &file->header)) {
        find_symbol_table(file);
        return true;
    }
    elf_close(file);
    return false;
}

void elf_close(struct elf_file *file)
{
    (void)system_call(SYS_close, file->fd, NULL, 0);
}

bool elf_place_at(const struct elf_file *file, uint64_t file_offset, struct elf_place *place)
{
    *place = (struct elf_place){.address = 0};
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        Elf64_Phdr segment;

        if (!read_at(file->fd, &segment, sizeof segment, file->header.e_phoff + i * sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && file_offset >= segment.p_offset &&
            file_offset - segment.p_offset < segment.p_filesz) {
            place->address = file_offset - segment.p_offset + segment.p_vaddr;
            return true;
        }
    }
    return false;
}

/* How many places lie below the address. */
static size_t places_below(const struct elf_place *places, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The innermost function; of two names of one function the global one is the better known. */
static bool is_better(const struct elf_place *place, const Elf64_Sym *symbol)
{
    if (place->name == 0 || symbol->st_value != place->start)
        return place->name == 0 || symbol->st_value > place->start;
    return place->is_local && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static void apply(const Elf64_Sym *symbol, struct elf_place *places, size_t count)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (symbol->st_name == 0 || symbol->st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_GNU_IFUNC))
        return;
    for (size_t i = places_below(places, count, symbol->st_value);
         i < count && places[i].address - symbol->st_value < symbol->st_size; i++) {
        if (is_better(&places[i], symbol)) {
            places[i].start = symbol->st_value;
            places[i].name = symbol->st_name;
            places[i].is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
        }
    }
}

void elf_find_functions(const struct elf_file *file, struct elf_place *places, size_t count)
{
    static Elf64_Sym chunk[512];
    const uint64_t most = sizeof chunk / sizeof chunk[0];
    uint64_t left = file->symbols.sh_size / sizeof chunk[0], offset = file->symbols.sh_offset;

    while (left > 0) {
        size_t symbols = left < most ? left : most;

        if (!read_at(file->fd, chunk, symbols * sizeof chunk[0], offset))
            return;
        for (size_t i = 0; i < symbols; i++)
            apply(&chunk[i], places, count);
        left -= symbols;
        offset += symbols * sizeof chunk[0];
    }
}

/* A name ends at its 0 byte or where the room or the table does. */
bool elf_read_name(const struct elf_file *file, const struct elf_place *place, char *text,
                   size_t room)
{
    uint64_t length;

    text[0] = '\0';
    if (place->name == 0 || place->name >= file->strings.sh_size)
        return false;
    length = file->strings.sh_size - place->name;
    if (length > room - 1)
        length = room - 1;
    if (!read_at(file->fd, text, length, file->strings.sh_offset + place->name))
        length = 0;
    text[length] = '\0';
    return text[0] != '\0';
}
