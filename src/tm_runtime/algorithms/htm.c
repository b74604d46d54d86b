/*
 * SPDX-License-Identifier: MIT
 *
 * See htm.h. Hardware and software transactions never run at the same time: the first read the
 * number of the second (gate.running), abort if it is not zero, and are aborted by the processor
 * when it changes. A phased hybrid: Lev, Moir, Nussbaum, "PhTM", TRANSACT 2007.
 *
 * Limitation: one transaction in software keeps all others out of hardware as long as it runs.
 */
#include "tm_runtime/algorithms/htm.h"

#include "base/spin.h"
#include "tm_runtime/abi/itm.h"
#include "tm_runtime/gate.h"
#include "tm_runtime/statistics/statistics.h"
#include "ttstle_lock/rtm/rtm.h"

enum { ATTEMPTS = 4, BUSY_LOOKS = 1000 };

bool htm_usable;

static enum tm_cause cause_of(unsigned status)
{
    if (status & HTM_EXPLICIT)
        return htm_code_of(status) == HTM_CODE_BUSY ? TM_HARDWARE_BUSY : TM_HARDWARE_OTHER;
    if (status & HTM_CAPACITY)
        return TM_HARDWARE_CAPACITY;
    return status & HTM_CONFLICT ? TM_HARDWARE_CONFLICT : TM_HARDWARE_OTHER;
}

static bool software_runs(void)
{
    return __atomic_load_n(&gate.running, __ATOMIC_RELAXED) != 0 ||
           (__atomic_load_n(&gate.word, __ATOMIC_RELAXED) & GATE_STOPS) != 0;
}

/* Whether trying again may help; waits for software to end if that was the reason. */
static bool may_retry(unsigned status)
{
    if (!(status & HTM_EXPLICIT))
        return (status & (HTM_RETRY | HTM_CONFLICT)) != 0 && !(status & HTM_CAPACITY);
    if (htm_code_of(status) != HTM_CODE_BUSY)
        return false;
    for (int look = 0; look < BUSY_LOOKS && software_runs(); look++)
        spin_pause();
    return true;
}

uint32_t htm_try_begin(struct tm_thread *self, uint32_t properties,
                       const struct tm_registers *registers)
{
    const uint32_t needed = ITM_NO_ABORT | ITM_UNINSTRUMENTED;
    bool fits = (properties & needed) == needed && !(properties & ITM_GOES_IRREVOCABLE);

    if (self->hardware_depth != 0) {
        if (!fits)
            htm_abort_for_software();
        self->hardware_depth++;
        return ITM_RUN_UNINSTRUMENTED;
    }
    if (!fits || self->nesting != 0 || !htm_usable)
        return 0;
    statistics_find_row(self, (void *)registers->rip);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        unsigned status = htm_begin();

        if (status == HTM_STARTED) {
            if (software_runs())
                htm_abort_busy();
            self->hardware_depth = 1;
            return ITM_RUN_UNINSTRUMENTED;
        }
        statistics_count_abort(self, cause_of(status));
        if (!may_retry(status))
            break;
    }
    return 0;
}

void htm_commit(struct tm_thread *self)
{
    if (--self->hardware_depth != 0)
        return;
    htm_end();
    statistics_count_hardware_commit(self);
}

void htm_abort_for_software(void)
{
    htm_abort_physical();
}
