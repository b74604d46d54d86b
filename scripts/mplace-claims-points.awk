# SPDX-License-Identifier: MIT
#
# What the judgement of the paper's claims stands on: the rows (unique.tsv of mplace-rows.bash, with one
# more field, the number of the file that a row is from), added up to points, and questions about them.
# Plain awk, for mawk is Debian's.
#
# Rates and shares are questions to functions; what they find beside their value is left in a global
# variable, which the head of each names.
#
# A "setting" is what must not be mixed: benchmark, processor and nodes or threads of measured rows, the
# cache of emulated ones. A "point" is setting, allocator, lock and size.

BEGIN {
    FS = "\t"
    # What the words mean; mplace-claims says it at the head of its output.
    degraded = 0.7  # of the best allocator's rate: a size is degraded below it
    level = 0.95    # of another's rate: one is below the other below it
    generally = 0.9 # of the sizes
    always = 0.9    # of the transactions abort for capacity: nothing is elided
    never = 0.01    # of the transactions: below it capacity aborts are no matter
    papers_sizes = split("512 1024 1536 2048 2560 3072 4096", papers_size, " ")
}

{
    bench = $1; malloc = $5; lock = $6; htm = $7; size = $8 + 0
    # Without transactions ttstle is tts: to judge by it would take noise for a difference.
    if (lock == "ttstle" && htm == "none") { left_out++; next }
    setting = bench SUBSEP setting_text()
    if (!(setting in kind_of)) {
        kind_of[setting] = htm == "emulated" ? "emulated" : "measured"
        bench_of[setting] = bench
        members_of[setting] = bench == "ring" ? $3 + 0 : $4 + 0
        setting_at[++settings] = setting
    }
    series = setting SUBSEP malloc SUBSEP lock
    point = series SUBSEP size
    if (!(point in rows)) sizes_of[series] = sizes_of[series] " " size
    if (!(malloc in known)) { known[malloc] = 1; malloc_at[++mallocs] = malloc }
    rows[point]++
    if (!((point, $28) in from_file)) { from_file[point, $28] = 1; files_of[point] = files_of[point] " " $28 }
    if ($9 != "-") rates[point] = rates[point] " " $9
    if ($12 != "-" && $12 + 0 > fullest[setting, malloc, size]) fullest[setting, malloc, size] = $12 + 0
    if ($18 ~ /^[1-9]/) acquired[point] += $18
    if (lock == "ttstle" && $18 ~ /^[1-9]/ && $20 ~ /^[1-9]/) {
        slow[point] += $19; started[point] += $20; capacity[point] += $23
        counted_any[series] = 1
    }
    if ($26 != "-" && $18 ~ /^[1-9]/ && htm != "emulated") add_counters()
}

function setting_text(    part, shape)
{
    shape = bench == "ring" ? $3 " nodes" : $4 ($4 == 1 ? " thread" : " threads")
    if (htm != "emulated") return "measured: " $2 ", " shape
    if ($27 == "-") return "emulated, " shape
    split($27, part, "x")
    return "emulated: L1D of " part[1] " sets × " part[2] " ways, " shape
}

# "role@EVENT=value": the role is what is asked for here, the event the processor's own name for it. A
# count tells only as a share of the locked sections that it was counted over.
function add_counters(    n, i, pair, half, role, at)
{
    n = split($26, pair, ";")
    for (i = 1; i <= n; i++) {
        split(pair[i], half, "=")
        role = half[1]
        if ((at = index(role, "@")) > 0) {
            event_of[substr(role, 1, at - 1)] = substr(role, at + 1)
            role = substr(role, 1, at - 1)
        }
        counted[point, role] += half[2]
        counted_over[point, role] += $18
    }
}

# --- lists: numbers with blanks between ---

# The numbers, rising, into sorted[]; how many.
function sort_list(list, sorted,    n, i, j, value)
{
    n = split(list, sorted, " ")
    for (i = 2; i <= n; i++) {
        value = sorted[i] + 0
        for (j = i - 1; j >= 1 && sorted[j] + 0 > value; j--) sorted[j + 1] = sorted[j]
        sorted[j + 1] = value
    }
    return n
}

function median(list,    sorted, n)
{
    n = sort_list(list, sorted)
    if (n == 0) return 0
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function greatest(list,    n, i, value, most)
{
    n = split(list, value, " ")
    for (i = 1; i <= n; i++) if (value[i] + 0 > most + 0) most = value[i] + 0
    return most + 0
}

# --- questions about points ---

function has(setting, malloc, lock) { return (setting SUBSEP malloc SUBSEP lock) in sizes_of }

# To ask for an element makes one in awk: only what is there is asked for.
function sizes(setting, malloc, lock, sorted)
{
    return has(setting, malloc, lock) ? sort_list(sizes_of[setting, malloc, lock], sorted) : 0
}

# The median rate of a point; 0 where there is none.
function rate(setting, malloc, lock, size) { return median(rates[setting, malloc, lock, size]) }

# The fastest allocator under one lock at one size; sets best_malloc and rivals, how many there are:
# one alone is its own best.
function best_rate(setting, lock, size,    i, value, best)
{
    best = rivals = 0
    for (i = 1; i <= mallocs; i++) {
        value = rate(setting, malloc_at[i], lock, size)
        if (value > 0) rivals++
        if (value > best) { best = value; best_malloc = malloc_at[i] }
    }
    return best
}

# Other load on a machine makes runs slower, never faster: a point is below a bound if its fastest run
# is.
function is_below(setting, malloc, lock, size, bound)
{
    return greatest(rates[setting, malloc, lock, size]) < bound
}

# What part of the best allocator's rate this one has; -1 where there is nothing to compare. Sets
# best_malloc and best.
function part_of_best(setting, malloc, lock, size,    mine)
{
    mine = rate(setting, malloc, lock, size)
    best = best_rate(setting, lock, size)
    return rivals < 2 || !mine ? -1 : mine / best
}

# Sizes at which an allocator is degraded, rising, into list; how many. Sets compared, the number of
# sizes that could be judged; least_part and least_at, the worst; doubtful, how many sizes have a median
# that says so and a run that does not, and is_doubtful[], which.
function degraded_sizes(setting, malloc, lock, list,    n, i, all, text, part)
{
    n = sizes(setting, malloc, lock, all)
    compared = doubtful = 0; least_part = 2; least_at = ""
    split("", is_doubtful)
    for (i = 1; i <= n; i++) {
        part = part_of_best(setting, malloc, lock, all[i])
        if (part < 0) continue
        compared++
        if (part < degraded && !is_below(setting, malloc, lock, all[i], degraded * best)) {
            doubtful++
            is_doubtful[all[i]] = 1
            continue
        }
        if (part < least_part) { least_part = part; least_at = all[i] }
        if (part < degraded) text = text " " all[i]
    }
    return split(text, list, " ")
}

# A count of a role for each locked section; -1 where it was not counted.
function each(setting, malloc, lock, size, role,    key)
{
    key = setting SUBSEP malloc SUBSEP lock SUBSEP size SUBSEP role
    return counted_over[key] ? counted[key] / counted_over[key] : -1
}

# Misses of the first-level TLB for each locked section: served by the second level, or by a walk.
function tlb_misses(setting, malloc, lock, size,    hits, walks)
{
    hits = each(setting, malloc, lock, size, "dtlb-l2-hits")
    walks = each(setting, malloc, lock, size, "dtlb-walks")
    if (hits < 0 && walks < 0) return -1
    return (hits > 0 ? hits : 0) + (walks > 0 ? walks : 0)
}

# The share of the transactions that aborted for capacity; -1 where none was counted.
function capacity_share(setting, malloc, size,    key)
{
    key = setting SUBSEP malloc SUBSEP "ttstle" SUBSEP size
    return started[key] ? capacity[key] / started[key] : -1
}

function counts_transactions(setting, malloc) { return counted_any[setting, malloc, "ttstle"] + 0 }

# Sizes at which capacity aborts are at least this share, rising, into list; how many. Sets judged, the
# number of sizes with transactions, and most_share and most_at.
function capacity_sizes(setting, malloc, least, list,    n, i, all, text, share)
{
    n = sizes(setting, malloc, "ttstle", all)
    judged = 0; most_share = -1; most_at = ""
    for (i = 1; i <= n; i++) {
        share = capacity_share(setting, malloc, all[i])
        if (share < 0) continue
        judged++
        if (share > most_share) { most_share = share; most_at = all[i] }
        if (share >= least) text = text " " all[i]
    }
    return split(text, list, " ")
}

# --- the sizes that the paper names: round ones, from which an allocator's headers move the bad ones ---

function is_near(size, round) { return size >= round - 32 && size <= round + 32 }

function is_near_any(size,    i)
{
    for (i = 1; i <= papers_sizes; i++) if (is_near(size, papers_size[i])) return 1
    return 0
}

# Which of them have none of list[1..n] near, in three global lists: open_sizes[1..open_n] have no size just
# below them among all[1..count], unsure_sizes[1..unsure_n] have one near that is in doubt[], and
# missing_sizes[1..missing_n] were tried and are good.
function find_missing(list, n, all, count, doubt,    i, j, hit, below, unsure)
{
    missing_n = open_n = unsure_n = 0
    for (i = 1; i <= papers_sizes; i++) {
        hit = below = unsure = 0
        for (j = 1; j <= n; j++) if (is_near(list[j], papers_size[i])) hit = 1
        for (j = 1; j <= count; j++) {
            if (is_near(all[j], papers_size[i]) && (all[j] in doubt)) unsure = 1
            if (all[j] >= papers_size[i] - 32 && all[j] < papers_size[i]) below = 1
        }
        if (hit) continue
        if (unsure) unsure_sizes[++unsure_n] = papers_size[i]
        else if (below) missing_sizes[++missing_n] = papers_size[i]
        else open_sizes[++open_n] = papers_size[i]
    }
}

# The knee of the ring's rate: the least size from which on the best rate stays below nine tenths of its
# level, the median up to 1 KiB; 0 without one. Sets knee_level, and knee_last, the greatest size.
function find_knee(setting,    n, all, i, list, knee)
{
    n = sizes(setting, "cia", "tts", all)
    for (i = 1; i <= n; i++) if (all[i] <= 1024) list = list " " best_rate(setting, "tts", all[i])
    knee_level = median(list)
    knee_last = n ? all[n] : 0
    knee = 0
    for (i = n; i >= 1 && all[i] > 1024; i--) {
        if (best_rate(setting, "tts", all[i]) >= 0.9 * knee_level) break
        knee = all[i]
    }
    return knee
}
