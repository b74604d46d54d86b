/*
 * SPDX-License-Identifier: MIT
 *
 * From FILE:SYMBOL to ranges of addresses; see skip.h. The symbols come from the object's file, for
 * memory has only the exported ones. What the file says is checked against what is loaded and
 * against its own length: it may have been replaced meanwhile.
 */
#include "ttstle_lock/elision/skip.h"

#include "base/pages.h"
#include "base/report.h"
#include "base/settings.h"
#include "ttstle_lock/elision/elision.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char setting[] = "TTSTLE_SKIP";

enum { RANGES_MOST = 64, TABLE_BYTES_MOST = 1 << 30 };

/* Written before elides_everywhere, and by the constructor alone. */
static struct range {
    uintptr_t start, end;
} ranges[RANGES_MOST];
static unsigned range_count;

bool elides_everywhere;

bool skip_lets_elide(const void *caller)
{
    /* The call's last byte: what it returns to may be the next function's first. */
    uintptr_t call = (uintptr_t)caller - 1;

    for (unsigned at = 0; at < range_count; at++) {
        if (call >= ranges[at].start && call < ranges[at].end) {
            if (htm_active())
                htm_abort_physical();
            return false;
        }
    }
    return true;
}

/* One entry of the setting, and what was found of it. */
struct entry {
    const char *file, *symbol;
    size_t file_length, symbol_length;
    bool is_loaded, found, too_many;
};

/* ---- one object ---- */

struct object {
    int fd;
    uint64_t size; /* of the file */
    const struct dl_phdr_info *loaded;
    struct entry *entry;
};

static bool read_at(const struct object *object, void *buffer, uint64_t bytes, uint64_t offset)
{
    return offset <= object->size && bytes <= object->size - offset &&
           pread(object->fd, buffer, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* The name itself, or what the compiler split off from it (NAME.part.0, NAME.cold) or a version
 * makes of it (NAME@VERSION). */
static bool is_name(const struct entry *entry, const char *name)
{
    char after;

    if (strncmp(name, entry->symbol, entry->symbol_length) != 0)
        return false;
    after = name[entry->symbol_length];
    return after == '\0' || after == '.' || after == '@';
}

static bool is_loaded_code(const struct object *object, uint64_t value, uint64_t size)
{
    for (unsigned i = 0; i < object->loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->loaded->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && value >= segment->p_vaddr &&
            value - segment->p_vaddr < segment->p_memsz &&
            size <= segment->p_memsz - (value - segment->p_vaddr))
            return true;
    }
    return false;
}

static void add_range(struct object *object, const Elf64_Sym *symbol)
{
    uintptr_t start = object->loaded->dlpi_addr + symbol->st_value;

    object->entry->found = true;
    for (unsigned at = 0; at < range_count; at++) {
        if (ranges[at].start == start && ranges[at].end == start + symbol->st_size)
            return; /* it is in both symbol tables, or has two names */
    }
    if (range_count == RANGES_MOST)
        object->entry->too_many = true;
    else
        ranges[range_count++] = (struct range){.start = start, .end = start + symbol->st_size};
}

static void search_symbols(struct object *object, const Elf64_Sym *symbols, uint64_t count,
                           const char *names, uint64_t names_bytes)
{
    for (uint64_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];

        /* An assembler function may have no length: then no call lies in it. */
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_size != 0 && symbol->st_name < names_bytes &&
            is_name(object->entry, names + symbol->st_name) &&
            is_loaded_code(object, symbol->st_value, symbol->st_size))
            add_range(object, symbol);
    }
}

static void search_table(struct object *object, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
    if (table->sh_size > TABLE_BYTES_MOST || strings->sh_size > TABLE_BYTES_MOST ||
        strings->sh_size == 0)
        return;

    /* A byte more: the last name ends, whatever the file says. */
    char *names = pages_map(strings->sh_size + 1, MAP_NORESERVE);
    Elf64_Sym *symbols = pages_map(table->sh_size + 1, MAP_NORESERVE);

    if (names != NULL && symbols != NULL &&
        read_at(object, names, strings->sh_size, strings->sh_offset) &&
        read_at(object, symbols, table->sh_size, table->sh_offset))
        search_symbols(object, symbols, table->sh_size / sizeof *symbols, names, strings->sh_size);
    if (names != NULL)
        pages_unmap(names, strings->sh_size + 1);
    if (symbols != NULL)
        pages_unmap(symbols, table->sh_size + 1);
}

static void search_file(struct object *object)
{
    Elf64_Ehdr header;
    Elf64_Shdr table, strings;

    if (!read_at(object, &header, sizeof header, 0) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof table)
        return;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        if (!read_at(object, &table, sizeof table, header.e_shoff + i * sizeof table))
            return;
        if ((table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) &&
            table.sh_entsize == sizeof(Elf64_Sym) && table.sh_link < header.e_shnum &&
            read_at(object, &strings, sizeof strings,
                    header.e_shoff + table.sh_link * sizeof strings))
            search_table(object, &table, &strings);
    }
}

/* FILE is a path as the dynamic linker has it, or the last part of one. */
static bool is_file(const struct entry *entry, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (memchr(entry->file, '/', entry->file_length) == NULL && slash != NULL)
        path = slash + 1;
    return strlen(path) == entry->file_length && memcmp(path, entry->file, entry->file_length) == 0;
}

static int look_at(struct dl_phdr_info *loaded, size_t size, void *entry)
{
    static char program[4096];
    struct object object = {.loaded = loaded, .entry = entry};
    const char *path = loaded->dlpi_name;
    struct stat status;

    (void)size;
    if (path[0] == '\0') { /* the program itself */
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

        program[length > 0 ? length : 0] = '\0';
        path = program;
    }
    if (!is_file(object.entry, path))
        return 0;
    object.entry->is_loaded = true;
    object.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (object.fd < 0)
        return 0;
    if (fstat(object.fd, &status) == 0 && S_ISREG(status.st_mode)) {
        object.size = (uint64_t)status.st_size;
        search_file(&object);
    }
    (void)close(object.fd);
    return 0;
}

/* ---- the setting ---- */

/* Takes the next FILE:SYMBOL from *text; false: there is none. */
static bool next_entry(const char **text, struct entry *entry)
{
    size_t length = strcspn(*text, ",");
    const char *colon = memrchr(*text, ':', length);

    if (colon == NULL || colon == *text || colon + 1 == *text + length)
        return false;
    *entry = (struct entry){.file = *text,
                            .file_length = (size_t)(colon - *text),
                            .symbol = colon + 1,
                            .symbol_length = length - (size_t)(colon + 1 - *text)};
    *text += length;
    if (**text == ',')
        (*text)++;
    return true;
}

static bool is_well_formed(const char *text)
{
    struct entry entry;

    while (*text != '\0') {
        if (!next_entry(&text, &entry))
            return false;
    }
    return true;
}

/* Cut if it is long: for messages. */
struct text {
    char text[256];
};

static struct text text_of(const char *start, size_t length)
{
    struct text copy = {.text = ""};

    memcpy(copy.text, start, length < sizeof copy.text ? length : sizeof copy.text - 1);
    return copy;
}

/*
 * A file that this process has not loaded is no mistake: the variable goes on to the programs that
 * a program starts. A function that a loaded file has not is one.
 */
bool skip_read_setting(void)
{
    const char *text = setting_text(setting);
    const char *rest = text;
    struct entry entry;

    if (text == NULL)
        return false;
    if (!is_well_formed(text)) {
        setting_complain(setting, text, "FILE:SYMBOL,... with names or paths of loaded files");
        return false;
    }
    while (*rest != '\0' && next_entry(&rest, &entry)) {
        (void)dl_iterate_phdr(look_at, &entry);
        if (entry.is_loaded && !entry.found)
            report_line("mplace: %s=%s: %s has no function %s in its symbol tables; it is not "
                        "skipped",
                        setting, text, text_of(entry.file, entry.file_length).text,
                        text_of(entry.symbol, entry.symbol_length).text);
        if (entry.too_many)
            report_line("mplace: %s=%s: more than %d functions; the rest is not skipped", setting,
                        text, RANGES_MOST);
    }
    return range_count != 0;
}
