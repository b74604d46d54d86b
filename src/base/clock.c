/*
 * SPDX-License-Identifier: MIT
 *
 * Finds clock_gettime in the vDSO; see clock.h. The vDSO is an ELF image that the kernel maps into
 * each process; nothing stands before its functions, which use no memory but their arguments and
 * the kernel's data.
 */
#include "base/clock.h"

#include "base/system_call.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

typedef int clock_function(clockid_t, struct timespec *);

static int ask_kernel(clockid_t clock, struct timespec *now)
{
    return (int)system_call(SYS_clock_gettime, clock, now, 0);
}

struct image {
    const char *base; /* what the addresses in it count from; nobody has relocated them */
    const ElfW(Sym) * symbols;
    const char *strings;
};

static void read_dynamic(struct image *image, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            image->symbols = (const void *)(image->base + entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            image->strings = image->base + entry->d_un.d_ptr;
    }
}

/*
 * The kernel's linker script puts the strings right behind the symbols, so that they end there.
 * Some kernels have hash tables of one kind and some of another.
 */
static const void *find(const struct image *image, const char *name)
{
    for (const ElfW(Sym) *symbol = image->symbols; (const char *)(symbol + 1) <= image->strings;
         symbol++) {
        if (symbol->st_shndx != SHN_UNDEF && strcmp(image->strings + symbol->st_name, name) == 0)
            return image->base + symbol->st_value;
    }
    return NULL;
}

static clock_function *find_clock(void)
{
    const char *file = (const char *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Ehdr) *header = (const void *)file;
    const ElfW(Phdr) * segments, *dynamic = NULL;
    struct image image = {.base = NULL};
    const void *function = NULL;

    if (file == NULL)
        return ask_kernel;
    segments = (const void *)(file + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD)
            image.base = file + segments[i].p_offset - segments[i].p_vaddr;
        else if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
    }
    if (image.base != NULL && dynamic != NULL)
        read_dynamic(&image, (const void *)(file + dynamic->p_offset));
    if (image.symbols != NULL && image.strings != NULL)
        function = find(&image, "__vdso_clock_gettime");
    return function != NULL ? (clock_function *)function : ask_kernel;
}

static clock_function *clock_of_this_machine(void)
{
    /* Every thread finds the same: relaxed. */
    static clock_function *found;
    clock_function *function = __atomic_load_n(&found, __ATOMIC_RELAXED);

    if (function == NULL) {
        function = find_clock();
        __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    }
    return function;
}

void clock_read(clockid_t clock, struct timespec *now)
{
    (void)clock_of_this_machine()(clock, now);
}

bool clock_is_quick(void)
{
    return clock_of_this_machine() != ask_kernel;
}
