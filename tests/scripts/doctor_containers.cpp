/*
 * SPDX-License-Identifier: MIT
 *
 * Nodes of a standard container: what allocates them is the library's code, in headers; what a
 * reader looks for is the line of the program.
 */
#include <list>

struct payload {
    long value;
    char rest[472]; /* with the two links 496: 512 with what glibc adds */
};

static __attribute__((noinline)) void fill(std::list<payload> &list)
{
    for (int i = 0; i < 128; i++)
        list.push_back(payload()); // here is what the doctor has to name
}

int main()
{
    std::list<payload> list;

    fill(list);
    for (int i = 0; i < 300; i++) {
        for (payload &one : list)
            one.value++;
    }
}
