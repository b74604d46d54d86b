/*
 * SPDX-License-Identifier: MIT
 *
 * An allocator that a program is linked to, made as jemalloc is: its operators new take blocks by
 * a way inside, and so does what is its own interface; its operators delete call free by name,
 * which finds another one's where that was preloaded. A block that is not its own ends the program.
 */
#include "malloc_new_elsewhere.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

alignas(4096) static char arena[32 << 20];
static char *further_page;
static std::size_t used, objects, freed;

std::size_t elsewhere_objects()
{
    return objects;
}

std::size_t elsewhere_freed()
{
    return freed;
}

/* With its length in front. */
static void *take(std::size_t bytes, std::size_t alignment)
{
    std::size_t start = (used + 16 + alignment - 1) & ~(alignment - 1);

    if (start > sizeof arena || bytes > sizeof arena - start)
        return nullptr;
    used = start + bytes;
    std::memcpy(arena + start - 16, &bytes, sizeof bytes);
    return arena + start;
}

extern "C" {
void *malloc(std::size_t bytes) noexcept
{
    return take(bytes, 16);
}

void free(void *block) noexcept
{
    bool in_arena = block >= arena && block < arena + sizeof arena;
    bool in_page = block >= further_page && block < further_page + 4096;

    if (block != nullptr && !in_arena && !in_page) {
        std::fputs("free: no block of this allocator's\n", stderr);
        std::_Exit(1);
    }
    freed += block != nullptr;
}

std::size_t malloc_usable_size(void *block) noexcept
{
    std::size_t bytes = 0;

    if (block != nullptr)
        std::memcpy(&bytes, static_cast<char *>(block) - 16, sizeof bytes);
    return bytes;
}

void *calloc(std::size_t count, std::size_t size) noexcept
{
    return take(count * size, 16); /* never used twice */
}

void *realloc(void *block, std::size_t bytes) noexcept
{
    void *moved = take(bytes, 16);
    std::size_t old = malloc_usable_size(block);

    if (moved != nullptr && block != nullptr)
        std::memcpy(moved, block, old < bytes ? old : bytes);
    return moved;
}

void *aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept
{
    return take(bytes, alignment);
}
}

static void *object(std::size_t bytes, std::size_t alignment)
{
    objects++;
    return take(bytes, alignment);
}

void *elsewhere_allocate(std::size_t bytes)
{
    return object(bytes, 16);
}

void *elsewhere_allocate_in(void *page)
{
    further_page = static_cast<char *>(page);
    return further_page + 64;
}

static void *object_or_throw(std::size_t bytes, std::size_t alignment)
{
    void *block = object(bytes, alignment);

    if (block == nullptr)
        throw std::bad_alloc();
    return block;
}

using std::align_val_t, std::nothrow_t, std::size_t;

static size_t of(align_val_t alignment)
{
    return static_cast<size_t>(alignment);
}

/* One line each: clang-format takes four. */
/* clang-format off */
void *operator new(size_t n) { return object_or_throw(n, 16); }
void *operator new[](size_t n) { return object_or_throw(n, 16); }
void *operator new(size_t n, const nothrow_t &) noexcept { return object(n, 16); }
void *operator new[](size_t n, const nothrow_t &) noexcept { return object(n, 16); }
void *operator new(size_t n, align_val_t a) { return object_or_throw(n, of(a)); }
void *operator new[](size_t n, align_val_t a) { return object_or_throw(n, of(a)); }
void *operator new(size_t n, align_val_t a, const nothrow_t &) noexcept { return object(n, of(a)); }
void *operator new[](size_t n, align_val_t a, const nothrow_t &) noexcept { return object(n, of(a)); }
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
void operator delete[](void *p, size_t) noexcept { free(p); }
void operator delete(void *p, const nothrow_t &) noexcept { free(p); }
void operator delete[](void *p, const nothrow_t &) noexcept { free(p); }
void operator delete(void *p, align_val_t) noexcept { free(p); }
void operator delete[](void *p, align_val_t) noexcept { free(p); }
void operator delete(void *p, size_t, align_val_t) noexcept { free(p); }
void operator delete[](void *p, size_t, align_val_t) noexcept { free(p); }
void operator delete(void *p, align_val_t, const nothrow_t &) noexcept { free(p); }
void operator delete[](void *p, align_val_t, const nothrow_t &) noexcept { free(p); }
