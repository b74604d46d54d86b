/*
 * SPDX-License-Identifier: MIT
 *
 * An audit library (rtld-audit(7)) that allocates and locks at whatever the loader tells it. It
 * lives in a namespace with a libc of its own, so preloaded libraries are not in its way, and the
 * loader tells it things before they are relocated.
 */
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *names[64];
static unsigned count;

unsigned la_version(unsigned version)
{
    free(malloc(1000));
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)space;
    (void)cookie;
    pthread_mutex_lock(&mutex);
    if (count < sizeof names / sizeof *names)
        names[count++] = strdup(map->l_name);
    pthread_mutex_unlock(&mutex);
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index;
    (void)from;
    (void)to;
    (void)flags;
    free(strdup(name));
    return symbol->st_value;
}

void la_preinit(uintptr_t *cookie)
{
    (void)cookie;
    for (unsigned i = 0; i < count; i++)
        free(names[i]);
    /* Says that it was there: a loader that cannot load an audit library goes on without. */
    if (dprintf(STDERR_FILENO, "audited %u objects\n", count) < 0)
        _exit(1);
}
