// SPDX-License-Identifier: MIT
//
// C++ exceptions that leave sections: the guards' destructors unlock on the way, nested or not, and
// what the sections did before the throw stays done.
// mplace.h names a function like the struct that it fills, as stat() does; C++ sees a shadow.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "elision_check.h"
#pragma GCC diagnostic pop

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int kLevels = 10, kThreads = 3, kRounds = 100;

std::mutex levels[kLevels];
long entered[kLevels], left[kLevels];

struct Counter {
    long &count;
    ~Counter()
    {
        count++;
    }
};

void descend(int level, int throwing_level)
{
    const std::lock_guard<std::mutex> guard(levels[level]);
    const Counter counter{left[level]};
    entered[level]++;
    if (level == throwing_level)
        throw std::runtime_error("level " + std::to_string(level));
    if (level + 1 < kLevels)
        descend(level + 1, throwing_level);
}

void sections_left_by_exceptions_are_left()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < kThreads; i++)
        threads.emplace_back([i] {
            for (int round = 0; round < kRounds; round++) {
                const int level = (round + i) % (kLevels + 1); // one more: no throw
                bool caught = false;
                try {
                    descend(0, level);
                } catch (const std::runtime_error &error) {
                    caught = error.what() == "level " + std::to_string(level);
                }
                CHECK_EQUAL(caught, level < kLevels);
            }
        });
    for (auto &thread : threads)
        thread.join();
    for (int level = 0; level < kLevels; level++) {
        CHECK_EQUAL(entered[level], left[level]);
        CHECK(levels[level].try_lock());
        levels[level].unlock();
    }
    CHECK_EQUAL(entered[0], kThreads * kRounds);
}

void an_exception_caught_inside_a_section_leaves_it_whole()
{
    std::mutex mutex;
    long sections = 0;

    for (int i = 0; i < 100; i++) {
        const std::scoped_lock guard(mutex, levels[1]);
        try {
            sections++;
            throw i;
        } catch (int thrown) {
            CHECK_EQUAL(thrown, i);
        }
        CHECK(!mutex.try_lock());
    }
    CHECK_EQUAL(sections, 100);
}

void sections_without_exceptions_are_elided()
{
    std::mutex mutex;
    long sections = 0;

    start_counting();
    for (int i = 0; i < 100; i++) {
        const std::lock_guard<std::mutex> guard(mutex);
        sections++;
    }
    CHECK_EQUAL(sections, 100);
    CHECK_ELIDED(90);
}

} // namespace

int main()
{
    sections_left_by_exceptions_are_left();
    an_exception_caught_inside_a_section_leaves_it_whole();
    sections_without_exceptions_are_elided();
    return 0;
}
