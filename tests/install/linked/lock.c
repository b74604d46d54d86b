/*
 * SPDX-License-Identifier: MIT
 *
 * A program with libtts_lock or libttstle_lock linked in: it locks, and a process-shared mutex and
 * a condition variable are still libc's.
 */
#include <mplace.h>

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int told;

static void *tell(void *unused)
{
    (void)pthread_mutex_lock(&mutex);
    told = 1;
    (void)pthread_cond_signal(&condition);
    (void)pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void)
{
    struct mplace_lock_statistics counts = {0};
    pthread_mutexattr_t attributes;
    pthread_mutex_t shared;
    pthread_t thread;
    int error;

    mplace_lock_statistics_reset();
    for (int i = 0; i < 500; i++) {
        (void)pthread_mutex_lock(&mutex);
        (void)pthread_mutex_unlock(&mutex);
    }
    error = mplace_lock_statistics(&counts, sizeof counts);
    printf("%s %d acquisitions %d\n", mplace_lock_name(), error, (int)counts.acquisitions);

    (void)pthread_mutexattr_init(&attributes);
    (void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    error = pthread_mutex_init(&shared, &attributes);
    error += pthread_mutex_lock(&shared) + pthread_mutex_unlock(&shared);
    (void)pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, tell, NULL) != 0)
        return 1;
    while (!told)
        error += pthread_cond_wait(&condition, &mutex);
    (void)pthread_mutex_unlock(&mutex);
    (void)pthread_join(thread, NULL);
    printf("errors %d\n", error);
    return 0;
}
