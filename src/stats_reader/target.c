/*
 * SPDX-License-Identifier: MIT
 *
 * See target.h. /proc and process_vm_readv.
 */
#include "stats_reader/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;

    while (done < size) {
        struct iovec here = {.iov_base = (char *)buffer + done, .iov_len = size - done};
        struct iovec there = {.iov_base = (void *)(uintptr_t)(address + done),
                              .iov_len = size - done};
        ssize_t n = process_vm_readv(target->process, &here, 1, &there, 1, 0);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

uint64_t target_read_u64(const struct target *target, uint64_t address)
{
    uint64_t value;

    return target_read(target, address, &value, sizeof value) ? value : 0;
}

uint32_t target_read_u32(const struct target *target, uint64_t address)
{
    uint32_t value;

    return target_read(target, address, &value, sizeof value) ? value : 0;
}

void target_clean_text(char *text, size_t room)
{
    text[room - 1] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    }
}

static FILE *open_file(const struct target *target, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", target->folder, name);
    return fopen(path, "re");
}

static void read_name(struct target *target)
{
    FILE *file = open_file(target, "comm");

    strcpy(target->name, "?");
    if (file == NULL)
        return;
    if (fgets(target->name, sizeof target->name, file) != NULL)
        target->name[strcspn(target->name, "\n")] = '\0';
    target_clean_text(target->name, sizeof target->name);
    (void)fclose(file);
}

/* Whether the kernel lets this user read the memory at all shows at the first page. */
static enum target_state read_page(struct target *target, uint64_t address, uint64_t inode)
{
    struct live_header header;

    errno = 0;
    if (!target_read(target, address, &header, sizeof header))
        return errno == EPERM ? TARGET_FORBIDDEN : errno == ESRCH ? TARGET_GONE : TARGET_SILENT;
    if (memcmp(header.magic, LIVE_MAGIC, sizeof header.magic) != 0 ||
        target->page_count == TARGET_PAGES)
        return TARGET_SILENT;
    header.library[sizeof header.library - 1] = '\0';
    target->pages[target->page_count].header = header;
    target->pages[target->page_count].inode = inode;
    target->pages[target->page_count++].address = address;
    return TARGET_READABLE;
}

static enum target_state read_maps(struct target *target, FILE *maps)
{
    static const char name[] = " /memfd:" LIVE_MAPPING_NAME " (deleted)\n";
    enum target_state state = TARGET_ENDED;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, maps)) > 0) {
        size_t ending = sizeof name - 1;
        uint64_t address, inode;

        if (state == TARGET_ENDED)
            state = TARGET_SILENT;
        if ((size_t)length < ending || strcmp(line + length - ending, name) != 0 ||
            sscanf(line, "%" SCNx64 "-%*x %*s %*x %*s %" SCNu64, &address, &inode) != 2)
            continue;
        enum target_state page = read_page(target, address, inode);
        if (page != TARGET_SILENT)
            state = page;
    }
    free(line);
    return state;
}

enum target_state target_open(struct target *target, pid_t process)
{
    enum target_state state;
    FILE *maps;

    *target = (struct target){.process = process};
    (void)snprintf(target->folder, sizeof target->folder, "/proc/%d", (int)process);
    read_name(target);
    maps = open_file(target, "maps");
    if (maps == NULL)
        return errno == EACCES || errno == EPERM ? TARGET_FORBIDDEN : TARGET_GONE;
    errno = 0;
    state = read_maps(target, maps);
    /* Another user's maps can be opened, and then not be read. */
    if (ferror(maps) != 0)
        state = errno == ESRCH ? TARGET_GONE : TARGET_FORBIDDEN;
    (void)fclose(maps);
    return state;
}

/* One that has ended has no program any more. */
bool target_lives(const struct target *target)
{
    char path[64], program;

    (void)snprintf(path, sizeof path, "%s/exe", target->folder);
    return readlink(path, &program, 1) >= 0 || errno == EACCES || errno == EPERM;
}

size_t target_memory(const struct target *target, const char *field)
{
    FILE *file = open_file(target, "smaps_rollup");
    size_t length = strlen(field), kib = 0;
    char line[256];

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, length) == 0)
            kib = strtoull(line + length, NULL, 10);
    }
    (void)fclose(file);
    return kib << 10;
}
