/*
 * SPDX-License-Identifier: MIT
 *
 * C++'s shared mutexes, which are rwlocks by another name: readers share, a writer is alone, timed
 * ones give up, and what it throws for a deadlock is thrown through.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <vector>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);    \
            std::_Exit(1);                                                                         \
        }                                                                                          \
    } while (0)

namespace
{

using namespace std::chrono_literals;

template <typename Action> void elsewhere(Action action)
{
    std::thread(action).join();
}

template <typename Mutex> void readers_share_and_a_writer_is_alone()
{
    Mutex mutex;

    {
        std::shared_lock reader(mutex);
        elsewhere([&] { CHECK(std::shared_lock(mutex, std::try_to_lock)); });
        elsewhere([&] { CHECK(!std::unique_lock(mutex, std::try_to_lock)); });
    }
    {
        std::unique_lock writer(mutex);
        elsewhere([&] { CHECK(!std::shared_lock(mutex, std::try_to_lock)); });
        elsewhere([&] { CHECK(!std::unique_lock(mutex, std::try_to_lock)); });
    }
    CHECK(std::unique_lock(mutex, std::try_to_lock));
}

template <typename Mutex> void no_reader_sees_half_a_change()
{
    enum { THREADS = 4, ROUNDS = 2000 };
    Mutex mutex;
    long left = 0, right = 0;
    std::vector<std::thread> threads;

    for (int number = 0; number < THREADS; number++) {
        threads.emplace_back([&, number] {
            for (int round = 0; round < ROUNDS; round++) {
                if ((round + number) % 4 == 0) {
                    std::unique_lock writer(mutex);
                    left++;
                    right++;
                } else {
                    std::shared_lock reader(mutex);
                    CHECK(left == right);
                }
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    CHECK(left == THREADS * ROUNDS / 4 && right == left);
}

void a_timed_mutex_gives_up()
{
    std::shared_timed_mutex mutex;
    std::unique_lock writer(mutex);

    elsewhere([&] {
        auto before = std::chrono::steady_clock::now();
        CHECK(!mutex.try_lock_shared_for(20ms));
        CHECK(!mutex.try_lock_for(20ms));
        CHECK(std::chrono::steady_clock::now() - before >= 40ms);
        CHECK(!mutex.try_lock_shared_until(std::chrono::system_clock::now() - 1s));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() - 1s));
    });
    writer.unlock();
    elsewhere([&] {
        CHECK(mutex.try_lock_shared_for(20ms));
        mutex.unlock_shared();
        CHECK(mutex.try_lock_until(std::chrono::steady_clock::now() - 1s));
        mutex.unlock();
    });
}

void the_writer_is_told_of_its_deadlock()
{
    std::shared_mutex mutex;
    bool told = false;

    mutex.lock();
    try {
        mutex.lock_shared();
    } catch (const std::system_error &error) {
        told = error.code() == std::errc::resource_deadlock_would_occur;
    }
    mutex.unlock();
    CHECK(told);
    CHECK(mutex.try_lock());
    mutex.unlock();
}

} // namespace

int main()
{
    readers_share_and_a_writer_is_alone<std::shared_mutex>();
    readers_share_and_a_writer_is_alone<std::shared_timed_mutex>();
    no_reader_sees_half_a_change<std::shared_mutex>();
    no_reader_sees_half_a_change<std::shared_timed_mutex>();
    a_timed_mutex_gives_up();
    the_writer_is_told_of_its_deadlock();
    return 0;
}
