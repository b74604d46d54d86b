/*
 * SPDX-License-Identifier: MIT
 *
 * What trace_test.py traces: small programs whose events are known. The first argument is the name
 * of one of them. Each prints where its memory is; what it does there is between two marks.
 */
#include <mplace_trace.h>

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ARENA_BYTES = 65536 };

static uint8_t arena[ARENA_BYTES] __attribute__((aligned(4096)));

static void accesses(void)
{
    mplace_trace_begin();
    __asm__ volatile("movb 1(%0), %%al\n\t"
                     "movw 2(%0), %%ax\n\t"
                     "movl 4(%0), %%ecx\n\t"
                     "addl %%ecx, 4(%0)\n\t"
                     "movq %%rcx, 8(%0)\n\t"
                     "movaps 16(%0), %%xmm0\n\t"
                     "movaps %%xmm0, 32(%0)\n\t"
                     "lock addq $1, 64(%0)\n\t"
                     "xchgl %%ecx, 72(%0)\n\t"
                     "lock cmpxchgw %%cx, 80(%0)\n\t"
                     "lock cmpxchg16b 96(%0)\n\t"
                     :
                     : "r"(arena)
                     : "rax", "rbx", "rcx", "rdx", "xmm0", "cc", "memory");
    mplace_trace_end();
}

static void order(void)
{
    mplace_trace_begin();
    __asm__ volatile("mfence\n\tsfence\n\tlfence\n\t"
                     "clflush 65(%0)\n\t"
                     "clflushopt 128(%0)\n\t"
                     "clwb 192(%0)\n\t"
                     "clwb (%0,%1,8)\n\t"
                     "movnti %%eax, 256(%0)\n\t"
                     "movntps %%xmm0, 272(%0)\n\t"
                     "movntdq %%xmm0, 288(%0)\n\t"
                     "cpuid\n\t"
                     :
                     : "r"(arena), "r"(40L)
                     : "rax", "rbx", "rcx", "rdx", "memory");
    mplace_trace_end();
    if (msync(arena, 8192, MS_SYNC) != 0 || msync(arena, 4096, MS_ASYNC) != 0)
        abort();
}

static void values(void)
{
    mplace_trace_begin();
    __asm__ volatile("movb $0x12, 1(%0)\n\t"
                     "movl $0x12345678, 4(%0)\n\t"
                     "lock addl $2, 4(%0)\n\t"
                     "movq $-1, %%rax\n\t"
                     "movnti %%rax, 8(%0)\n\t"
                     "pcmpeqb %%xmm0, %%xmm0\n\t"
                     "movaps %%xmm0, 16(%0)\n\t"
                     :
                     : "r"(arena)
                     : "rax", "xmm0", "cc", "memory");
    mplace_trace_end();
}

/* A name of free that goes on to free by a jump, as forms of operator delete do. */
void tc_free(void *block);
__asm__(".text\n\t.globl tc_free\n\t.type tc_free, @function\n"
        "tc_free: jmp free@PLT\n\t.size tc_free, . - tc_free\n");

__attribute__((noinline)) static void heap(void)
{
    void *block, *other;

    mplace_trace_begin();
    block = malloc(100);
    other = calloc(3, 5);
    block = realloc(block, 5000);
    free(other);
    free(block);
    if (posix_memalign(&block, 256, 10) != 0)
        abort();
    free(block);
    free(NULL);
    tc_free(malloc(20));
    mplace_trace_end();
}

/* A list through the memory, walked; then as many numbers in a row, summed up. */
static void walks(void)
{
    enum { NODES = 1000 };
    uint64_t sum = 0;

    for (uint64_t i = 0; i < NODES; i++)
        *(void **)(arena + 64 * i) = arena + 64 * ((i + 7) % NODES);
    mplace_trace_begin();
    __asm__ volatile("1: movq (%0), %0\n\t"
                     "decq %1\n\t"
                     "jnz 1b\n\t"
                     : "+r"((void *){arena}), "+r"((uint64_t){NODES})
                     :
                     : "cc", "memory");
    mplace_trace_tx_begin();
    for (volatile int i = 0; i < 100; i++)
        ;
    __asm__ volatile("1: addq -8(%2,%1,8), %0\n\t"
                     "decq %1\n\t"
                     "jnz 1b\n\t"
                     : "+r"(sum), "+r"((uint64_t){NODES})
                     : "r"(arena)
                     : "cc", "memory");
    mplace_trace_end();
}

/* From the root of a tree down to a leaf; each node has a key and two children. */
static void tree(void)
{
    enum { NODES = 1023, WORDS = 8 };
    uint64_t *nodes = (uint64_t *)arena;

    for (uint64_t i = 0; i < NODES; i++) {
        uint64_t *node = &nodes[WORDS * i];
        node[0] = i * i / 3;
        node[1] = 2 * i + 1 < NODES ? (uintptr_t)&nodes[WORDS * (2 * i + 1)] : 0;
        node[2] = 2 * i + 2 < NODES ? (uintptr_t)&nodes[WORDS * (2 * i + 2)] : 0;
    }
    mplace_trace_begin();
    for (const uint64_t *node = nodes; node != NULL;) {
        if (node[0] % 2 == 0)
            node = (const uint64_t *)node[1];
        else
            node = (const uint64_t *)node[2];
        __asm__ volatile("" ::: "memory");
    }
    mplace_trace_end();
}

static void marks(void)
{
    mplace_trace_begin();
    mplace_trace_tx_begin();
    mplace_trace_tx_commit();
    mplace_trace_tx_begin();
    mplace_trace_tx_abort();
    mplace_trace_persistent(arena, 4096);
    mplace_trace_frame(arena, 77);
    mplace_trace_end();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin_lock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int waiting;

static void initialise(void)
{
    free(malloc(333));
}

static void *other_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    waiting = 1;
    while (waiting == 1)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    sem_wait(&semaphore);
    pthread_barrier_wait(&barrier);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin_lock);
    pthread_spin_unlock(&spin_lock);
    pthread_once(&once, initialise);
    return NULL;
}

static void synchronisation(void)
{
    pthread_t thread;

    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_mutex_lock(&mutex);
    while (waiting == 0) {
        pthread_mutex_unlock(&mutex);
        sched_yield();
        pthread_mutex_lock(&mutex);
    }
    waiting = 2;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_once(&once, initialise);
}

static void *nothing(void *unused)
{
    return unused;
}

/* The threads may not have had their first turn when they are waited for. */
static void joins(void)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, nothing, NULL);
    for (int i = 8; i-- > 0;)
        pthread_join(threads[i], NULL);
}

/* Calls that get nothing: a try that fails, waits whose time is over. */
static void vain(void)
{
    const struct timespec past = {0};

    sem_init(&semaphore, 0, 1);
    pthread_mutex_lock(&mutex);
    mplace_trace_begin();
    if (pthread_mutex_trylock(&mutex) != EBUSY ||
        pthread_cond_timedwait(&condition, &mutex, &past) != ETIMEDOUT ||
        pthread_rwlock_tryrdlock(&rwlock) != 0 || pthread_rwlock_trywrlock(&rwlock) != EBUSY ||
        sem_trywait(&semaphore) != 0 || sem_trywait(&semaphore) == 0)
        abort();
    mplace_trace_end();
}

static void *wait_for_word(void *word)
{
    while (__atomic_load_n((int *)word, __ATOMIC_ACQUIRE) == 0)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

static void futexes(void)
{
    int *word = (int *)arena;
    pthread_t thread;

    pthread_create(&thread, NULL, wait_for_word, word);
    usleep(200000);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
}

/* Loads of the memory that the trace must not have where it ended before. */
static void touch(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        ((volatile uint8_t *)arena)[i % 64] = 1;
}

static void forks(void)
{
    int status;

    if (fork() == 0) {
        touch(1000);
        _exit(0);
    }
    wait(&status);
    touch(10);
}

/* By another process: the tool sees to it that its own end is a tidy one. */
static void kills(void)
{
    touch(300000);
    if (fork() == 0) {
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    pause();
}

static void *waits_for_ever(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

/* Beside a thread; and the first time there is no such program. */
static void executes(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, waits_for_ever, NULL);
    touch(5);
    execl("/no/such/program", "none", NULL);
    touch(5);
    execl("/bin/true", "true", NULL);
}

static void many(void)
{
    touch(100000);
    puts("done");
}

static void processors(void)
{
    printf("%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
}

static void *say_processor(void *asked)
{
    cpu_set_t own;
    unsigned told;

    CPU_ZERO(&own);
    CPU_SET((int)(intptr_t)asked, &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0)
        return NULL;
    (void)__rdtscp(&told);
    printf("%d %d %u\n", (int)(intptr_t)asked, sched_getcpu(), told & 0xfff);
    return NULL;
}

/* Each thread: where it wants to be, where libc says that it is, and where RDTSCP. */
static void places(void)
{
    for (intptr_t cpu = 0; cpu < 8; cpu++) {
        pthread_t thread;

        pthread_create(&thread, NULL, say_processor, (void *)cpu);
        pthread_join(thread, NULL);
    }
}

static volatile int present = -1, changes;

static void *race(void *own)
{
    for (int i = 0; i < 20000; i++) {
        if (present != (int)(intptr_t)own) {
            present = (int)(intptr_t)own;
            changes++;
        }
    }
    return NULL;
}

/* Prints how often another thread went on. */
static void races(void)
{
    pthread_t threads[4];

    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, race, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", changes);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {
        {"accesses", accesses}, {"order", order}, {"values", values},
        {"heap", heap},         {"walks", walks}, {"tree", tree},
        {"marks", marks},       {"vain", vain},   {"synchronisation", synchronisation},
        {"futexes", futexes},   {"forks", forks}, {"kills", kills},
        {"executes", executes}, {"many", many},   {"processors", processors},
        {"races", races},       {"joins", joins}, {"places", places},
    };

    printf("%p\n", (void *)arena);
    fflush(stdout);
    for (unsigned i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            return argc > 2 ? atoi(argv[2]) : 0;
        }
    }
    return 99;
}
