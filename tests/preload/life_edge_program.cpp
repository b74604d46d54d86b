/*
 * SPDX-License-Identifier: MIT
 *
 * Before the first constructor of ours and after the last destructor. The program is linked with
 * life_edge.c's library, which the loader initialises before all preloaded ones and ends after
 * them, and has objects of its own that live from before main to after it, and in threads.
 * life_edge_test.sh looks whether that was the order.
 */
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

extern "C" int life_edge_chosen();
extern "C" int life_edge_uses();

namespace
{
std::mutex mutex;

class table
{
  public:
    table()
    {
        for (int i = 0; i < 300; i++)
            add(i);
    }

    /* Runs when main has returned, or when the thread ends. */
    ~table()
    {
        for (int i = 300; i < 400; i++)
            add(i);
        for (const auto &entry : entries)
            if (entry.second != std::string(static_cast<std::size_t>(entry.first), 'x'))
                _exit(1);
    }

    void add(int number)
    {
        const std::lock_guard<std::mutex> guard(mutex);
        entries[number] = std::string(static_cast<std::size_t>(number), 'x');
    }

  private:
    std::map<int, std::string> entries;
};

table of_the_process;
thread_local table of_the_thread;
} // namespace

int main()
{
    if (life_edge_uses() != 1 || life_edge_chosen() != 1)
        return 1;
    of_the_thread.add(1000);
    std::thread other([] { of_the_thread.add(1001); });
    other.join();
    of_the_process.add(1002);
    return 5; /* what a destructor cannot return by accident */
}
