/*
 * SPDX-License-Identifier: MIT
 *
 * Labels from loaded objects; see labels.h. The objects are walked in load order, which is the
 * order in which symbols are searched: the first that defines malloc serves, and where that one
 * only jitters (rand), the second does.
 */
#include "harness/labels.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void labels_object_name(char *to, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    if (strncmp(name, "lib", 3) == 0)
        name += 3;
    const char *end = strstr(name, ".so");
    int length = (int)(end != NULL ? (size_t)(end - name) : strlen(name));
    if (length == 1 && *name == 'c')
        snprintf(to, size, "glibc");
    else if (length == 16 && strncmp(name, "tcmalloc_minimal", 16) == 0)
        snprintf(to, size, "tcmalloc"); /* the same allocator without the heap profiler */
    else if (length == 15 && strncmp(name, "tbbmalloc_proxy", 15) == 0)
        snprintf(to, size, "tbbmalloc"); /* the part of it that replaces malloc */
    else
        snprintf(to, size, "%.*s", length, name);
}

void labels_tm_runtime(char *to, size_t size)
{
    Dl_info found;
    void *begin = dlsym(RTLD_DEFAULT, "_ITM_beginTransaction");

    if (begin != NULL && dladdr(begin, &found) != 0)
        labels_object_name(to, size, found.dli_fname);
    else
        snprintf(to, size, "itm");
}

/* The definition of a symbol in the object itself, not in what it depends on. */
static void *own_symbol(const struct dl_phdr_info *object, const char *symbol)
{
    /* An empty name is the program: its handle searches everything, so ask who owns the answer. */
    const char *name = *object->dlpi_name != '\0' ? object->dlpi_name : NULL;
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    void *address = handle != NULL ? dlsym(handle, symbol) : NULL;
    Dl_info where;
    ElfW(Addr) first = 0, end = 0;

    if (handle != NULL)
        dlclose(handle); /* the object stays: somebody else loaded it */
    if (address == NULL || dladdr(address, &where) == 0)
        return NULL;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];

        if (header->p_type != PT_LOAD)
            continue;
        first = object->dlpi_addr + header->p_vaddr;
        end = first + header->p_memsz;
        if ((ElfW(Addr))address >= first && (ElfW(Addr))address < end)
            return address;
    }
    return NULL;
}

struct walk {
    struct labels *labels;
    bool done; /* the allocator that really serves has been named */
};

static int visit(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct walk *walk = argument;
    char *label = walk->labels->malloc;
    size_t length = strlen(label);
    char name[64];

    (void)size;
    if (strstr(object->dlpi_name, "/vgpreload_core") != NULL)
        walk->labels->time_is_meaningless = true;
    if (walk->done || own_symbol(object, "malloc") == NULL)
        return 0;
    /* By way of void *: ISO C has no conversion between the two kinds of pointer. */
    const char *(*malloc_name)(void);
    *(void **)&malloc_name = own_symbol(object, "mplace_malloc_name");
    if (malloc_name != NULL)
        snprintf(name, sizeof name, "%s", malloc_name());
    else
        labels_object_name(name, sizeof name,
                           *object->dlpi_name != '\0' ? object->dlpi_name : "program");
    walk->done = malloc_name == NULL || strcmp(name, "rand") != 0;
    /* "rand" alone says that glibc is behind it. */
    if (length == 0 || strcmp(name, "glibc") != 0)
        snprintf(label + length, sizeof walk->labels->malloc - length, "%s%s",
                 length == 0 ? "" : "+", name);
    return 0;
}

/* The setting's value where it is one that the lock library takes, else the library's default. */
static const char *in_force(const char *setting, const char *const *allowed, const char *fallback)
{
    const char *value = getenv(setting);

    for (; value != NULL && *allowed != NULL; allowed++) {
        if (strcmp(value, *allowed) == 0)
            return *allowed;
    }
    return fallback;
}

void labels_read(struct labels *labels)
{
    static const char *const policies[] = {"paper",     "adaptive",  "backoff",
                                           "hourglass", "serialise", NULL};
    static const char *const waits[] = {"spin", "yield", "park", NULL};
    struct walk walk = {.labels = labels};
    const char *(*lock_name)(void), *(*lock_htm)(void);

    *labels = (struct labels){.policy = "", .wait = ""};
    dl_iterate_phdr(visit, &walk);

    *(void **)&lock_name = dlsym(RTLD_DEFAULT, "mplace_lock_name");
    *(void **)&lock_htm = dlsym(RTLD_DEFAULT, "mplace_lock_htm");
    snprintf(labels->lock, sizeof labels->lock, "%s", lock_name != NULL ? lock_name() : "pthread");
    snprintf(labels->htm, sizeof labels->htm, "%s", lock_htm != NULL ? lock_htm() : "none");
    if (lock_name != NULL)
        labels->wait = in_force("TTS_WAIT", waits, "park");
    if (strcmp(labels->lock, "ttstle") == 0)
        labels->policy = in_force("TTSTLE_POLICY", policies, "adaptive");

    /*
     * Under the emulator the processor seems to have RTM, so the lock says native. Any Valgrind
     * tool makes times meaningless; "mplace run --htm emulated" says so for locks without
     * transactions.
     */
    const char *requested = getenv("MPLACE_HTM");
    if ((requested != NULL && strcmp(requested, "emulated") == 0) ||
        (labels->time_is_meaningless && strcmp(labels->htm, "native") == 0)) {
        snprintf(labels->htm, sizeof labels->htm, "emulated");
        labels->time_is_meaningless = true;
    }
}
