/*
 * SPDX-License-Identifier: MIT
 *
 * Regions and files: mplace_persist.h's functions that create, open and close one.
 *
 * The file is mapped twice: shared, for the library's stores, and its memory area private, for the
 * program. A page of the private mapping is the file's until the program writes to it, and its own
 * from then on. The library writes to a place only what the program has written to the view before,
 * so no page of the view changes from below.
 */
#include "mplace_persist.h"
#include "mplace_trace.h"

#include "persist/error.h"
#include "persist/region.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char *const media[][2] = {
    [PERSISTENCE_CLWB] = {"DAX, CLWB and SFENCE", "tmpfs, CLWB and SFENCE"},
    [PERSISTENCE_CLFLUSHOPT] = {"DAX, CLFLUSHOPT and SFENCE", "tmpfs, CLFLUSHOPT and SFENCE"},
    [PERSISTENCE_CLFLUSH] = {"DAX, CLFLUSH and SFENCE", "tmpfs, CLFLUSH and SFENCE"},
};

/*
 * Maps the file shared and chooses how to write it back. MAP_SYNC is refused where the file is not
 * on persistent memory (mmap(2)); where it is granted, flushed lines need no msync. A file of tmpfs
 * has nothing below it that msync would write to: flushes are what a DAX file would need.
 */
static int map_shared(struct persistence *persistence, const char **medium, int file,
                      uint64_t bytes)
{
    struct statfs system;
    bool in_memory = fstatfs(file, &system) == 0 &&
                     (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
    bool dax = base != MAP_FAILED;

    if (!dax)
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED)
        return error_say(errno, "cannot map the region: %s", strerror(errno));
    mplace_trace_persistent(base, bytes);
    *persistence = (struct persistence){.base = base, .bytes = bytes};
    persistence->method = dax || in_memory ? persistence_instruction() : PERSISTENCE_MSYNC;
    *medium =
        persistence->method == PERSISTENCE_MSYNC ? "file, msync" : media[persistence->method][!dax];
    return 0;
}

static void unmap_shared(const struct persistence *persistence)
{
    mplace_trace_persistent(persistence->base, 0);
    munmap(persistence->base, persistence->bytes);
}

/* A new file's name is durable when its folder is. */
static int sync_folder(const char *path)
{
    char *copy = strdup(path);
    int folder = copy == NULL ? -1 : open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder < 0 || fsync(folder) != 0 ? errno : 0;

    if (folder >= 0)
        close(folder);
    free(copy);
    return error == EINVAL ? 0 : error; /* a file system that has nothing to write */
}

/* Room for all of the region: a store to a mapped hole that finds none ends the process. */
static int allocate(int file, uint64_t bytes)
{
    int error = posix_fallocate(file, 0, (off_t)bytes);

    return error == 0 ? 0
                      : error_say(error, "no room for a region of %llu bytes: %s",
                                  (unsigned long long)bytes, strerror(error));
}

static int fill(int file, const struct region_sizes *sizes, enum persist_log log)
{
    struct persistence persistence;
    const char *medium;
    uint64_t seed;
    int error = allocate(file, sizes->file_bytes);

    if (error == 0)
        error = map_shared(&persistence, &medium, file, sizes->file_bytes);
    if (error != 0)
        return error;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)(uintptr_t)&seed;
    error = region_format(&persistence, sizes, log, seed);
    unmap_shared(&persistence);
    if (error == 0 && fsync(file) != 0)
        error = errno;
    return error == 0 ? 0 : error_say(error, "cannot write the region: %s", strerror(error));
}

/* A thread that is cancelled meanwhile would leave the file open, and locked: it ends later. */
static int cancel_later(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static int create(const char *path, uint64_t memory_bytes, enum persist_log log, uint64_t log_bytes)
{
    struct region_sizes sizes;
    int file, error;

    if (memory_bytes < PERSIST_LEAST_MEMORY || memory_bytes > PERSIST_GREATEST_MEMORY ||
        log_bytes < PERSIST_LEAST_LOG || log_bytes > PERSIST_GREATEST_LOG)
        return error_say(EINVAL,
                         "a region has 64 KiB to 1 TiB of memory and 8 KiB to 4 GiB of log");
    if (log != PERSIST_LOG_WAL && log != PERSIST_LOG_EAGER)
        return error_say(EINVAL, "no such format of the log: %d", (int)log);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return error_say(errno, "cannot create '%s': %s", path, strerror(errno));
    sizes = region_sizes(memory_bytes, log_bytes);
    error = fill(file, &sizes, log);
    close(file);
    if (error == 0) {
        error = sync_folder(path);
        if (error != 0)
            error_say(error, "cannot write the folder of '%s': %s", path, strerror(error));
    }
    if (error != 0)
        unlink(path);
    return error;
}

EXPORT int persist_create(const char *path, uint64_t memory_bytes, enum persist_log log,
                          uint64_t log_bytes)
{
    int before = cancel_later(), error = create(path, memory_bytes, log, log_bytes);

    pthread_setcancelstate(before, NULL);
    return error;
}

/* Also where there is room that was never written to: that is asked for again, and is there. */
static bool has_holes(int file, uint64_t bytes)
{
    off_t hole = lseek(file, 0, SEEK_HOLE);

    return hole >= 0 && (uint64_t)hole < bytes;
}

/* Opens and locks the file, looks at its header, and fills the holes of a sparse copy. */
static int open_file(struct persist_region *region, const char *path, uint64_t *bytes)
{
    uint8_t header[LOG_OFFSET] = {0};
    struct stat status;
    int error;

    region->file = open(path, O_RDWR | O_CLOEXEC);
    if (region->file < 0)
        return error_say(errno, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(region->file, &status) != 0 || !S_ISREG(status.st_mode))
        return error_say(EMEDIUMTYPE, "'%s' is no file", path);
    if (flock(region->file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? error_say(EBUSY, "'%s' is open already", path)
                                    : error_say(errno, "cannot lock '%s'", path);
    if (pread(region->file, header, sizeof header, 0) < 0)
        return error_say(errno, "cannot read '%s': %s", path, strerror(errno));
    *bytes = ((const struct region_header *)(void *)header)->file_bytes;
    error = region_check(header, (uint64_t)status.st_size);
    if (error == 0 && has_holes(region->file, *bytes))
        error = allocate(region->file, *bytes);
    return error;
}

/* The view, and a page that tells the child of a fork that it is one. */
static int map_private(struct persist_region *region)
{
    const struct region_header *header =
        (const struct region_header *)(void *)region->persistence.base;
    void *view, *alive;
    int error;

    view = mmap(NULL, region->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                region->file, (off_t)header->memory_offset);
    if (view == MAP_FAILED)
        return error_say(errno, "cannot map a view of the region: %s", strerror(errno));
    alive = mmap(NULL, PERSIST_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (alive == MAP_FAILED || madvise(alive, PERSIST_PAGE, MADV_WIPEONFORK) != 0) {
        error = errno;
        munmap(view, region->memory_bytes);
        return error_say(error, "cannot map a page: %s", strerror(error));
    }
    region->alive = alive;
    *region->alive = 1;
    error = region_start(region, view);
    if (error != 0)
        munmap(view, region->memory_bytes);
    return error;
}

/* Frees all that there is of a region. */
static void discard(struct persist_region *region)
{
    uint8_t *view = region->view;

    region_end(region);
    if (view != NULL)
        munmap(view, region->memory_bytes);
    if (region->alive != NULL)
        munmap((void *)(uintptr_t)region->alive, PERSIST_PAGE);
    if (region->persistence.base != NULL)
        unmap_shared(&region->persistence);
    if (region->file >= 0)
        close(region->file);
    free(region);
}

static struct persist_region *open_region(const char *path)
{
    struct persist_region *region = calloc(1, sizeof *region);
    uint64_t bytes;
    int error;

    if (region == NULL) {
        errno = error_say(ENOMEM, "no memory for a region");
        return NULL;
    }
    region->file = -1;
    error = open_file(region, path, &bytes);
    if (error == 0)
        error = map_shared(&region->persistence, &region->medium, region->file, bytes);
    if (error == 0)
        error = region_recover(region);
    if (error == 0)
        error = map_private(region);
    if (error != 0) {
        discard(region);
        errno = error;
        return NULL;
    }
    return region;
}

EXPORT struct persist_region *persist_open(const char *path)
{
    int before = cancel_later();
    struct persist_region *region = open_region(path);

    pthread_setcancelstate(before, NULL);
    return region;
}

static int close_region(struct persist_region *region)
{
    int error = 0;

    if (region_is_of_parent(region)) {
        discard(region);
        return 0;
    }
    pthread_mutex_lock(&region->tx_lock);
    if (region->open_txs > 0)
        error =
            error_say(EBUSY, "%llu transactions are open", (unsigned long long)region->open_txs);
    pthread_mutex_unlock(&region->tx_lock);
    if (error != 0)
        return error;
    error = region->failed != 0 ? region->failed : log_checkpoint(&region->log);
    if (error != 0)
        error = error_say(EIO, "the region could not be written: %s", strerror(error));
    discard(region);
    return error;
}

EXPORT int persist_close(struct persist_region *region)
{
    int before = cancel_later(), error = close_region(region);

    pthread_setcancelstate(before, NULL);
    return error;
}

EXPORT const char *persist_medium(const struct persist_region *region)
{
    return region->medium;
}
