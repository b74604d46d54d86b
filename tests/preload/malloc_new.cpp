/*
 * SPDX-License-Identifier: MIT
 *
 * operator new, plain and over-aligned, stands on the malloc family: alignment, contents, the sized
 * and aligned operators delete, and std::bad_alloc for what cannot be.
 */
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, __func__,    \
                         #condition);                                                              \
            std::_Exit(1);                                                                         \
        }                                                                                          \
    } while (0)

template <std::size_t alignment> struct alignas(alignment) over_aligned {
    unsigned char bytes[alignment + 3];
};

template <std::size_t alignment> static void over_aligned_objects_are_aligned()
{
    using object = over_aligned<alignment>;
    std::vector<std::unique_ptr<object>> objects;

    for (int i = 0; i < 100; i++) {
        objects.push_back(std::make_unique<object>());
        EXPECT(reinterpret_cast<std::uintptr_t>(objects.back().get()) % alignment == 0);
        std::memset(objects.back()->bytes, i, sizeof objects.back()->bytes);
    }
    for (int i = 0; i < 100; i++)
        EXPECT(objects[i]->bytes[0] == i && objects[i]->bytes[alignment + 2] == i);
    object *array = new object[7];
    EXPECT(reinterpret_cast<std::uintptr_t>(array) % alignment == 0);
    delete[] array;
}

static void impossible_objects_throw_bad_alloc()
{
    volatile std::size_t size = static_cast<std::size_t>(PTRDIFF_MAX);
    bool plain = false, aligned = false;

    try {
        ::operator delete(::operator new(size));
    } catch (const std::bad_alloc &) {
        plain = true;
    }
    try {
        ::operator delete (::operator new (size, std::align_val_t{256}), std::align_val_t{256});
    } catch (const std::bad_alloc &) {
        aligned = true;
    }
    EXPECT(plain && aligned);
    EXPECT(::operator new(size, std::nothrow) == nullptr);
    EXPECT(::operator new (size, std::align_val_t{4096}, std::nothrow) == nullptr);
}

static void containers_live_across_threads()
{
    std::vector<std::thread> threads;
    std::vector<std::map<int, std::list<std::string>>> maps(4);

    for (int t = 0; t < 4; t++)
        threads.emplace_back([&map = maps[t]] {
            for (int i = 0; i < 5000; i++)
                map[i % 100].push_back(std::string(i % 200, static_cast<char>('a' + i % 26)));
        });
    for (std::thread &thread : threads)
        thread.join();
    for (auto &map : maps)
        for (auto &entry : map)
            for (auto &text : entry.second)
                EXPECT(text.find_first_not_of(text.empty() ? 'a' : text[0]) == std::string::npos);
    for (auto &map : maps)
        threads[&map - maps.data()] = std::thread([&map] { map.clear(); });
    for (std::thread &thread : threads)
        thread.join();
}

int main()
{
    over_aligned_objects_are_aligned<32>();
    over_aligned_objects_are_aligned<64>();
    over_aligned_objects_are_aligned<128>();
    over_aligned_objects_are_aligned<1024>();
    over_aligned_objects_are_aligned<4096>();
    over_aligned_objects_are_aligned<65536>();
    impossible_objects_throw_bad_alloc();
    containers_live_across_threads();
    return 0;
}
