/*
 * SPDX-License-Identifier: MIT
 *
 * What every form of operator new does when there is no memory: it asks the new-handler, again and
 * again, and where there is none it throws std::bad_alloc, or returns NULL.
 */
#include "expect.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <sys/resource.h>

static volatile std::size_t impossible = PTRDIFF_MAX;
static constexpr std::align_val_t aligned{256};
static int handled;

static void *plain_object()
{
    return ::operator new(impossible);
}
static void *plain_array()
{
    return ::operator new[](impossible);
}
static void *aligned_object()
{
    return ::operator new(impossible, aligned);
}
static void *aligned_array()
{
    return ::operator new[](impossible, aligned);
}
static void *nothrow_object()
{
    return ::operator new(impossible, std::nothrow);
}
static void *nothrow_array()
{
    return ::operator new[](impossible, std::nothrow);
}
static void *aligned_nothrow_object()
{
    return ::operator new(impossible, aligned, std::nothrow);
}
static void *aligned_nothrow_array()
{
    return ::operator new[](impossible, aligned, std::nothrow);
}

static void *(*const throwing[])() = {plain_object, plain_array, aligned_object, aligned_array};
static void *(*const returning[])() = {nothrow_object, nothrow_array, aligned_nothrow_object,
                                       aligned_nothrow_array};

template <typename Exception> static bool throws(void *(*form)())
{
    try {
        (void)form();
    } catch (const Exception &) {
        return true;
    }
    return false;
}

static void without_a_handler_it_throws_or_returns_null()
{
    for (auto form : throwing)
        EXPECT(throws<std::bad_alloc>(form));
    for (auto form : returning)
        EXPECT(form() == nullptr);
}

static void a_handler_is_asked_until_it_is_gone()
{
    auto handler = [] {
        if (++handled == 3)
            std::set_new_handler(nullptr);
    };

    for (auto form : throwing) {
        handled = 0;
        std::set_new_handler(handler);
        EXPECT(throws<std::bad_alloc>(form) && handled == 3);
    }
    for (auto form : returning) {
        handled = 0;
        std::set_new_handler(handler);
        EXPECT(form() == nullptr && handled == 3);
    }
}

static void what_a_handler_throws_goes_through_or_becomes_null()
{
    struct mine : std::bad_alloc {
    };

    std::set_new_handler([] { throw mine(); });
    for (auto form : throwing)
        EXPECT(throws<mine>(form));
    for (auto form : returning)
        EXPECT(form() == nullptr);
    std::set_new_handler(nullptr);
}

static void what_a_handler_frees_is_given_out()
{
    static void *reserve;
    std::vector<void *> blocks;

    blocks.reserve(10000);
    reserve = ::operator new(32 << 20);
    handled = 0;
    std::set_new_handler([] {
        handled++;
        ::operator delete(reserve);
        std::set_new_handler(nullptr);
    });
    while (handled == 0)
        blocks.push_back(::operator new(4 << 20));
    EXPECT(blocks.back() != nullptr && blocks.size() > 1);
    for (void *block : blocks)
        ::operator delete(block);
}

static void the_last_small_object_throws()
{
    struct node {
        node *next;
        char bytes[40];
    };
    node *list = nullptr;
    std::size_t count = 0;

    try {
        for (;; count++)
            list = new node{list, {}};
    } catch (const std::bad_alloc &) {
    }
    EXPECT(count > 100000 && ::operator new(sizeof *list, std::nothrow) == nullptr);
    while (list != nullptr) {
        node *next = list->next;

        delete list;
        list = next;
    }
    ::operator delete(::operator new(sizeof *list));
}

int main()
{
    struct rlimit limit;

    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = 300 << 20;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    the_last_small_object_throws(); /* first: nothing has been thrown or looked up yet */
    what_a_handler_frees_is_given_out();
    without_a_handler_it_throws_or_returns_null();
    a_handler_is_asked_until_it_is_gone();
    what_a_handler_throws_goes_through_or_becomes_null();
    return 0;
}
