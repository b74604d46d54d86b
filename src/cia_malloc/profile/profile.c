/*
 * SPDX-License-Identifier: MIT
 *
 * Which allocations are sampled, what is kept of them, and when the file is written; see profile.h.
 */
#include "cia_malloc/profile/profile.h"

#include "base/exit_report.h"
#include "base/random.h"
#include "base/settings.h"
#include "base/system_call.h"
#include "cia_malloc/cpu_cache/magazine.h"
#include "cia_malloc/heap/block.h"
#include "cia_malloc/pages/allocator_mode.h"
#include "cia_malloc/profile/dump.h"
#include "cia_malloc/profile/sites.h"
#include "cia_malloc/profile/weight.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

_Thread_local struct profile_thread profile_thread;

static uint64_t interval, seed;
static atomic_bool started; /* released after the settings */
static _Atomic uint64_t threads, lost;

/* ---- samples ---- */

/* While a sample is taken nothing else of the thread is: a signal handler does not allocate so many
   bytes. */
static const uint64_t NEVER = (uint64_t)1 << 40;

static void draw(void)
{
    profile_thread.countdown = weight_draw(&profile_thread.random, interval);
}

static void begin_thread(void)
{
    uint64_t state = seed + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);

    profile_thread.random = random_next(&state) | 1;
    draw();
}

bool profile_is_due(size_t bytes)
{
    if (!atomic_load_explicit(&started, memory_order_acquire)) {
        profile_thread.countdown = 0;
        return false;
    }
    if (profile_thread.random == 0) {
        begin_thread();
        if (profile_thread.countdown > bytes) {
            profile_thread.countdown -= bytes + 1;
            return false;
        }
    }
    /* The child of a vfork may be killed at any moment, in the parent's memory. */
    if (magazine_thread_is_vforked()) {
        draw();
        return false;
    }
    profile_thread.countdown = NEVER;
    return true;
}

/* What a block of the program's takes: its class, or whole pages. */
static size_t class_bytes_of(const void *block, size_t bytes)
{
    const struct page_info *info = page_map_find(block);

    if (info->size_class < CLASS_LARGE)
        return size_class_bytes(info->size_class);
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static bool record(void *block, size_t bytes, const void *frame)
{
    uint32_t colour = (uint32_t)((uintptr_t)block >> LINE_SHIFT) & (colours - 1);
    struct page_info *info = page_map_find(block);
    struct sample sample = {
        .site = site_of_call(frame, class_bytes_of(block, bytes), colour),
        .bytes = bytes,
        .hidden = page_info_starts_line(info, block),
    };

    if (sample.site == NULL || !sampled_add(block, &sample))
        return false;
    site_add(&sample.site->allocated, 1, bytes, interval);
    if (sample.hidden)
        page_info_mark_start(info, block, false);
    return true;
}

void profile_record(void *block, size_t bytes, const void *frame)
{
    int saved_errno = errno;

    if (block != NULL && !record(block, bytes, frame))
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    draw();
    errno = saved_errno;
}

bool profile_forget(void *block, struct sample *forgotten)
{
    if (!sampled_take(block, forgotten))
        return false;
    if (forgotten->hidden)
        page_info_mark_start(page_map_find(block), block, true);
    site_add(&forgotten->site->freed, 1, forgotten->bytes, interval);
    return true;
}

void profile_put_back(void *block, const struct sample *forgotten)
{
    if (sampled_add(block, forgotten))
        site_add(&forgotten->site->freed, -1, forgotten->bytes, interval);
}

/* ---- files ---- */

/* The child of a raw clone or _Fork, in which no handler runs, is told by its id; that of a fork by
   a handler, for in a PID namespace of its own it may have its parent's id. */
static pid_t first_process; /* written before there are samples */
static bool is_child;       /* written where there is one thread */

/* Who runs dump_write: 0: nobody; or a process that this one was forked from, in whose memory it
   goes on. Claimed by compare-and-swap (acquire), released. */
static _Atomic pid_t writer;

static struct exit_report plan;

static bool claim_writer(void)
{
    pid_t holder = atomic_load_explicit(&writer, memory_order_relaxed), self = getpid();

    return holder != self &&
           atomic_compare_exchange_strong_explicit(&writer, &holder, self, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* serial: 0: the file that was asked for; else a number behind its name. */
static void write_file(uint64_t serial)
{
    static struct exit_report named;
    struct dump_facts facts = {interval, seed, atomic_load_explicit(&lost, memory_order_relaxed)};
    struct report report;

    report_open(&report, -1);
    report_format(&report, "%s", plan.value);
    if ((is_child || getpid() != first_process) && strstr(plan.value, "%p") == NULL)
        report_format(&report, ".%d", getpid());
    if (serial > 0)
        report_format(&report, ".%lu", serial);
    named = plan;
    if (report.length < sizeof named.value)
        memcpy(named.value, report.text, report.length);
    if (!exit_report_open(&named, &report))
        return;
    bool written = dump_write(report.fd, &facts);
    report_close(&report);
    if (!written)
        report_line("mplace: %s=%s: the profile could not be written in full", plan.setting,
                    named.value);
}

/* errno is preserved. Not in the child of a vfork, which would take it from its parent. False where
   another thread writes one. */
static bool write_if_free(uint64_t serial)
{
    int saved_errno = errno;

    if (!magazine_thread_is_vforked()) {
        if (!claim_writer())
            return false;
        write_file(serial);
        atomic_store_explicit(&writer, 0, memory_order_release);
    }
    errno = saved_errno;
    return true;
}

/* Waits while another thread's profile makes progress. The wait has an end, for the writer may be
   this thread, below a signal handler that ends the process. */
static bool write_when_free(void)
{
    enum { TRIES = 2000 };
    static const struct timespec pause = {.tv_nsec = 1000 * 1000};
    uint64_t progress = dump_progress();

    for (int tries = 0; tries < TRIES; tries++) {
        if (write_if_free(0))
            return true;
        (void)system_call(SYS_nanosleep, (long)&pause, NULL, 0);
        if (dump_progress() != progress) {
            progress = dump_progress();
            tries = 0;
        }
    }
    return false;
}

/* One that comes while a file is written is not another one. */
static void on_signal(int number)
{
    static _Atomic uint64_t serial;

    (void)number;
    (void)write_if_free(atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) + 1);
}

static void install_handler(void)
{
    static const char *const names[] = {"none", "HUP", "USR1", "USR2"};
    static const int numbers[] = {0, SIGHUP, SIGUSR1, SIGUSR2};
    int number = numbers[setting_choice("CIA_PROFILE_SIGNAL", names, 4, 0)];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};

    if (number == 0)
        return;
    sigfillset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

static void after_fork_in_child(void)
{
    is_child = true;
    atomic_store_explicit(&writer, 0, memory_order_relaxed);
}

void profile_start(void)
{
    const char *value = setting_text("CIA_PROFILE");

    if (!profile_is_on()) {
        if (value != NULL && profile_setting() == NULL && strcmp(value, "1") == 0)
            setting_complain("CIA_PROFILE", value, "the name of a file; 0: none");
        else if (profile_setting() != NULL)
            report_line("mplace: CIA_PROFILE=%s has no effect with CIA_HARDEN=1", value);
        return;
    }
    exit_report_plan(&plan, "CIA_PROFILE");
    if (!exit_report_wanted(&plan))
        return;
    interval = setting_number("CIA_PROFILE_INTERVAL", 1, (uint64_t)1 << 40, 512 << 10);
    first_process = getpid();
    seed = setting_number("CIA_PROFILE_SEED", 0, INT64_MAX, (uint64_t)first_process);
    sites_start();
    install_handler();
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
    atomic_store_explicit(&started, true, memory_order_release);
}

__attribute__((destructor)) static void write_at_exit(void)
{
    if (atomic_load_explicit(&started, memory_order_acquire) && !write_when_free())
        report_line("mplace: CIA_PROFILE=%s: not written, for another one is being written",
                    plan.value);
}
