/*
 * SPDX-License-Identifier: MIT
 *
 * C++'s mutexes and condition variables: std::mutex, recursive_mutex, timed_mutex,
 * recursive_timed_mutex, shared use with condition_variable and condition_variable_any, lock of
 * several at once.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);    \
            std::_Exit(1);                                                                         \
        }                                                                                          \
    } while (0)

using namespace std::chrono_literals;

namespace
{
constexpr int threads = 5;
constexpr int rounds = 1500;

template <typename Body> void in_threads(Body body)
{
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back(body);
    for (auto &thread : all)
        thread.join();
}

template <typename Body> void elsewhere(Body body)
{
    std::thread(body).join();
}

template <typename Mutex> void check_exclusion()
{
    Mutex mutex;
    long counted = 0;

    in_threads([&] {
        for (int i = 0; i < rounds; i++) {
            if (i % 2) {
                std::lock_guard<Mutex> guard(mutex);
                counted++;
            } else {
                std::unique_lock<Mutex> guard(mutex, std::defer_lock);
                while (!guard.try_lock())
                    std::this_thread::yield();
                counted++;
            }
        }
    });
    CHECK(counted == long(threads) * rounds);
    mutex.lock();
    elsewhere([&] { CHECK(!mutex.try_lock()); });
    mutex.unlock();
}

template <typename Mutex> void check_timed()
{
    Mutex mutex;

    mutex.lock();
    elsewhere([&] {
        auto begin = std::chrono::steady_clock::now();
        CHECK(!mutex.try_lock_for(3ms));
        CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
        auto until = std::chrono::system_clock::now() + 3ms;
        CHECK(!mutex.try_lock_until(until));
        CHECK(std::chrono::system_clock::now() >= until);
    });
    mutex.unlock();
    elsewhere([&] {
        CHECK(mutex.try_lock_for(1h));
        mutex.unlock();
    });
}

template <typename Mutex> void check_recursion()
{
    Mutex mutex;

    mutex.lock();
    mutex.lock();
    CHECK(mutex.try_lock());
    mutex.unlock();
    mutex.unlock();
    elsewhere([&] { CHECK(!mutex.try_lock()); });
    mutex.unlock();
    elsewhere([&] {
        CHECK(mutex.try_lock());
        mutex.unlock();
    });
}

template <typename Condition, typename Mutex> void check_condition()
{
    Mutex mutex;
    Condition changed;
    std::queue<int> queue;
    long sum = 0;

    std::vector<std::thread> all;
    for (int t = 0; t < 2; t++) {
        all.emplace_back([&] {
            for (int i = 1; i <= rounds; i++) {
                std::unique_lock<Mutex> guard(mutex);
                changed.wait(guard, [&] { return queue.size() < 3; });
                queue.push(i);
                changed.notify_all();
            }
        });
        all.emplace_back([&] {
            for (int i = 1; i <= rounds; i++) {
                std::unique_lock<Mutex> guard(mutex);
                while (!changed.wait_for(guard, 1h, [&] { return !queue.empty(); }))
                    continue;
                sum += queue.front();
                queue.pop();
                changed.notify_all();
            }
        });
    }
    for (auto &thread : all)
        thread.join();
    CHECK(sum == 2L * rounds * (rounds + 1) / 2);

    std::unique_lock<Mutex> guard(mutex);
    auto begin = std::chrono::steady_clock::now();
    CHECK(!changed.wait_for(guard, 3ms, [] { return false; }));
    CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
    elsewhere([&] { CHECK(!mutex.try_lock()); });
}

void check_several_at_once()
{
    std::mutex a, b;
    long counted = 0;

    in_threads([&] {
        for (int i = 0; i < rounds; i++) {
            if (i % 2) {
                std::scoped_lock guard(a, b);
                counted++;
            } else {
                std::scoped_lock guard(b, a);
                counted++;
            }
        }
    });
    CHECK(counted == long(threads) * rounds);
}
} // namespace

int main()
{
    check_exclusion<std::mutex>();
    check_exclusion<std::timed_mutex>();
    check_exclusion<std::recursive_mutex>();
    check_timed<std::timed_mutex>();
    check_timed<std::recursive_timed_mutex>();
    check_recursion<std::recursive_mutex>();
    check_recursion<std::recursive_timed_mutex>();
    check_condition<std::condition_variable, std::mutex>();
    check_condition<std::condition_variable_any, std::timed_mutex>();
    check_several_at_once();
    return 0;
}
