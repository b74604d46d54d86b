#!/bin/bash
# SPDX-License-Identifier: MIT
#
# g++ -O2 compiles a file of templates, forty types deep at full size, to the same object as
# without, and the program made of it prints the same: threads over a queue with timed waits,
# recursive and shared mutexes, shared pointers, over-aligned objects, futures and exceptions.
#
# Proof: compiler and linker report allocations (they take no mutex, as gcc.sh says); the program
# reports allocations from operator new and acquisitions from std::mutex and what is built on it.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/compilers.bash"
start "$@"
shows "compiles and links a file of templates; the program, of threads, prints the same" g++-12
need /usr/bin/g++ g++

depth=$(quick_or_full 2 40)
items=$(quick_or_full 2000 30000)

cat >work.cc <<'END'
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

// One type a number: each brings a map, a variant and a function object of its own.
template <int N> struct level {
    std::map<std::tuple<int, std::string, std::integral_constant<int, N>>,
             std::vector<std::shared_ptr<level<N - 1>>>> below;
    std::variant<long, std::string, std::unique_ptr<level<N - 1>>> choice;
    long sum(long start)
    {
        for (int i = 0; i < 3; i++)
            below[{i * N % 5, "level " + std::to_string(N), {}}].push_back(
                std::make_shared<level<N - 1>>());
        if (N % 2) choice = std::to_string(start);
        else choice = std::make_unique<level<N - 1>>();
        std::function<long(long)> mix = [this](long value) {
            return (value * 31 + long(below.size()) + long(choice.index())) % 1000003;
        };
        return below.begin()->second.front()->sum(mix(start));
    }
};
template <> struct level<0> {
    long sum(long start) { return start; }
};

struct alignas(256) wide {
    unsigned char bytes[300];
};

// A queue of a few places; its producer closes it.
class channel {
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::list<std::unique_ptr<std::string>> items;
    bool closed = false;

public:
    void put(std::unique_ptr<std::string> item)
    {
        std::unique_lock lock(mutex);
        not_full.wait(lock, [this] { return items.size() < 8; });
        items.push_back(std::move(item));
        not_empty.notify_one();
    }
    std::unique_ptr<std::string> take()
    {
        std::unique_lock lock(mutex);
        while (!not_empty.wait_for(lock, std::chrono::milliseconds(200),
                                   [this] { return closed || !items.empty(); })) {
        }
        if (items.empty()) return nullptr;
        auto item = std::move(items.front());
        items.pop_front();
        not_full.notify_one();
        return item;
    }
    void close()
    {
        std::lock_guard lock(mutex);
        closed = true;
        not_empty.notify_all();
    }
};

int main(int, char **arguments)
{
    const int items = std::stoi(arguments[1]);
    std::cout << "levels " << level<DEPTH>().sum(1) << '\n';

    channel pipe;
    std::recursive_timed_mutex book_mutex;
    std::shared_timed_mutex wide_mutex;
    std::map<std::string, std::set<int>> book;
    std::vector<std::unique_ptr<wide>> wides;
    long misaligned = 0, thrown = 0;
    std::vector<std::future<long>> workers;
    for (int t = 0; t < 4; t++)
        workers.push_back(std::async(std::launch::async, [&] {
            long taken = 0, seen = 0;
            while (auto item = pipe.take()) {
                taken++;
                try {
                    int number = std::stoi(*item, nullptr, 16);
                    std::unique_lock once(book_mutex, std::chrono::seconds(60));
                    std::lock_guard again(book_mutex);
                    book["bucket " + std::to_string(number % 40)].insert(number);
                } catch (const std::invalid_argument &) {
                    std::lock_guard once(book_mutex);
                    thrown++;
                }
                if (taken % 3 == 0) {
                    auto block = std::make_unique<wide>();
                    std::lock_guard writer(wide_mutex);
                    if (reinterpret_cast<std::uintptr_t>(block.get()) % 256) misaligned++;
                    wides.push_back(std::move(block));
                } else {
                    std::shared_lock reader(wide_mutex);
                    seen += wides.size() > 0;
                }
                std::this_thread::yield();
            }
            return seen < 0 ? 0 : taken;
        }));
    for (int i = 0; i < items; i++) {
        char text[300] = {};
        snprintf(text, 299, i % 97 ? "%x" : "not a number, and long: %0*x", i % 97 ? i : 200, i);
        pipe.put(std::make_unique<std::string>(text));
    }
    pipe.close();
    long taken = 0;
    for (auto &worker : workers) taken += worker.get();
    std::cout << "taken " << taken << ", thrown " << thrown << ", misaligned " << misaligned << '\n';
    for (auto &[name, numbers] : book) {
        long sum = 0;
        for (int number : numbers) sum += number;
        std::cout << name << ' ' << numbers.size() << ' ' << sum << '\n';
    }
}
END

compile() {
    "$@" /usr/bin/g++ -std=c++17 -O2 -pthread -DDEPTH="$depth" -frandom-seed=mplace -c work.cc -o work.o
}
link() { "$@" /usr/bin/g++ -Wl,--build-id=none -pthread work.o -o work; }

same_object_and_program work.o work 0
twice program $((items * 2)) $((items * 2)) ./work "$items"
grep -q "^taken $items, thrown $(((items + 96) / 97)), misaligned 0\$" program-preloaded.output ||
    fail "the program lost items: $(sed -n 2p program-preloaded.output)"
say "g++: an object of $(stat -c %s work.o) bytes as without; its program passed $items items"
