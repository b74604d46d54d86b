/*
 * SPDX-License-Identifier: MIT
 *
 * The scripted back end; see mutex_fake_htm.h.
 */
#include "mutex_fake_htm.h"
#include "mutex_fake_pause.h"

#include <check.h>
#include <sched.h>
#include <stddef.h>

#undef sched_yield /* the real one is meant below */

bool htm_usable;
__thread struct fake_record fake;
jmp_buf fake_landing;
bool fake_abort_expected;

static __thread struct fake_step script[FAKE_STEPS_MOST];
static __thread unsigned script_length, script_at, script_repeated;

void fake_script(const struct fake_step *steps, unsigned count)
{
    ck_assert_uint_le(count, FAKE_STEPS_MOST);
    for (unsigned i = 0; i < count; i++)
        script[i] = steps[i];
    script_length = count;
    script_at = 0;
    script_repeated = 0;
    fake = (struct fake_record){.begins = 0};
    fake_abort_expected = false;
    htm_usable = true;
}

static unsigned next_status(void)
{
    if (script_at == script_length)
        return HTM_STARTED;

    const struct fake_step *step = &script[script_at];
    if (++script_repeated >= step->times) {
        script_at++;
        script_repeated = 0;
    }
    if (step->meanwhile != NULL)
        step->meanwhile();
    return step->status;
}

static __attribute__((noreturn)) void land(unsigned code)
{
    ck_assert_msg(fake_abort_expected, "the transaction was aborted with code %#x", code);
    fake.aborts++;
    fake.abort_code = code;
    fake.depth_at_abort = fake.depth;
    fake.depth = 0;
    longjmp(fake_landing, 1);
}

unsigned htm_begin(void)
{
    ck_assert_msg(htm_usable, "XBEGIN on a processor without RTM");
    fake.begins++;
    if (fake.depth == FAKE_DEPTH_MOST)
        land(0);
    if (fake.depth == 0 && fake.watched != NULL &&
        __atomic_load_n(fake.watched, __ATOMIC_RELAXED) != 0)
        fake.held_at_begin++;
    unsigned status = next_status();
    if (status == HTM_STARTED)
        fake.depth++;
    else
        fake.depth = 0;
    return status;
}

void htm_end(void)
{
    ck_assert_msg(htm_usable, "XEND on a processor without RTM");
    ck_assert_msg(fake.depth > 0, "XEND outside a transaction: a general protection fault");
    fake.ends++;
    fake.depth--;
}

bool htm_active(void)
{
    ck_assert_msg(htm_usable, "XTEST on a processor without RTM");
    if (fake.when_asked != NULL)
        fake.when_asked();
    return fake.depth > 0;
}

static __attribute__((noreturn)) void explicit_abort(unsigned code)
{
    ck_assert_msg(htm_usable, "XABORT on a processor without RTM");
    /* Outside a transaction XABORT does nothing, and the code behind it would run on. */
    ck_assert_msg(fake.depth > 0, "XABORT outside a transaction");
    land(code);
}

void htm_abort_busy(void)
{
    explicit_abort(HTM_CODE_BUSY);
}

void htm_abort_physical(void)
{
    explicit_abort(HTM_CODE_PHYSICAL);
}

void fake_pause(void)
{
    ck_assert_msg(fake.depth == 0, "PAUSE inside a transaction");
    fake.pauses++;
}

int fake_yield(void)
{
    ck_assert_msg(fake.depth == 0, "a system call inside a transaction");
    return sched_yield();
}
