# SPDX-License-Identifier: MIT
#
# The table of memory over time of "mplace compare". Reads the named samples in the order they were
# taken, "workload,size,threads,moment,malloc,...", for the order of the jobs and of the moments in each,
# then the medians, "workload,size,threads,moment,malloc,resident_kib,virtual_kib,mappings,rounds". Takes
# subject, names (of all allocators, by blanks) and rounds as variables. What was not measured in all
# rounds under an allocator counts nowhere for it. A moment that only some allocators came to, because
# time was over, is left out.

# One line: the figure at a moment under each allocator, and the subject's ratio to the least other one.
function print_line(title, figure, key, unit, digits,    i, value, least, least_name)
{
    printf "  %-24.24s", title
    for (i = 1; i <= name_count; i++) {
        value = figure[key, name[i]]
        if (value == "") {
            printf " %10s", "-"
            continue
        }
        printf " %10.*f", digits, value / unit
        if (name[i] != subject && value > 0 && (least == "" || value < least)) {
            least = value
            least_name = name[i]
        }
    }
    if (least > 0 && figure[key, subject] > 0)
        printf " %7.2f  %s\n", figure[key, subject] / least, least_name
    else
        printf " %7s  -\n", "-"
}

function print_head(title,    i)
{
    printf "  %-24.24s", title
    for (i = 1; i <= name_count; i++)
        printf " %10.10s", name[i]
    printf " %7s  %s\n", "ratio", "to"
}

# Whether every allocator that ran the job came to the moment.
function is_common(job, moment,    i)
{
    for (i = 1; i <= name_count; i++) {
        if ((job FS "peak", name[i]) in resident && !((job FS moment, name[i]) in resident))
            return 0
    }
    return 1
}

BEGIN {
    name_count = split(names, name, " ")
}

FILENAME == ARGV[1] {
    job = $1 FS $2 FS $3
    if (!(job in moment_count)) {
        job_of[++job_count] = job
        moment_count[job] = 0
    }
    if ($4 != "peak" && !((job, $4) in seen)) {
        seen[job, $4] = 1
        moment_of[job, ++moment_count[job]] = $4
    }
    next
}

$9 == rounds {
    key = $1 FS $2 FS $3 FS $4
    resident[key, $5] = $6
    virtual[key, $5] = $7
    mappings[key, $5] = $8
}

END {
    printf "\nMemory over time, median of %d; ratio of %s to the least other\n", rounds, subject
    for (j = 1; j <= job_count; j++) {
        job = job_of[j]
        split(job, part, FS)
        printf "\n%s%s, %d thread%s\n", part[1], part[2] == "-" ? "" : " " part[2], part[3], part[3] == 1 ? "" : "s"
        print_head("resident, MiB")
        last = ""
        for (m = 1; m <= moment_count[job]; m++) {
            if (is_common(job, moment_of[job, m])) {
                last = moment_of[job, m]
                print_line(last, resident, job FS last, 1024, 1)
            }
        }
        print_line("the most", resident, job FS "peak", 1024, 1)
        print_line("address space, most", virtual, job FS "peak", 1024, 1)
        print_line("  " last, virtual, job FS last, 1024, 1)
        print_line("mappings, most", mappings, job FS "peak", 1, 0)
        print_line("  " last, mappings, job FS last, 1, 0)
    }
}
