/*
 * SPDX-License-Identifier: MIT
 *
 * A scripted transaction back end with the functions of ttstle_lock/rtm/rtm.h. Begin returns what
 * the script says. A real abort would travel back to the begin; here it lands in the test
 * (FAKE_ABORTS), which then hands the core the status that the hardware would have returned, as the
 * next step of a script. Nothing is rolled back. Every function fails the test when the code under
 * test would have crashed a processor: RTM instructions while htm_usable is false, XEND outside a
 * transaction.
 */
#ifndef MPLACE_FAKE_HTM_H
#define MPLACE_FAKE_HTM_H

#include "ttstle_lock/rtm/htm_status.h"

#include <setjmp.h>
#include <stdbool.h>

extern bool htm_usable;

unsigned htm_begin(void);
void htm_end(void);
bool htm_active(void);
__attribute__((noreturn)) void htm_abort_busy(void);
__attribute__((noreturn)) void htm_abort_physical(void);

/* A transaction this deep aborts at the next begin, as in the processor; the code is then 0. */
enum { FAKE_DEPTH_MOST = 7 };

/* What an XABORT with that code leaves behind. */
#define FAKE_EXPLICIT(code) (HTM_EXPLICIT | (unsigned)(code) << HTM_CODE_SHIFT)

struct fake_step {
    unsigned status;         /* HTM_STARTED or an abort's */
    unsigned times;          /* 0 is once */
    void (*meanwhile)(void); /* run inside htm_begin, as another thread might; NULL for none */
};

enum { FAKE_STEPS_MOST = 8 };

/* Starts the calling thread over: a copy of the given steps, counters at zero, outside any
 * transaction, RTM usable. */
void fake_script(const struct fake_step *steps, unsigned count);

/* All begins after the script's end start transactions. */
#define FAKE_SCRIPT(...)                                                                           \
    do {                                                                                           \
        const struct fake_step steps_[] = {__VA_ARGS__};                                           \
        fake_script(steps_, sizeof steps_ / sizeof steps_[0]);                                     \
    } while (0)

struct fake_record {
    unsigned begins; /* calls of htm_begin, nested ones included */
    unsigned ends;
    unsigned depth;          /* of transactions now open */
    unsigned aborts;         /* by XABORT or for depth */
    unsigned abort_code;     /* of the last */
    unsigned depth_at_abort; /* of the last */
    unsigned pauses;
    unsigned held_at_begin; /* outermost begins at which *watched was not 0 */
    const int *watched;
    void (*when_asked)(void); /* run at the end of htm_active; NULL for none */
};
extern __thread struct fake_record fake;

/* Where an explicit abort lands. */
extern jmp_buf fake_landing;
extern bool fake_abort_expected;

/* Runs the call, which must abort with that code. */
#define FAKE_ABORTS(code, call)                                                                    \
    do {                                                                                           \
        fake_abort_expected = true;                                                                \
        if (setjmp(fake_landing) == 0) {                                                           \
            (void)(call);                                                                          \
            ck_abort_msg("%s did not abort", #call);                                               \
        }                                                                                          \
        fake_abort_expected = false;                                                               \
        ck_assert_uint_eq(fake.abort_code, (code));                                                \
        ck_assert_uint_eq(fake.depth, 0);                                                          \
    } while (0)

#endif
