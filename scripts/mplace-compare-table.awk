# SPDX-License-Identifier: MIT
#
# The table of "mplace compare". Reads the jobs, lines "workload size threads operations" in the order
# to show them, then the medians, "workload,size,threads,malloc,ns,peak_rss_kib,rounds". Takes
# subject, names (of all allocators, by blanks) and rounds as variables. What was not measured in
# all rounds under an allocator counts nowhere for it.

function duration(ns)
{
    if (ns >= 1e9)
        return sprintf("%.2f s", ns / 1e9)
    if (ns >= 1e6)
        return sprintf("%.2f ms", ns / 1e6)
    if (ns >= 1e4)
        return sprintf("%.1f us", ns / 1e3)
    return sprintf("%.1f", ns)
}

# The least figure that any of the peers has in a job; sets best_name. 0 where none has one.
function best(figure, job, of,    i, n, list, value, least)
{
    least = 0
    best_name = "-"
    n = split(of, list, " ")
    for (i = 1; i <= n; i++) {
        value = figure[job, list[i]]
        if (value > 0 && (least == 0 || value < least)) {
            least = value
            best_name = list[i]
        }
    }
    return least
}

# One of the two tables: a row a job, a column an allocator, and the ratio to the best of the peers.
function print_table(title, figure, of, is_time,    i, j, least)
{
    printf "%s\n%-21s %8s %4s", title, "workload", "size", "thr"
    for (i = 1; i <= name_count; i++)
        printf " %10.10s", name[i]
    printf " %7s  %s\n", "ratio", "to"
    for (j = 1; j <= job_count; j++) {
        printf "%-21.21s %8s %4s", job_workload[j], job_size[j], job_threads[j]
        for (i = 1; i <= name_count; i++) {
            if (figure[j, name[i]] + 0 == 0)
                printf " %10s", "failed"
            else if (is_time)
                printf " %10s", duration(figure[j, name[i]])
            else
                printf " %10.1f", figure[j, name[i]] / 1024
        }
        least = best(figure, j, of)
        if (least > 0 && figure[j, subject] > 0)
            printf " %7.2f  %s\n", figure[j, subject] / least, best_name
        else
            printf " %7s  -\n", "-"
    }
}

# The geometric mean of the subject's figure over the least one of the peers in "of", in the jobs of so
# many threads ("": of all) whose least peak is at least so high; sets mean_count. 0: no such job.
function mean_ratio(figure, of, threads, least_kib,    j, least, sum)
{
    sum = mean_count = 0
    for (j = 1; j <= job_count; j++) {
        if (threads != "" && job_threads[j] != threads)
            continue
        if (least_kib > 0 && best(peak, j, memory_peers) < least_kib)
            continue
        least = best(figure, j, of)
        if (least > 0 && figure[j, subject] > 0) {
            sum += log(figure[j, subject] / least)
            mean_count++
        }
    }
    return mean_count > 0 ? exp(sum / mean_count) : 0
}

function print_ratio(ratio, width)
{
    if (ratio > 0)
        printf " %*.2f", width, ratio
    else
        printf " %*s", width, "-"
}

function print_means(title, figure, least_kib, of,    i, t, threads)
{
    printf "\n%s\n%-8s", title, "threads"
    for (i = 1; i <= name_count; i++) {
        if (name[i] != subject)
            printf " %10.10s", name[i]
    }
    printf " %16s %6s\n", "best of each row", "rows"
    for (t = thread_count > 1 ? 0 : 1; t <= thread_count; t++) {
        threads = t == 0 ? "" : thread[t]
        printf "%-8s", t == 0 ? "all" : threads
        for (i = 1; i <= name_count; i++) {
            if (name[i] != subject)
                print_ratio(mean_ratio(figure, name[i], threads, least_kib), 10)
        }
        print_ratio(mean_ratio(figure, of, threads, least_kib), 16)
        printf " %6d\n", mean_count
    }
}

# The jobs in which the subject is far behind, the worst first.
function print_behind(factor,    j, worst, listed, ratio)
{
    printf "\n%s is slower than %.2f times the fastest other in:\n", subject, factor
    for (j = 1; j <= job_count; j++) {
        worst = best(time, j, peers)
        ratio[j] = worst > 0 ? time[j, subject] / worst : 0
    }
    for (listed = 0;; listed++) {
        worst = 0
        for (j = 1; j <= job_count; j++) {
            if (ratio[j] > factor && (!worst || ratio[j] > ratio[worst]))
                worst = j
        }
        if (!worst)
            break
        printf "%7.2f  %s%s, %s thread%s\n", ratio[worst], job_workload[worst],
            job_size[worst] == "-" ? "" : " " job_size[worst], job_threads[worst],
            job_threads[worst] == 1 ? "" : "s"
        ratio[worst] = 0
    }
    if (!listed)
        print "     -  none"
}

BEGIN {
    name_count = split(names, name, " ")
    for (i = 1; i <= name_count; i++) {
        if (name[i] == subject)
            continue
        peers = peers " " name[i]
        if (name[i] ~ /^(glibc|jemalloc|mimalloc)$/)
            memory_peers = memory_peers " " name[i]
    }
    if (memory_peers == "")
        memory_peers = peers
}

FILENAME == ARGV[1] {
    job_count++
    job_workload[job_count] = $1
    job_size[job_count] = $2 == 0 ? "-" : $2
    job_threads[job_count] = $3
    job_of[$1, job_size[job_count], $3] = job_count
    if (!($3 in seen_threads)) {
        seen_threads[$3] = 1
        thread[++thread_count] = $3
    }
    next
}

{
    split($0, field, ",")
    job = job_of[field[1], field[2], field[3]]
    if (field[7] == rounds) {
        time[job, field[4]] = field[5]
        peak[job, field[4]] = field[6]
    }
}

END {
    is_command = job_threads[1] == "-"
    print_table((is_command ? "Time of a run" : "Time of an operation, ns where nothing else is said") \
                ", median of " rounds "; ratio of " subject " to the fastest other", time, peers, 1)
    print ""
    print_table("Peak resident memory, MiB; ratio of " subject " to the least of" memory_peers, peak,
                memory_peers, 0)
    if (is_command)
        exit
    print_means("Geometric mean of " subject "'s time over that of", time, 0, peers)
    print_means("The same of the peak memory, where the least of" memory_peers " is above 10 MiB", peak,
                10240, memory_peers)
    print_behind(1.25)
}
