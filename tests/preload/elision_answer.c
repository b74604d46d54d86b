/*
 * SPDX-License-Identifier: MIT
 *
 * A section that posts a flag and polls, inside, for another thread's answer. As a transaction it
 * cannot end: the other's look at the flag aborts it. Under a policy that bounds the aborts in a
 * row it ends all the same, and threads with sections of their own get on meanwhile. Argument: the
 * conflicts that the polling section must have had where it was tried elided.
 */
#include "elision_check.h"

enum { BYSTANDERS = 1, SECTIONS = 300, LINE = 64 };

static pthread_mutex_t polling = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int value __attribute__((aligned(LINE)));
} asked, answer;

static struct {
    pthread_mutex_t mutex;
    long sections;
} common __attribute__((aligned(LINE))) = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *answer_when_asked(void *argument)
{
    while (!__atomic_load_n(&asked.value, __ATOMIC_ACQUIRE))
        work(20);
    raise_flag(&answer.value);
    return argument;
}

/* Stays until the end: what the kernel takes back of a thread that ends aborts others, too. */
static void *work_beside(void *argument)
{
    for (int i = 0; i < SECTIONS; i++) {
        CHECK_EQUAL(pthread_mutex_lock(&common.mutex), 0);
        common.sections++;
        CHECK_EQUAL(pthread_mutex_unlock(&common.mutex), 0);
    }
    while (!__atomic_load_n(&answer.value, __ATOMIC_ACQUIRE))
        work(20);
    return argument;
}

static uint64_t conflicts(void)
{
    struct mplace_lock_statistics counts;
    int (*statistics)(struct mplace_lock_statistics *, size_t) =
        (int (*)(struct mplace_lock_statistics *, size_t))dlsym(RTLD_DEFAULT,
                                                                "mplace_lock_statistics");

    CHECK_EQUAL(statistics(&counts, sizeof counts), 0);
    return counts.abort_conflict;
}

int main(int argument_count, char **arguments)
{
    uint64_t least = argument_count > 1 ? strtoull(arguments[1], NULL, 0) : 0;
    pthread_t answerer = start_thread(answer_when_asked, NULL), bystanders[BYSTANDERS];

    start_counting();
    for (int i = 0; i < BYSTANDERS; i++)
        bystanders[i] = start_thread(work_beside, NULL);
    CHECK_EQUAL(pthread_mutex_lock(&polling), 0);
    __atomic_store_n(&asked.value, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&answer.value, __ATOMIC_ACQUIRE))
        work(20);
    CHECK_EQUAL(pthread_mutex_unlock(&polling), 0);
    end_thread(answerer);
    for (int i = 0; i < BYSTANDERS; i++)
        end_thread(bystanders[i]);
    CHECK_EQUAL(common.sections, BYSTANDERS * SECTIONS);
    if (elides())
        CHECK(conflicts() >= least);
    return 0;
}
