/*
 * SPDX-License-Identifier: MIT
 *
 * A program linked to an allocator with operators and an interface of its own. Its blocks come to
 * free, realloc and malloc_usable_size, which are another one's where that is preloaded.
 * usage: malloc_new_linked [far]  (far: that one's memory is far from where the kernel puts pages)
 */
#include "expect.h"
#include "malloc_new_elsewhere.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

#include <sys/mman.h>

static void objects_come_and_go()
{
    constexpr std::align_val_t page{4096};
    const std::size_t before = elsewhere_objects(), freed = elsewhere_freed();

    ::operator delete(::operator new(40, std::nothrow));
    ::operator delete[](::operator new[](40, std::nothrow));
    ::operator delete(::operator new(40), std::nothrow);
    ::operator delete[](::operator new[](40), std::nothrow);
    ::operator delete(::operator new(40, page, std::nothrow), page);
    ::operator delete[](::operator new[](40, page, std::nothrow), 40, page);
    ::operator delete(::operator new(40, page), page, std::nothrow);
    ::operator delete[](::operator new[](40, page), page, std::nothrow);
    EXPECT(elsewhere_objects() == before + 8 && elsewhere_freed() == freed + 8);
}

static void blocks_of_its_own_interface_are_blocks()
{
    void *block = elsewhere_allocate(100);

    EXPECT(malloc_usable_size(block) >= 100);
    fill_pattern(block, 0, 100, 1);
    errno = 0;
    block = realloc(block, 100000);
    EXPECT(block != nullptr && errno == 0);
    EXPECT(holds_pattern(block, 0, 100, 1));
    block = realloc(block, 10);
    EXPECT(block != nullptr && holds_pattern(block, 0, 10, 1));
    free(block);
    const std::size_t freed = elsewhere_freed();
    free(elsewhere_allocate(100));
    EXPECT(elsewhere_freed() == freed + 1);
}

/* A preloaded allocator may have a part of aligned 4 MiB, and the linked one pages in the rest. */
static void its_pages_may_lie_beside_the_preloaded_ones()
{
    constexpr std::size_t window = 4 << 20, step = 64 << 10;
    const std::size_t freed = elsewhere_freed();
    char *near = static_cast<char *>(malloc(1));
    char *start = near - reinterpret_cast<std::uintptr_t>(near) % window;
    bool found = false;

    for (std::size_t at = 0; at < window && !found; at += step) {
        void *page = mmap(start + at, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        found = page == start + at;
        if (found)
            free(elsewhere_allocate_in(page));
    }
    EXPECT(elsewhere_freed() == freed + found);
    free(near);
}

int main(int count, char **)
{
    objects_come_and_go();
    blocks_of_its_own_interface_are_blocks();
    if (count == 1)
        its_pages_may_lie_beside_the_preloaded_ones();
    return 0;
}
