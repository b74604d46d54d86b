/*
 * SPDX-License-Identifier: MIT
 *
 * See sqlite_file.h. There is one file, no journal (the store's transactions are the journal) and
 * one connection: locks always succeed.
 */
#include "sqlite_file.h"

#include <pthread.h>
#include <sqlite3.h>

enum { LINE = 64 };

/* In the store. */
struct content {
    uint64_t size, capacity;
    uint8_t unused[LINE - 2 * sizeof(uint64_t)];
    uint8_t bytes[];
};

/* SQLite's. */
struct file {
    sqlite3_file base;
    struct session *session;
    uint64_t block;
};

static struct content *content_of(const sqlite3_file *base)
{
    const struct file *file = (const struct file *)base;

    return store_at(file->session, file->block);
}

static _Thread_local struct file next;

uint64_t sqlite_file_create(struct session *session, uint64_t capacity)
{
    uint64_t block = store_alloc(session, sizeof(struct content) + capacity);
    struct content *content = store_at(session, block);

    store_u64(session, &content->size, 0);
    store_u64(session, &content->capacity, capacity);
    return block;
}

static int close_file(sqlite3_file *base)
{
    (void)base;
    return SQLITE_OK;
}

static int read_file(sqlite3_file *base, void *buffer, int length, sqlite3_int64 from)
{
    const struct content *content = content_of(base);
    uint64_t begin = (uint64_t)from, wanted = (uint64_t)length;
    uint64_t there = content->size <= begin ? 0 : content->size - begin;

    if (there > wanted)
        there = wanted;
    memcpy(buffer, content->bytes + begin, there);
    memset((char *)buffer + there, 0, wanted - there);
    return there < wanted ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_file(sqlite3_file *base, const void *buffer, int length, sqlite3_int64 from)
{
    struct file *file = (struct file *)base;
    struct content *content = content_of(base);
    uint64_t begin = (uint64_t)from, end = begin + (uint64_t)length, part;

    if (end > content->capacity)
        return SQLITE_FULL;
    for (uint64_t at = begin; at < end; at += part) {
        const uint8_t *source = (const uint8_t *)buffer + (at - begin);
        uint8_t *destination = content->bytes + at;

        part = LINE - (uintptr_t)destination % LINE;
        if (part > end - at)
            part = end - at;
        if (at + part > content->size || memcmp(destination, source, part) != 0)
            store_write(file->session, destination, source, part);
    }
    if (end > content->size)
        store_u64(file->session, &content->size, end);
    return SQLITE_OK;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
    struct file *file = (struct file *)base;

    store_u64(file->session, &content_of(base)->size, (uint64_t)size);
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)content_of(base)->size;
    return SQLITE_OK;
}

static int succeed(sqlite3_file *base, int argument)
{
    (void)base;
    (void)argument;
    return SQLITE_OK;
}

static int is_reserved(sqlite3_file *base, int *reserved)
{
    (void)base;
    *reserved = 0;
    return SQLITE_OK;
}

static int control(sqlite3_file *base, int operation, void *argument)
{
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *base)
{
    (void)base;
    return LINE;
}

static int characteristics(sqlite3_file *base)
{
    (void)base;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = succeed,
    .xFileSize = size_of_file,
    .xLock = succeed,
    .xUnlock = succeed,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *given)
{
    (void)vfs;
    (void)name;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    *(struct file *)base = next;
    if (given != NULL)
        *given = flags;
    return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    (void)name;
    (void)sync;
    return SQLITE_OK;
}

/* There is no journal that a crash left. */
static int has_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    (void)vfs;
    (void)name;
    (void)flags;
    *result = 0;
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int length, char *result)
{
    (void)vfs;
    sqlite3_snprintf(length, result, "%s", name);
    return SQLITE_OK;
}

static sqlite3_vfs vfs;

/* All that is of no file is the default's. */
static void register_vfs(void)
{
    vfs = *sqlite3_vfs_find(NULL);
    vfs.zName = "store";
    vfs.szOsFile = sizeof(struct file);
    vfs.xOpen = open_file;
    vfs.xDelete = delete_file;
    vfs.xAccess = has_access;
    vfs.xFullPathname = full_name;
    sqlite3_vfs_register(&vfs, 0);
}

const char *sqlite_file_next(struct session *session, uint64_t file)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_vfs);
    next = (struct file){{&methods}, session, file};
    return "store";
}
