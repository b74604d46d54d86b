# SPDX-License-Identifier: MIT
#
# The paper's claims, judged one function each; those of the tree are in mplace-claims-tree.awk. A claim
# is judged for every setting that has rows for it; where there is none it says what is missing, and
# concludes nothing. Under the emulator time means nothing: only counts are judged there.

BEGIN {
    tsx = "not measured: needs TSX hardware"
    pmu = "not measured: needs hardware counters"
}

END {
    order_names()
    judge_degradation()
    judge_misses()
    judge_futile()
    judge_bands()
    judge_order()
    judge_clean()
    judge_knee()
    judge_tlb()
    judge_capacity()
    judge_concurrency()
    judge_tree()
    judge_worse()
    print_report()
}

# Measured settings before emulated ones, allocators in the usual order.
function order_names(    i, n, usual, setting, name, s, m)
{
    for (i = 1; i <= settings; i++) if (kind_of[setting_at[i]] == "measured") setting[++s] = setting_at[i]
    for (i = 1; i <= settings; i++) if (kind_of[setting_at[i]] == "emulated") setting[++s] = setting_at[i]
    for (i = 1; i <= settings; i++) setting_at[i] = setting[i]
    n = split("glibc rand cia jemalloc mimalloc tcmalloc", usual, " ")
    for (i = 1; i <= n; i++) if (usual[i] in known) { name[++m] = usual[i]; delete known[usual[i]] }
    for (i = 1; i <= mallocs; i++) if (malloc_at[i] in known) name[++m] = malloc_at[i]
    for (i = 1; i <= mallocs; i++) malloc_at[i] = name[i]
}

function is_measured(setting, bench) { return bench_of[setting] == bench && kind_of[setting] == "measured" }

# After find_missing: what is said of the paper's sizes that a list of bad sizes does not have.
function missing_text()
{
    return (missing_n ? " Not near " joined(missing_sizes, missing_n) " B." : "") \
        (unsure_n ? " Near " joined(unsure_sizes, unsure_n) " B the runs disagree." : "") \
        (open_n ? " Just below " joined(open_sizes, open_n) " B no size was tried." : "")
}

function judge_degradation(    i, setting, n, list, count, all, seen)
{
    claim("glibc is degraded at certain sizes (ring)", \
        "under TTS most points lie in one band, but glibc drops out of it near 512 B and near 1, 1.5, 2, 2.5, 3 and 4 KiB. By how much is in its figure alone.", \
        "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "ring") || !has(setting, "glibc", "tts")) continue
        use(setting, "glibc", "tts")
        n = degraded_sizes(setting, "glibc", "tts", list)
        if (!compared) {
            found(setting, "not measured", "There is no other allocator to compare glibc with.")
            continue
        }
        seen = least_text("glibc", n)
        count = sizes(setting, "glibc", "tts", all)
        find_missing(list, n, all, count, is_doubtful)
        found(setting, missing_n || !n ? "differs" : unsure_n ? "not decided: runs disagree" : "holds", \
            seen missing_text() unnamed_text(list, n), n ? degradation_table(setting, list, n) : "")
    }
    found_nothing("not measured", "No rows of the ring with glibc under tts.")
}

# After degraded_sizes.
function least_text(malloc, n)
{
    return malloc " is degraded at " n " of " compared " sizes" \
        (least_at == "" ? "" : sprintf("; it has %.2f of the best allocator's rate at %d B, its least", least_part, least_at)) "." \
        (doubtful ? " At " doubtful " more the median is below " degraded " and a run is not: other load." : "")
}

function unnamed_text(list, n,    i, m, unnamed)
{
    for (i = 1; i <= n; i++) if (!is_near_any(list[i])) unnamed[++m] = list[i]
    return m ? " Near none of the sizes that the paper names: " shortened(unnamed, m) " B." : ""
}

function degradation_table(setting, list, n,    i, part, text, misses, with_misses)
{
    for (i = 1; i <= n; i++) if (each(setting, "glibc", "tts", list[i], "l1d-misses") >= 0) with_misses = 1
    text = "| size | glibc, M/s | best, M/s | glibc / best | most nodes in one set |" \
        (with_misses ? " L1D misses a traversal |" : "") "\n|---|---|---|---|---|" (with_misses ? "---|" : "") "\n"
    for (i = 1; i <= n; i++) {
        part = part_of_best(setting, "glibc", "tts", list[i])
        misses = count_cell(each(setting, "glibc", "tts", list[i], "l1d-misses"))
        text = text sprintf("| %d | %.2f | %.2f (%s) | %.2f | %s |", list[i], part * best / 1e6, best / 1e6, \
            best_malloc, part, fullest[setting, "glibc", list[i]]) (with_misses ? " " misses " |" : "") "\n"
    }
    return text
}

# Whether glibc's time for a traversal goes with its misses, at sizes below the TLB's knee: above it
# there is a second cause.
function judge_misses(    i, setting, n, all, knee, r)
{
    claim("the loss goes with misses of the L1 data cache", \
        "hardware counters show that rates fall where the L1 misses rise.", \
        "mplace sweep ring --paper --counters paper --malloc glibc,rand,cia --lock tts --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "ring") || !has(setting, "glibc", "tts")) continue
        use(setting, "glibc", "tts")
        r = correlation(setting, find_knee(setting))
        if (r < -1) found(setting, pmu, placement_text(setting))
        else found(setting, r >= 0.8 ? "holds" : "differs", \
            sprintf("The time of a traversal and its misses (%s) have a correlation of %.2f over %d sizes below the knee of the TLB.", \
                event_of["l1d-misses"], r, correlated))
    }
    found_nothing(pmu, "No rows of the ring with glibc under tts either.")
}

# Pearson's, of time and misses of glibc under tts up to a size; -2 where there are too few, or where
# nothing varies. Sets correlated.
function correlation(setting, last,    n, all, i, x, y, sx, sy, sxx, syy, sxy)
{
    n = sizes(setting, "glibc", "tts", all)
    correlated = sx = sy = sxx = syy = sxy = 0
    for (i = 1; i <= n; i++) {
        x = each(setting, "glibc", "tts", all[i], "l1d-misses")
        y = rate(setting, "glibc", "tts", all[i])
        if (x < 0 || !y || (last && all[i] >= last)) continue
        y = 1e6 / y
        correlated++
        sx += x; sy += y; sxx += x * x; syy += y * y; sxy += x * y
    }
    sxx = correlated * sxx - sx * sx
    syy = correlated * syy - sy * sy
    return correlated < 3 || sxx <= 0 || syy <= 0 ? -2 : (correlated * sxy - sx * sy) / sqrt(sxx * syy)
}

# Where the nodes lie can be told without counters.
function placement_text(setting,    n, list, all, i, bad, inside, others)
{
    n = degraded_sizes(setting, "glibc", "tts", list)
    for (i = 1; i <= n; i++) {
        bad[list[i]] = 1
        if (fullest[setting, "glibc", list[i]]) inside = inside " " fullest[setting, "glibc", list[i]]
    }
    n = sizes(setting, "glibc", "tts", all)
    for (i = 1; i <= n; i++)
        if (!(all[i] in bad) && fullest[setting, "glibc", all[i]]) others = others " " fullest[setting, "glibc", all[i]]
    if (inside == "" || others == "") return ""
    return "By addresses alone: in the fullest set begin " median(inside) " nodes at the sizes that are degraded, " \
        median(others) " at the others (medians)."
}

function judge_futile(    i, setting, n, list)
{
    claim("at these sizes TTSTLE is below TTS (glibc, ring)", \
        "where glibc is degraded each transaction aborts for good, and its work was for nothing: TTSTLE falls below TTS.", \
        "mplace sweep ring --paper --htm native --malloc glibc,rand,cia --lock tts,ttstle --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (bench_of[setting] != "ring" || !has(setting, "glibc", "ttstle")) continue
        if (kind_of[setting] == "measured" && has(setting, "glibc", "tts")) judge_futile_at(setting)
        else if (kind_of[setting] == "emulated") {
            use(setting, "glibc", "ttstle")
            n = capacity_sizes(setting, "glibc", always, list)
            found(setting, tsx, "Counted is its cause: at " n " of " judged \
                " sizes the transactions of glibc abort for capacity, so that their work is done twice.")
        }
    }
    found_nothing(tsx)
}

function judge_futile_at(setting,    n, list, i, m, lower, part, least, at, table)
{
    n = degraded_sizes(setting, "glibc", "tts", list)
    use(setting, "glibc", "tts")
    use(setting, "glibc", "ttstle")
    table = "| size | tts, M/s | ttstle, M/s | ttstle / tts |\n|---|---|---|---|\n"
    least = 9
    for (i = 1; i <= n; i++) {
        part = rate(setting, "glibc", "ttstle", list[i]) / rate(setting, "glibc", "tts", list[i])
        if (!part) continue
        m++
        if (part < 1) lower++
        if (part < least) { least = part; at = list[i] }
        table = table sprintf("| %d | %.2f | %.2f | %.2f |\n", list[i], rate(setting, "glibc", "tts", list[i]) / 1e6, \
            rate(setting, "glibc", "ttstle", list[i]) / 1e6, part)
    }
    if (!m) found(setting, "not measured", "No size with both locks is degraded under tts.")
    else found(setting, lower == m ? "holds" : "differs", \
        sprintf("ttstle is below tts at %d of %d sizes at which glibc is degraded; the least is %.2f of it, at %d B.", \
            lower, m, least, at), table)
}

function judge_bands(    i, j, setting, n, all, ratios, part)
{
    claim("elsewhere TTSTLE is a little below TTS (ring)", \
        "at small sizes the figure has two bands: to begin and commit a transaction takes a little longer than the lock's atomic operations.", \
        "mplace sweep ring --paper --htm native --malloc glibc,rand,cia --lock tts,ttstle --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "ring") || !has(setting, "cia", "ttstle") || !has(setting, "cia", "tts")) continue
        n = sizes(setting, "cia", "tts", all)
        ratios = ""
        for (j = 1; j <= n && all[j] <= 1024; j++) {
            part = rate(setting, "cia", "ttstle", all[j])
            if (part) ratios = ratios " " part / rate(setting, "cia", "tts", all[j])
        }
        use(setting, "cia", "tts")
        use(setting, "cia", "ttstle")
        part = median(ratios)
        if (!part) found(setting, "not measured", "No size up to 1 KiB has both locks.")
        else found(setting, part < 1 && part >= 0.8 ? "holds" : "differs", \
            sprintf("Under ttstle cia has %.3f of its rate under tts, the median of the sizes up to 1 KiB.", part))
    }
    found_nothing(tsx)
}

function judge_order(    i, j, setting, lock, locks, first, second, seen)
{
    claim("CIA ≥ RAND ≥ GLIBC", \
        "in general CIA is ahead of RAND, and RAND of GLIBC; RAND helps, but is poor at some sizes.", \
        "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts,ttstle --out ring.csv")
    split("tts ttstle", locks, " ")
    for (i = 1; i <= settings; i++) for (j = 1; j <= 2; j++) {
        setting = setting_at[i]; lock = locks[j]
        if (kind_of[setting] != "measured" || !has(setting, "cia", lock) || !has(setting, "rand", lock) || \
            !has(setting, "glibc", lock)) continue
        first = is_not_below(setting, lock, "cia", "rand")
        seen = comparison
        second = is_not_below(setting, lock, "rand", "glibc")
        use(setting, "cia", lock)
        use(setting, "rand", lock)
        use(setting, "glibc", lock)
        found(setting, first < 0 || second < 0 ? "not measured" : first && second ? "holds" : "differs", \
            bench_text(setting) " under " lock ". " seen " " comparison)
    }
    found_nothing("not measured", "No rows of glibc, rand and cia under one lock.")
}

# Whether one allocator generally is not below another, -1 where they have no size in common; comparison
# says it.
function is_not_below(setting, lock, one, other,    n, all, i, part, parts, m, least, at, losing, l)
{
    n = sizes(setting, one, lock, all)
    least = 1e9
    for (i = 1; i <= n; i++) {
        part = rate(setting, other, lock, all[i])
        if (!part) continue
        part = rate(setting, one, lock, all[i]) / part
        parts = parts " " part
        m++
        if (!is_below(setting, one, lock, all[i], level * rate(setting, other, lock, all[i]))) continue
        losing[++l] = all[i]
        if (part < least) { least = part; at = all[i] }
    }
    comparison = !m ? one " and " other " have no size in common." \
        : sprintf("%s is not below %s at %d of %d sizes; the ratio of their rates is %.2f in the median", one, other, m - l, m, median(parts)) \
        (l ? sprintf(", %.2f at %d B, its least. Below at %s B.", least, at, shortened(losing, l)) : ".")
    return m ? m - l >= generally * m : -1
}

function judge_clean(    i, j, setting, locks)
{
    claim("no pathological size under CIA", \
        "CIA has none of these sizes.", \
        "mplace sweep ring --paper --malloc glibc,rand,cia,jemalloc,mimalloc --lock tts --out ring.csv")
    split("tts ttstle", locks, " ")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        for (j = 1; j <= 2; j++)
            if (kind_of[setting] == "measured" && has(setting, "cia", locks[j])) judge_clean_rate(setting, locks[j])
        if (counts_transactions(setting, "cia")) judge_clean_capacity(setting)
    }
    found_nothing("not measured", "No rows of cia under tts or ttstle.")
}

function judge_clean_rate(setting, lock,    n, list)
{
    n = degraded_sizes(setting, "cia", lock, list)
    use(setting, "cia", lock)
    if (!compared) found(setting, "not measured", "There is no other allocator to compare cia with.")
    else found(setting, n ? "differs" : "holds", \
        bench_text(setting) " under " lock ". " least_text("cia", n) (n ? " Degraded at " shortened(list, n) " B." : ""))
}

function judge_clean_capacity(setting,    n, list)
{
    n = capacity_sizes(setting, "cia", never, list)
    use(setting, "cia", "ttstle")
    found(setting, n ? "differs" : "holds", bench_text(setting) ". " \
        (n ? "cia's capacity aborts are " percent(never) " of the transactions or more at " shortened(list, n) " B, the most " percent(most_share) " at " most_at " B." \
        : most_share == 0 ? "cia has no capacity abort at any of " judged " sizes." \
        : "cia's capacity aborts are below " percent(never) " of the transactions at all " judged " sizes, the most " percent(most_share) " at " most_at " B."))
}

function judge_knee(    i, setting, knee)
{
    claim("the knee at about 2000 B (ring)", \
        "the main band bends down at about 2000 B, where 128 nodes lie on more pages than the first-level TLB has entries.", \
        "mplace sweep ring --paper --malloc glibc,rand,cia --lock tts --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "ring") || !has(setting, "cia", "tts")) continue
        use(setting, "cia", "tts")
        knee = find_knee(setting)
        if (!knee_level) found(setting, "not measured", "No size up to 1 KiB shows the level.")
        else if (knee_last < 2500) found(setting, "not measured", "No size from 2500 B on shows what lies behind a knee.")
        else if (!knee) found(setting, "differs", "No knee: the best rate is at its level to " knee_last " B.")
        else found(setting, knee >= 1500 && knee <= 2500 ? "holds" : "differs", \
            sprintf("The best rate of all allocators is at %.2f M/s up to 1 KiB (median) and below 0.9 of that from %d B on.", \
                knee_level / 1e6, knee))
    }
    found_nothing("not measured", "No rows of the ring with cia under tts.")
}

function judge_tlb(    i, j, setting, n, all, misses, cache, before, after, cache_before, cache_after, rise, table)
{
    claim("the knee is the first-level data TLB (ring)", \
        "the bend comes from misses of the L1 data TLB.", \
        "mplace sweep ring --paper --counters paper --malloc glibc,rand,cia --lock tts --out ring.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "ring") || !has(setting, "cia", "tts")) continue
        n = sizes(setting, "cia", "tts", all)
        before = after = cache_before = cache_after = ""
        table = "| size | cia, M/s | L1 DTLB misses a traversal | L1D misses a traversal |\n|---|---|---|---|\n"
        for (j = 1; j <= n; j++) {
            misses = tlb_misses(setting, "cia", "tts", all[j])
            if (misses < 0) continue
            cache = each(setting, "cia", "tts", all[j], "l1d-misses")
            if (all[j] <= 1024) { before = before " " misses; cache_before = cache_before " " cache }
            if (all[j] >= 2500) { after = after " " misses; cache_after = cache_after " " cache }
            table = table sprintf("| %d | %.2f | %.1f | %s |\n", all[j], rate(setting, "cia", "tts", all[j]) / 1e6, \
                misses, count_cell(cache))
        }
        use(setting, "cia", "tts")
        if (before == "" || after == "") {
            found(setting, pmu)
            continue
        }
        # A knee of the TLB makes a node in eight miss at the least, and more of them than of the cache.
        rise = median(after) - median(before)
        found(setting, rise >= members_of[setting] / 8 && rise > median(cache_after) - median(cache_before) ? "holds" : "differs", \
            sprintf("cia's misses of the L1 data TLB are %.1f a traversal up to 1 KiB and %.1f from 2500 B on (medians).", \
                median(before), median(after)), table)
    }
    found_nothing(pmu, "No rows of the ring with cia under tts either.")
}

function judge_capacity(    i, j, setting, n, list, count, all, none)
{
    claim("capacity aborts at the pathological sizes (ring)", \
        "the transactions abort there with the status of an internal buffer that overflowed, again and again.", \
        "mplace sweep ring --htm emulated --l1d 64x8 --traversals 100 --runs 1 --malloc glibc,cia,jemalloc,mimalloc,tcmalloc --lock ttstle --out ring-emulated.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (bench_of[setting] != "ring" || !counts_transactions(setting, "glibc")) continue
        n = capacity_sizes(setting, "glibc", always, list)
        count = sizes(setting, "glibc", "ttstle", all)
        find_missing(list, n, all, count, none)
        for (j = 1; j <= mallocs; j++) if (has(setting, malloc_at[j], "ttstle")) use(setting, malloc_at[j], "ttstle")
        found(setting, missing_n || !n ? "differs" : "holds", \
            "With glibc nothing is elided at " n " of " judged " sizes." missing_text(), capacity_table(setting))
    }
    found_nothing(tsx, "There are no emulated rows of the ring with glibc under ttstle either.")
}

# An allocator a line: at which sizes its transactions abort for capacity, and what the processor counted
# itself where it did.
function capacity_table(setting,    i, j, m, n, list, full, low, l, text, counts, count, all)
{
    counts = retired_counts(setting)
    text = "| allocator | sizes | nothing elided: capacity aborts in " percent(always) " of the transactions or more | capacity aborts in " \
        percent(never) " or more | most |" (counts ? " RTM_RETIRED where nothing is elided: aborted by memory accesses, by anything |" : "") \
        "\n|---|---|---|---|---|" (counts ? "---|" : "") "\n"
    for (i = 1; i <= mallocs; i++) {
        if (!counts_transactions(setting, malloc_at[i])) continue
        n = capacity_sizes(setting, malloc_at[i], never, list)
        m = l = 0
        for (j = 1; j <= n; j++)
            if (capacity_share(setting, malloc_at[i], list[j]) >= always) full[++m] = list[j]
            else low[++l] = list[j]
        count = sizes(setting, malloc_at[i], "ttstle", all)
        text = text "| " malloc_at[i] " | " judged " | " (m ? m ": " ranges(full, m, all, count) : "none") " | " \
            (l ? l ": " ranges(low, l, all, count) : "none") " | " percent(most_share) (most_share > 0 ? " at " most_at " B" : "") " |" \
            (counts ? " " retired(setting, malloc_at[i], full, m) " |" : "") "\n"
    }
    return text
}

# Whether the processor's own counts of transactions are in the rows.
function retired_counts(setting,    i, j, n, all)
{
    for (i = 1; i <= mallocs; i++) {
        n = sizes(setting, malloc_at[i], "ttstle", all)
        for (j = 1; j <= n; j++) if (each(setting, malloc_at[i], "ttstle", all[j], "rtm-aborted") >= 0) return 1
    }
    return 0
}

function retired(setting, malloc, list, n,    i, begun, memory, aborted, point)
{
    for (i = 1; i <= n; i++) {
        point = setting SUBSEP malloc SUBSEP "ttstle" SUBSEP list[i]
        begun += counted[point, "rtm-started"]
        memory += counted[point, "rtm-aborted-memory"]
        aborted += counted[point, "rtm-aborted"]
    }
    return begun ? percent(memory / begun) ", " percent(aborted / begun) : ""
}
