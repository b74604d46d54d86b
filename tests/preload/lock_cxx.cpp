/*
 * SPDX-License-Identifier: MIT
 *
 * C++'s mutexes and condition variables: std::mutex, recursive_mutex, timed_mutex,
 * recursive_timed_mutex, use with condition_variable and condition_variable_any, lock of several at
 * once, of several types too, and call_once and the shared mutexes beside them.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <stdexcept>
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
/* lock() locks one and tries the others: trylock inside a section, of each type, in any order. */
void check_several_types_at_once()
{
    std::mutex a;
    std::timed_mutex b;
    std::recursive_mutex c;
    long counted = 0;

    in_threads([&] {
        for (int i = 0; i < rounds; i++) {
            if (i % 2) {
                std::scoped_lock guard(a, b, c);
                counted++;
            } else {
                std::lock(c, b, a);
                counted++;
                c.unlock(); /* not the last one locked first */
                a.unlock();
                b.unlock();
            }
        }
    });
    CHECK(counted == long(threads) * rounds);
    std::lock_guard guard(b);
    elsewhere([&] { CHECK(std::try_lock(a, b, c) == 1); });
    elsewhere([&] {
        CHECK(a.try_lock() && c.try_lock());
        a.unlock();
        c.unlock();
    });
}

/* The winner runs inside a section, throws once, and waits for another thread in between. */
void check_call_once()
{
    for (int i = 0; i < 20; i++) {
        std::once_flag flag;
        std::mutex mutex;
        int called = 0, thrown = 0;

        in_threads([&] {
            try {
                std::call_once(flag, [&] {
                    std::lock_guard guard(mutex);
                    if (called++ == 0)
                        throw std::runtime_error("not yet");
                });
            } catch (const std::runtime_error &) {
                std::lock_guard guard(mutex);
                thrown++;
            }
        });
        CHECK(called == 2 && thrown == 1);
    }
}

/* Not mutexes of ours: their place beside them is what is tested. */
template <typename Shared> void check_shared()
{
    Shared shared;
    std::mutex mutex;
    long written = 0, read = 0;

    in_threads([&] {
        for (int i = 0; i < rounds; i++) {
            if (i % 4 == 0) {
                std::unique_lock<Shared> guard(shared);
                written++;
            } else {
                std::shared_lock<Shared> guard(shared);
                std::lock_guard also(mutex);
                read += written >= 0;
            }
        }
    });
    CHECK(written == long(threads) * ((rounds + 3) / 4));
    CHECK(written + read == long(threads) * rounds);
}

/* notify_all_at_thread_exit unlocks from a destructor of the thread's storage. */
void check_notice_at_thread_exit()
{
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;

    std::thread thread([&] {
        std::unique_lock<std::mutex> guard(mutex);
        done = true;
        std::notify_all_at_thread_exit(changed, std::move(guard));
    });
    {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [&] { return done; });
    }
    thread.join();
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
    check_exclusion<std::recursive_timed_mutex>();
    check_condition<std::condition_variable_any, std::timed_mutex>();
    check_condition<std::condition_variable_any, std::recursive_mutex>();
    check_condition<std::condition_variable_any, std::mutex>();
    check_several_at_once();
    check_several_types_at_once();
    check_call_once();
    check_shared<std::shared_mutex>();
    check_shared<std::shared_timed_mutex>();
    check_notice_at_thread_exit();
    return 0;
}
