/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See options.h.
 */
#include "rtmgrind/common/options.h"

#include "program_calls/core_internals.h"

struct options options = {
    .rtm = True,
    .l1d = {0, 0, 0},             /* this host's, found out below */
    .l2 = {1024, 20, LINE_BYTES}, /* Ice Lake-SP */
    .replacement = CACHE_MODEL_LRU,
    .first_touch = True,
    .seed = 1,
    .switch_inside = 20,
    .switch_outside = 5000,
    .heap = True,
    .top = 5,
};

/* How the geometry is told: CPUID leaf 4 of Intel and leaf 0x8000001D of AMD look alike. */
static Bool ask_host(UInt leaf, struct cache_model_geometry *geometry)
{
    enum { TYPE_DATA = 1, TYPE_NONE = 0 };

    for (UInt index = 0; index < 8; index++) {
        UInt eax = leaf, ebx, ecx = index, edx;
        __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
        if ((eax & 31) == TYPE_NONE)
            return False;
        if ((eax & 31) == TYPE_DATA && (eax >> 5 & 7) == 1) {
            geometry->sets = ecx + 1;
            geometry->ways = (ebx >> 22) + 1;
            geometry->line = (ebx & 0xfff) + 1;
            return True;
        }
    }
    return False;
}

static UInt most_leaf(UInt first)
{
    UInt eax = first, ebx, ecx = 0, edx;

    __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return eax;
}

static void host_l1d(struct cache_model_geometry *geometry)
{
    enum { LEAF_INTEL = 4 };
    const UInt leaf_amd = 0x8000001d;

    if (most_leaf(0x80000000) >= leaf_amd && ask_host(leaf_amd, geometry))
        return;
    if (most_leaf(0) >= LEAF_INTEL && ask_host(LEAF_INTEL, geometry))
        return;
    *geometry = (struct cache_model_geometry){64, 8, LINE_BYTES};
}

static Int host_cpus(void)
{
    ULong mask[16] = {0};
    Int count = 0;
    SysRes got =
        VG_(do_syscall)(__NR_sched_getaffinity, 0, sizeof mask, (UWord)mask, 0, 0, 0, 0, 0);

    if (sr_isError(got))
        return 1;
    for (UInt i = 0; i < 16; i++)
        count += __builtin_popcountll(mask[i]);
    return count;
}

void options_init(void)
{
    /* Programs size tables by the number of processors that they see, which is the host's. Fewer
     * than four would hardly show what threads do to each other. */
    Int cpus = host_cpus();

    processor_settings.cpus = cpus < 4 ? 4 : cpus > CPUS_MOST ? CPUS_MOST : cpus;
    host_l1d(&options.l1d);
}

/* These end the process with a message if the value is none. */
static void read_geometry(const HChar *argument, const HChar *text,
                          struct cache_model_geometry *geometry)
{
    if (!cache_model_parse(text, geometry))
        VG_(fmsg_bad_option)(argument, "'%s' is not SETSxWAYS, for instance 64x12\n", text);
    if (geometry->line != LINE_BYTES)
        VG_(fmsg_bad_option)(argument, "lines have %d bytes, not %u\n", LINE_BYTES, geometry->line);
}

static void read_replacement(const HChar *argument, const HChar *text)
{
    if (VG_(strcmp)(text, "lru") == 0)
        options.replacement = CACHE_MODEL_LRU;
    else if (VG_(strcmp)(text, "tree") == 0)
        options.replacement = CACHE_MODEL_TREE_LRU;
    else
        VG_(fmsg_bad_option)(argument, "'%s' is not lru or tree\n", text);
}

/* VG_INT_CLO takes nothing for 0, and what has more than 64 bits modulo 2^64. */
static void read_seed(const HChar *argument, const HChar *text)
{
    Bool minus = text[0] == '-';
    ULong most = minus ? 1ULL << 63 : (1ULL << 63) - 1, seed = 0;
    const HChar *at = minus ? text + 1 : text;
    Bool good = *at != '\0';

    for (; good && *at != '\0'; at++) {
        UInt digit = (UInt)(*at - '0');

        good = digit <= 9 && seed <= (most - digit) / 10;
        seed = 10 * seed + digit;
    }
    if (!good)
        VG_(fmsg_bad_option)(argument, "'%s' is not a number of 64 bits\n", text);
    options.seed = (Long)(minus ? -seed : seed);
}

Bool options_parse(const HChar *argument)
{
    const HChar *text;

    if (VG_BOOL_CLO(argument, "--rtm", options.rtm)) {
    } else if (VG_STR_CLO(argument, "--l1d", text)) {
        read_geometry(argument, text, &options.l1d);
    } else if (VG_STR_CLO(argument, "--l2", text)) {
        read_geometry(argument, text, &options.l2);
    } else if (VG_STR_CLO(argument, "--replacement", text)) {
        read_replacement(argument, text);
    } else if (VG_BINT_CLO(argument, "--read-lines", options.read_lines, 0, 1 << 30)) {
    } else if (VG_BOOL_CLO(argument, "--first-touch", options.first_touch)) {
    } else if (VG_BINT_CLO(argument, "--interrupt-rate", options.interrupt_rate, 0, 1 << 30)) {
    } else if (VG_STR_CLO(argument, "--seed", text)) {
        read_seed(argument, text);
    } else if (VG_BINT_CLO(argument, "--cpus", processor_settings.cpus, 1, CPUS_MOST)) {
    } else if (VG_BINT_CLO(argument, "--switch-inside", options.switch_inside, 1, 1 << 20)) {
    } else if (VG_BINT_CLO(argument, "--switch-outside", options.switch_outside, 1, 1 << 20)) {
    } else if (VG_BINT_CLO(argument, "--timeslice", processor_settings.timeslice, 1, 1 << 30)) {
    } else if (VG_BOOL_CLO(argument, "--heap", options.heap)) {
    } else if (VG_BINT_CLO(argument, "--top", options.top, 0, TOP_MOST)) {
    } else if (VG_BOOL_CLO(argument, "--sections", options.sections)) {
    } else if (VG_STR_CLO(argument, "--rtm-out", options.output)) {
    } else {
        return False;
    }
    return True;
}

void options_usage(void)
{
    VG_(printf)
    ("    --rtm=yes|no              the processor has RTM [yes]\n"
     "    --l1d=SETSxWAYS           first-level data cache: bounds what is written; or haswell\n"
     "                              (64x8), icelake (64x12) [this host's: %ux%u]\n"
     "    --l2=SETSxWAYS            second level: bounds what is read [%ux%u]\n"
     "    --read-lines=N            bound what is read by a number of lines instead [off]\n"
     "    --replacement=lru|tree    true LRU or tree pseudo-LRU [lru]\n"
     "    --first-touch=yes|no      a page that is not there yet aborts [yes]\n"
     "    --interrupt-rate=N        an interrupt every N blocks in transactions, on average [off]\n"
     "    --seed=N                  of everything random [%lld]\n"
     "    --cpus=N                  virtual processors, up to %d [this host's, but 4 at least: "
     "%d]\n"
     "    --switch-inside=N         blocks until another processor goes on, on average, while any\n"
     "                              transaction is open [%d]\n"
     "    --switch-outside=N        the same while none is [%d]\n"
     "    --timeslice=N             blocks until a processor takes its next thread [%d]\n"
     "    --heap=yes|no             follow malloc and free for the report, if there is one [yes]\n"
     "    --sections=yes|no         what stops each critical section, in the report as JSON [no]\n"
     "    --top=N                   entries of each list of the report, up to %d [%d]\n"
     "    --rtm-out=FILE            write the report as JSON, too; %%p is the process id\n",
     options.l1d.sets, options.l1d.ways, options.l2.sets, options.l2.ways, options.seed, CPUS_MOST,
     processor_settings.cpus, options.switch_inside, options.switch_outside,
     processor_settings.timeslice, TOP_MOST, options.top);
}

void options_debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

void options_complete(void)
{
    /* Nobody else reads of them; and they name heap blocks. */
    options.sections = options.sections && options.output != NULL;
    options.heap = options.heap || options.sections;
    /* Following the heap costs every malloc a walk up the stack, for the report alone. */
    if (VG_(clo_verbosity) == 0 && options.output == NULL)
        options.heap = False;
}
