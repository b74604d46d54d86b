# SPDX-License-Identifier: MIT
#
# The paper's claims of the AVL tree with 4 threads, its Figure 2; see mplace-claims-judge.awk.

function judge_concurrency(    i, setting)
{
    claim("TTSTLE is above TTS with 4 threads (AVL tree)", \
        "the forms with elision are ahead, for sections run side by side.", \
        "mplace sweep avltree --paper --threads 4 --htm native --malloc glibc,rand,cia --lock tts,ttstle --out avltree.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (bench_of[setting] != "avltree") continue
        if (kind_of[setting] == "measured") judge_concurrency_rate(setting)
        else judge_concurrency_share(setting)
    }
    found_nothing(tsx)
}

# CIA's verdict is the claim's: where glibc falls behind is the next one.
function judge_concurrency_rate(setting,    i, j, n, all, part, parts, higher, m, verdict, seen)
{
    verdict = "not measured"
    for (i = 1; i <= mallocs; i++) {
        if (!has(setting, malloc_at[i], "tts") || !has(setting, malloc_at[i], "ttstle")) continue
        use(setting, malloc_at[i], "tts")
        use(setting, malloc_at[i], "ttstle")
        n = sizes(setting, malloc_at[i], "tts", all)
        parts = ""; higher = m = 0
        for (j = 1; j <= n; j++) {
            part = rate(setting, malloc_at[i], "ttstle", all[j]) / rate(setting, malloc_at[i], "tts", all[j])
            if (!part) continue
            parts = parts " " part
            m++
            if (part > 1) higher++
        }
        if (!m) continue
        if (malloc_at[i] == "cia") verdict = higher >= generally * m ? "holds" : "differs"
        seen = seen sprintf(" %s is ahead under ttstle at %d of %d sizes, by a factor of %.2f in the median.", malloc_at[i], higher, m, median(parts))
    }
    if (seen != "") found(setting, verdict, substr(seen, 2) (verdict == "not measured" ? " cia has no size with both locks." : ""))
}

function judge_concurrency_share(setting,    i, j, n, all, key, share, shares, least, at, seen)
{
    for (i = 1; i <= mallocs; i++) {
        if (!counts_transactions(setting, malloc_at[i])) continue
        use(setting, malloc_at[i], "ttstle")
        n = sizes(setting, malloc_at[i], "ttstle", all)
        shares = ""; least = 2
        for (j = 1; j <= n; j++) {
            key = setting SUBSEP malloc_at[i] SUBSEP "ttstle" SUBSEP all[j]
            if (!started[key]) continue
            share = 1 - slow[key] / acquired[key]
            shares = shares " " share
            if (share < least) { least = share; at = all[j] }
        }
        seen = seen sprintf(" %s: %.1f %% in the median, %.1f %% at %d B.", malloc_at[i], 100 * median(shares), 100 * least, at)
    }
    if (seen != "") found(setting, tsx, "Counted are the sections that were elided, and could run side by side." seen)
}

function judge_tree(    i, j, setting, n, list, none)
{
    claim("the same pathological sizes with 4 threads (glibc, AVL tree)", \
        "TTSTLE with glibc falls behind at the sizes that are bad in the ring, for the lock is taken and the others wait.", \
        "mplace sweep avltree --paper --threads 4 --htm native --malloc glibc,rand,cia --lock tts,ttstle --out avltree.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (bench_of[setting] != "avltree") continue
        if (kind_of[setting] == "emulated" && counts_transactions(setting, "glibc")) {
            n = capacity_sizes(setting, "glibc", never, list)
            for (j = 1; j <= mallocs; j++) if (has(setting, malloc_at[j], "ttstle")) use(setting, malloc_at[j], "ttstle")
            found(setting, same_sizes(setting, list, n, none) ? "holds for aborts; the rate needs TSX hardware" : "differs", \
                "glibc's capacity aborts are " percent(never) " of the transactions or more at " n " of " judged " sizes." \
                missing_text() unnamed_text(list, n), capacity_table(setting))
        } else if (is_measured(setting, "avltree") && has(setting, "glibc", "ttstle")) {
            use(setting, "glibc", "ttstle")
            n = degraded_sizes(setting, "glibc", "ttstle", list)
            if (!compared) found(setting, "not measured", "There is no other allocator to compare glibc with.")
            else found(setting, same_sizes(setting, list, n, is_doubtful) ? "holds" : unsure_n && !missing_n ? "not decided: runs disagree" : "differs", \
                "Under ttstle " least_text("glibc", n) missing_text() unnamed_text(list, n))
        } else if (is_measured(setting, "avltree") && has(setting, "glibc", "tts")) {
            use(setting, "glibc", "tts")
            n = degraded_sizes(setting, "glibc", "tts", list)
            found(setting, tsx, compared ? "Under tts, of which the paper does not say it, " least_text("glibc", n) : "")
        }
    }
    found_nothing(tsx)
}

# Whether the bad sizes under ttstle are those that the paper names for the ring, as far as they were tried.
function same_sizes(setting, list, n, doubt,    all, count)
{
    count = sizes(setting, "glibc", "ttstle", all)
    find_missing(list, n, all, count, doubt)
    return n && !missing_n && !unsure_n
}

function judge_worse(    i, j, setting, n, all, best, part, least, at)
{
    claim("at about 2000 B TTSTLE with glibc is below the best TTS (AVL tree)", \
        "with 4 threads and transactions it is slower there than a lock that lets one thread in at a time.", \
        "mplace sweep avltree --paper --threads 4 --htm native --malloc glibc,rand,cia --lock tts,ttstle --out avltree.csv")
    for (i = 1; i <= settings; i++) {
        setting = setting_at[i]
        if (!is_measured(setting, "avltree") || !has(setting, "glibc", "ttstle")) continue
        use(setting, "glibc", "ttstle")
        n = sizes(setting, "glibc", "ttstle", all)
        least = 1e9
        for (j = 1; j <= n; j++) {
            best = is_near(all[j], 2048) ? best_rate(setting, "tts", all[j]) : 0
            if (!best) continue
            part = rate(setting, "glibc", "ttstle", all[j]) / best
            if (part < least) { least = part; at = all[j] }
        }
        if (least == 1e9) found(setting, "not measured", "No size near 2048 B has both locks.")
        else found(setting, least < 1 ? "holds" : "differs", \
            sprintf("Under ttstle glibc has %.2f of the best rate under tts at %d B.", least, at))
    }
    found_nothing(tsx)
}
