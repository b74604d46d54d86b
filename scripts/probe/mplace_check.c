/*
 * SPDX-License-Identifier: MIT
 *
 * Whether libraries can be preloaded into a program: what the kernel and the dynamic linker will do
 * with the file, for "mplace run". A script is followed to its interpreter, and that of
 * "#!/usr/bin/env NAME" to NAME.
 *
 *   mplace-check FILE
 *
 * Exit status 0: nothing speaks against it. 1: it cannot be done, standard output has the reason in
 * one line. 3: the file cannot be executed at all, and standard output says why: its interpreter is
 * missing. 4: the same, a text without "#!", which a shell runs by itself.
 * 5: it is no program that the kernel knows, or, and then standard output says so, its interpreter
 * is none.
 */
#include "program_options.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    LOADABLE = 0,
    NOT_LOADABLE = 1,
    BAD_ARGUMENT = 2,
    NO_INTERPRETER = 3,
    FOR_A_SHELL = 4,
    NO_PROGRAM = 5
};
/* The kernel reads so much of a script's first line, and follows so many scripts to scripts. */
enum { LINE_MOST = 256, SCRIPTS_MOST = 5 };

static int examine(const char *file, int scripts);

static int cannot(const char *file, const char *reason)
{
    printf("%s %s\n", file, reason);
    return NOT_LOADABLE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- ELF ---- */

static const char glibc_loader[] = "ld-linux-x86-64.so.2";

/* The program header that names the dynamic linker; a static program has none, whether it is
 * position-independent or not. */
static int examine_loader(const char *file, int fd, const Elf64_Ehdr *header)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        char loader[LINE_MOST] = "";
        Elf64_Phdr segment;
        off_t offset = (off_t)(header->e_phoff + i * sizeof segment);

        if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
            return cannot(file, "is no complete program");
        if (segment.p_type != PT_INTERP)
            continue;
        size_t length = segment.p_filesz < sizeof loader ? segment.p_filesz : sizeof loader - 1;
        if (pread(fd, loader, length, (off_t)segment.p_offset) != (ssize_t)length)
            return cannot(file, "is no complete program");
        if (strcmp(base_name(loader), glibc_loader) == 0)
            return LOADABLE;
        printf("%s is linked with another C library than glibc (its loader is %s): the libraries "
               "cannot be loaded into it\n",
               file, loader);
        return NOT_LOADABLE;
    }
    /* The dynamic linker itself, called to run a program, preloads into that. */
    if (strncmp(base_name(file), "ld-", 3) == 0)
        return LOADABLE;
    return cannot(file, "is statically linked: nothing can be preloaded into it");
}

static int examine_elf(const char *file, int fd, const Elf64_Ehdr *header)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        return cannot(file, "is not an x86-64 program: the libraries cannot be loaded into it");
    return examine_loader(file, fd, header);
}

/* ---- scripts ---- */

/* Where the shell would find the program; NULL: nowhere. */
static const char *find_program(const char *name)
{
    static char found[4096];
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL)
        return name;
    for (; path != NULL && *path != '\0'; path += *path == ':') {
        int length = (int)strcspn(path, ":");

        if (length > 0 &&
            snprintf(found, sizeof found, "%.*s/%s", length, path, name) < (int)sizeof found &&
            access(found, X_OK) == 0)
            return found;
        path += length;
    }
    return NULL;
}

/* line: what follows "#!", its end marked. */
static int examine_script(const char *file, char *line, int scripts)
{
    char *interpreter = strtok(line, " \t\n");
    struct stat status;
    int result;

    if (interpreter == NULL || scripts == 0)
        return LOADABLE; /* the kernel has the last word */
    if (access(interpreter, F_OK) != 0) {
        bool has_return = interpreter[strcspn(interpreter, "\r")] != '\0';

        interpreter[strcspn(interpreter, "\r")] = '\0';
        printf("the interpreter of %s is missing: %s%s\n", file, interpreter,
               has_return ? " with a carriage return, as of Windows, behind its name" : "");
        return NO_INTERPRETER;
    }
    if (stat(interpreter, &status) != 0 || S_ISDIR(status.st_mode) ||
        access(interpreter, X_OK) != 0) {
        printf("the interpreter of %s cannot be executed: %s\n", file, interpreter);
        return NO_PROGRAM;
    }
    result = examine(interpreter, scripts - 1);
    if (result != LOADABLE || strcmp(base_name(interpreter), "env") != 0)
        return result;
    /* env's options and settings come before the name of what it runs. */
    for (char *word; (word = strtok(NULL, " \t\n")) != NULL;) {
        const char *program = *word == '-' || strchr(word, '=') != NULL ? NULL : find_program(word);

        if (program != NULL)
            return examine(program, scripts - 1);
    }
    return LOADABLE;
}

/* ---- any file ---- */

/* As shells judge it, by the first line. */
static bool is_text(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);

    return memchr(text, '\0', end != NULL ? (size_t)(end - text) : length) == NULL;
}

static int examine(const char *file, int scripts)
{
    union {
        Elf64_Ehdr header;
        char text[LINE_MOST + 1];
    } start = {.text = ""};
    struct stat status;
    int fd, result = LOADABLE;

    if (stat(file, &status) != 0)
        return LOADABLE;
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return cannot(file, "is setuid or setgid: the dynamic linker would ignore the libraries");
    if (getxattr(file, "security.capability", NULL, 0) > 0)
        return cannot(file, "has file capabilities: the dynamic linker would ignore the libraries");
    fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return LOADABLE; /* it may be executed all the same */
    ssize_t length = read(fd, start.text, LINE_MOST);
    if (length >= (ssize_t)sizeof start.header &&
        memcmp(start.header.e_ident, ELFMAG, SELFMAG) == 0) {
        result = examine_elf(file, fd, &start.header);
    } else if (length > 2 && start.text[0] == '#' && start.text[1] == '!') {
        start.text[2 + strcspn(start.text + 2, "\n")] = '\0';
        result = examine_script(file, start.text + 2, scripts);
    } else if (length >= 0 && scripts == SCRIPTS_MOST) {
        result = is_text(start.text, (size_t)length) ? FOR_A_SHELL : NO_PROGRAM;
    }
    (void)close(fd);
    return result;
}

int main(int count, char **arguments)
{
    const struct option none[] = {{0}};
    int first = program_options(count, arguments, none, "mplace-check FILE");

    if (count != first + 1) {
        (void)fputs("usage: mplace-check FILE\n", stderr);
        return BAD_ARGUMENT;
    }
    return examine(arguments[first], SCRIPTS_MOST);
}
