# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The plan of a sweep: which sizes and combinations, in which order, which of them the result file
# has already, and what became of the others. Sourced by mplace-sweep; reads its options.
# shellcheck disable=SC2154,SC2034 # the options are mplace-sweep's, and it reads what is set here

# Where allocators are known to fail: at powers of two and just below, by a header of 8 or 16 bytes.
known_bad_sizes=500,504,512,1008,1016,1024,1528,1536,2040,2048,2544,2552,2560,3064,3072,4080,4096
# As many a doubling of the size, for that is how the figure is read.
ring_sizes=64:256:16,288:1024:32,1088:4096:64,4224:8192:128,$known_bad_sizes
# Fewer, for each run takes seconds.
avltree_sizes=64:256:32,320:1024:64,1152:2048:128,2304:4096:256,$known_bad_sizes
greatest_size=1G

# Sets sizes where the user did not, and least_size, what the links and the value of a node take, or a benchmark of
# banks needs.
choose_sizes()
{
    case $bench in
    ring) least_size=16 sizes=${sizes:-$ring_sizes} ;;
    avltree) least_size=32 sizes=${sizes:-$avltree_sizes} ;;
    composite) least_size=8192 sizes=${sizes:-16K,80K} ;;
    stream) least_size=4096 sizes=${sizes:-16M} ;;
    is) least_size=262144 sizes=${sizes:-256K,4M} ;;
    esac
}

# Whether each thread can have a core of its own, by the benchmark's own word; if not it is said
# once, here, and not by each run. Other hosts are asked by each run.
enough_cores()
{
    local said trial

    [[ -z $hosts ]] || return 0
    case $bench in
    avltree) trial=(--size 64 --operations 1) ;;
    *) trial=(--workload "$bench" --size 256K --rounds 1) ;;
    esac
    said=$("$program" "${trial[@]}" --threads "$threads" --pin 2>&1 >/dev/null </dev/null) ||
        die "a trial run of $bench failed: ${said##*$'\n'}"
    [[ -n $said ]] || return 0
    note "${said#"${program##*/}": }"
    return 1
}

# "64:1K:64,500" to sizes one a line, rising, each once.
expand_sizes()
{
    local part first last step list=() form='for instance 64:4K:64 or 500,1K'

    [[ $1 != *[!0-9a-zA-Z.:,-]* ]] || die "--sizes '$1' is no list of sizes: FIRST:LAST:STEP or single ones, $form"
    [[ ,$1, != *,,* ]] || die "--sizes '$1' has an empty entry: FIRST:LAST:STEP or single ones, $form"
    for part in ${1//,/ }; do
        if [[ $part == *:* ]]; then
            [[ $part =~ ^[^:]+:[^:]+:[^:]+$ ]] || die "--sizes '$part' is not FIRST:LAST:STEP, $form"
            IFS=: read -r first last step <<<"$part"
            first=$(bytes_of --sizes "$first" $least_size $greatest_size) || exit
            last=$(bytes_of --sizes "$last" $least_size $greatest_size) || exit
            step=$(bytes_of '--sizes step' "$step" 1 $greatest_size) || exit
            ((first <= last)) || die "--sizes '$part' is reversed: it is FIRST:LAST:STEP, and $first is more than $last"
            (((last - first) / step < 100000)) || die "--sizes '$part' is more than 100000 sizes"
            for ((; first <= last; first += step)); do
                list+=("$first")
            done
        else
            part=$(bytes_of --sizes "$part" $least_size $greatest_size) || exit
            list+=("$part")
        fi
    done
    printf '%s\n' "${list[@]}" | sort -n -u
}

# Leaves names alone in mallocs and also, and in allocator_files the library of each NAME=FILE.so.
name_allocators()
{
    local item items=() names=()

    declare -gA allocator_files=()
    [[ -n ${mallocs//,/} ]] || die "--malloc is empty"
    IFS=, read -r -a items <<<"$mallocs"
    for item in "${items[@]}"; do
        take_allocator "$item"
        names+=("$allocator_name")
    done
    mallocs=$(IFS=,; echo "${names[*]}")
    names=()
    IFS=, read -r -a items <<<"$also"
    for item in "${items[@]}"; do
        [[ $item =~ ^[^:]+:[^:]+$ ]] || die "--also '$item' is not MALLOC:LOCK"
        take_allocator "${item%:*}"
        names+=("$allocator_name:${item##*:}")
    done
    also=$(IFS=,; echo "${names[*]}")
}

# One of them; a name alone may stand for what was given with the library before.
take_allocator()
{
    [[ -z ${allocator_files[$1]-} ]] || { allocator_name=$1; return; }
    read_allocator "$1"
    [[ -n $allocator_file ]] || return 0
    [[ ${allocator_files[$allocator_name]-$allocator_file} == "$allocator_file" ]] ||
        die "allocator '$allocator_name' is there with two libraries"
    allocator_files[$allocator_name]=$allocator_file
}

# What preload_of takes for a name of the plan.
allocator_item()
{
    printf '%s' "$1${allocator_files[$1]:+=${allocator_files[$1]}}"
}

# MALLOCS LOCKS ALSO, checked names of allocators, to lines "malloc lock", each once.
expand_combinations()
{
    local malloc lock pair list=()

    [[ $2$3 != *[!0-9a-zA-Z+:,_.-]* ]] || die "--lock and --also are lists of names with commas between"
    [[ -n ${2//,/} ]] || die "--lock is empty"
    for malloc in ${1//,/ }; do
        for lock in ${2//,/ }; do
            check_lock_name "$lock"
            list+=("$malloc $lock")
        done
    done
    for pair in ${3//,/ }; do
        check_lock_name "${pair#*:}"
        list+=("${pair%:*} ${pair#*:}")
    done
    printf '%s\n' "${list[@]}" | awk '!seen[$0]++'
}

# The run of one combination as words of a shell: run_command MALLOC LOCK SEED ARGUMENT...
run_command()
{
    local variables=("${settings[@]}") command=("$program" "${@:4}")
    local valgrind_folder=${VALGRIND_LIB-}

    preload_of "$(allocator_item "$1")" "$2"
    if [[ -n $remote_folder ]]; then
        # Of the copies: a job goes to their folder first, see remote_prefix.
        command[0]=bin/${program##*/}
        preload_list=$(sed -E 's#(^|:)([^:]*/)?([^:/]+)#\1lib/\3#g' <<<"$preload_list")
        preload_path=
        valgrind_folder=lib/mplace/valgrind
        remote_prefix
    fi
    # The emulator chooses at random which thread runs: by the run's seed, so that seeds differ in it.
    [[ ${#emulator[@]} -eq 0 ]] || command=("${emulator[@]}" "--seed=$3" "${command[@]}")
    [[ $1 != rand* || -n ${RAND_SEED-} ]] || variables+=("RAND_SEED=$3")
    [[ $htm != emulated ]] ||
        variables+=("MPLACE_HTM=emulated" "VALGRIND_LIB=$valgrind_folder")
    [[ -z $preload_path ]] || variables+=("LD_LIBRARY_PATH=$preload_path")
    [[ -z $preload_list ]] || variables+=("LD_PRELOAD=$preload_list")
    printf ' %q' env "${variables[@]}" "${command[@]}"
}

# relabel MALLOC HEAD: words of a shell that name a row after the library of NAME=FILE.so; HEAD is what a row has before
# the name. One that glibc served keeps that name, and is refused for it.
relabel()
{
    [[ -n ${allocator_files[$1]-} ]] || return 0
    printf ' | sed %q' "/^$2glibc,/!s/^$2[^,]*,/$2$1,/"
}

# Runs each combination for a moment: a library that is missing, does not load, or loads as
# something else ends the sweep before it writes anything. Sets header and leaves ttstle out where
# it is nothing but tts.
try_combinations()
{
    local malloc lock command row rows elides kept=() trial=()

    case $bench in
    ring) trial=(--size 64 --traversals 1) ;;
    avltree) trial=(--size 64 --threads 1 --operations 1) ;;
    *) trial=(--size 256K "${benchmark_arguments[@]}" --rounds 1) ;;
    esac
    [[ -z $counters ]] || trial+=(--counters "$counters")
    [[ -z $pin || $pin == none ]] || trial+=(--pin "$pin")
    header=
    : >"$scratch/complaints"
    while read -r malloc lock; do
        command=$(run_command "$malloc" "$lock" "$seed" "${trial[@]}" --csv --header) || exit
        if [[ -n $hosts ]]; then
            rows=$("${on_each_host[@]}" "$command" <"$hosts" 2>>"$scratch/complaints") ||
                refuse_trial "$malloc" "$lock" " on a host of $hosts"
        else
            rows=$(sh -c "$command" </dev/null 2>>"$scratch/complaints") || refuse_trial "$malloc" "$lock" ''
        fi
        rows=$(sh -c "cat$(relabel "$malloc" "$bench,")" <<<"$rows")
        [[ -n $rows ]] || die "no host in $hosts answered"
        elides=no
        while IFS= read -r row; do
            if [[ $row == bench,* ]]; then
                header=$row
            elif [[ $row != "$bench,$malloc,$lock,"* ]]; then
                die "asked for $malloc and $lock, but loaded is: $(cut -d, -f1-4 <<<"$row")"
            elif [[ $row != "$bench,$malloc,$lock,none,"* ]]; then
                elides=yes
            fi
        done <<<"$rows"
        if [[ $lock == ttstle && $elides == no ]]; then
            case $htm in
            auto) continue ;;
            native | emulated) die "--htm $htm: no transaction commits on this processor" ;;
            esac
        fi
        kept+=("$malloc $lock")
    done <<<"$combinations"
    # A complaint that all runs would repeat (no counters, for one) is shown once, here.
    sort -u -- "$scratch/complaints" >&2
    if [[ ${#kept[@]} -lt $(wc -l <<<"$combinations") ]]; then
        note "ttstle is left out: without usable transactions it is tts (--htm none measures it all the same)"
    fi
    [[ ${#kept[@]} -gt 0 ]] || die "nothing is left to measure"
    combinations=$(printf '%s\n' "${kept[@]}")
    [[ $header == "$(csv_header)" ]] || die "$program writes other columns than this version of mplace knows"
}

refuse_trial()
{
    local said

    said=$(tail -n 1 -- "$scratch/complaints")
    die "a trial run of $bench with $1 and $2 failed$3: ${said:-no message}"
}

# What is compared on --resume, then the jobs: kind, size, malloc, lock, seed, one a line.
#
# Repetition is outermost, then size; the combinations of one size follow each other in an order
# drawn anew each time, so that neither a slow drift of the machine nor a fixed neighbour favours
# one of them. Last come the pictures of the cache sets: one a size and allocator, time is nothing.
make_plan()
{
    local run size index other last list=() pick mallocs_seen
    # Knuth's MMIX generator; the high bits are the random ones.
    local state=$((seed + 1))

    printf '# %s\n' "plan 1" "program=$bench ${benchmark_arguments[*]}" "htm=$htm" \
        "runs=$runs" "seed=$seed" "settings=${settings[*]}"
    for pick in "${!allocator_files[@]}"; do
        printf '# library %s\n' "$(allocator_item "$pick")"
    done | LC_ALL=C sort
    mapfile -t list <<<"$combinations"
    for ((run = 0; run < runs; run++)); do
        while read -r size; do
            for ((last = ${#list[@]} - 1; last > 0; last--)); do
                state=$((state * 6364136223846793005 + 1442695040888963407))
                index=$((((state >> 33) & 0x7fffffff) % (last + 1)))
                other=${list[last]}
                list[last]=${list[index]}
                list[index]=$other
            done
            for pick in "${list[@]}"; do
                printf 'row\t%s\t%s\t%s\t%s\n' "$size" "${pick% *}" "${pick#* }" $((seed + run))
            done
        done <<<"$size_list"
    done
    [[ $bench == ring && $htm != emulated ]] || return 0
    mallocs_seen=$(cut -d ' ' -f 1 <<<"$combinations" | awk '!seen[$0]++')
    while read -r pick; do
        while read -r size; do
            printf 'sets\t%s\t%s\tpthread\t%s\n' "$size" "$pick" "$seed"
        done <<<"$size_list"
    done <<<"$mallocs_seen"
}

# A shell command for each job: it prints one complete line if the run ends well, else nothing.
make_jobs()
{
    local kind size malloc lock job_seed command
    local -A cached=()
    # "set count ###" lines become malloc,size,sets,ways,line,counts with the counts blank-separated.
    # shellcheck disable=SC2016 # the dollars are awk's
    local pick='/^  malloc /{m=$2} /^ring:/{s=$5} /^# L1D/{n=$3;w=$6;l=$9;next}
        n && /^ *[0-9]+ +[0-9]+/{c=c (c==""?"":" ") $2} END{print m "," s "," n "," w "," l "," c}'

    while IFS=$'\t' read -r kind size malloc lock job_seed; do
        [[ $kind != '#'* ]] || continue
        if [[ $kind == row ]]; then
            if [[ -z ${cached[$malloc $lock $job_seed]-} ]]; then
                cached[$malloc $lock $job_seed]=$(run_command "$malloc" "$lock" "$job_seed" \
                    "${benchmark_arguments[@]}" --seed "$job_seed" --csv) || exit
            fi
            # shellcheck disable=SC2016 # expanded by the shell that runs the job
            printf 'r=$(%s --size %s) && printf "%%s\\n" "$r"%s\n' "${cached[$malloc $lock $job_seed]}" "$size" \
                "$(relabel "$malloc" "$bench,")"
        else
            if [[ -z ${cached[$malloc]-} ]]; then
                command=$(run_command "$malloc" pthread "$job_seed" --traversals 1 --seed "$job_seed" --sets) || exit
                cached[$malloc]=$command
            fi
            # shellcheck disable=SC2016
            printf 'r=$(%s --size %s) && printf "%%s\\n" "$r" | awk %q%s\n' "${cached[$malloc]}" "$size" \
                "${pick//$'\n'/ }" "$(relabel "$malloc" '')"
        fi
    done
}

describe_difference()
{
    local before now

    before=$(grep '^#' -- "$out.plan" | cut -c3-)
    now=$(grep '^#' -- "$scratch/plan" | cut -c3-)
    now=$(grep -vxF -- "$before" <<<"$now" | tr '\n' ';') || true
    if [[ -n $now ]]; then
        echo "now: ${now%;}"
    else
        echo "other sizes, allocators or locks"
    fi
}

has_half_line()
{
    [[ -s $1 && $(tail -c 1 -- "$1" | wc -l) -eq 0 ]]
}

# whole_lines FILE: without a last line that has no end: the machine, not the sweep, may have stopped. None without FILE.
whole_lines()
{
    if has_half_line "$1"; then
        head -n -1 -- "$1"
    elif [[ -e $1 ]]; then
        cat -- "$1"
    fi
}

# Of a result that has no whole line: nothing, or what was written of the header when the machine stopped.
is_beginning_of_header()
{
    local begun

    begun=$(tr -d '\0' <"$1")
    [[ $header == "$begun"* ]]
}

# Cuts off a last line that has no end.
mend_last_row()
{
    local whole

    has_half_line "$1" || return 0
    whole=$(whole_lines "$1" | wc -c)
    truncate -s "$whole" -- "$1"
    note "the last line of $1 was incomplete and will be measured again"
}

load_plan()
{
    local kind size malloc lock job_seed

    # By job number, from 1, as GNU parallel counts.
    plan_kind=() plan_size=() plan_malloc=() plan_lock=() plan_seed=()
    declare -gA plan_number=() row_done=()
    local number=0
    while IFS=$'\t' read -r kind size malloc lock job_seed; do
        [[ $kind != '#'* ]] || continue
        number=$((number + 1))
        plan_kind[number]=$kind
        plan_size[number]=$size
        plan_malloc[number]=$malloc
        plan_lock[number]=$lock
        plan_seed[number]=$job_seed
        plan_number[$kind $malloc $lock $size $job_seed]=$number
    done
}

refuse_header()
{
    die "cannot resume: the first line of $out is not the header of a result"
}

# Which jobs the result has: load_rows ROWS SETS, the whole lines of $out and $out.sets.
load_rows()
{
    local bench_name malloc lock row_htm size nodes row_threads job_seed rest number line=0 counts

    while IFS=, read -r bench_name malloc lock row_htm size nodes row_threads job_seed rest; do
        line=$((line + 1))
        if [[ $line -eq 1 ]]; then
            [[ $bench_name,$malloc,$lock,$row_htm,$size,$nodes,$row_threads,$job_seed,$rest == "$(csv_header)" ]] ||
                refuse_header
            continue
        fi
        number=${plan_number[row $malloc $lock $size $job_seed]-}
        [[ -n $number && $bench_name == "$bench" ]] || die "cannot resume: line $line of $out is not of this sweep"
        [[ -z ${row_done[$number]-} ]] || die "cannot resume: line $line of $out repeats an earlier row"
        row_done[$number]=1
    done <"$1"
    line=0
    while IFS=, read -r malloc size rest; do
        line=$((line + 1))
        number=${plan_number[sets $malloc pthread $size $seed]-}
        read -r -a counts <<<"${rest##*,}"
        [[ -n $number && $malloc,$size,$rest =~ $set_row_form && ${#counts[@]} -eq ${rest%%,*} ]] ||
            die "cannot resume: line $line of $out.sets is not of this sweep"
        row_done[$number]=1
    done <"$2"
}

# A picture of the cache sets: malloc,size,sets,ways,line,counts.
set_row_form='^[^,]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+( [0-9]+)*$'

# GNU parallel --resume runs what its log lacks. The result is the truth: the log may say of a row
# that it is done when the sweep was killed before it wrote it, and the other way round.
reconcile_joblog()
{
    local number logged tabs

    printf 'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n' >"$scratch/joblog"
    [[ ! -f $1 ]] || while IFS= read -r logged; do
        number=${logged%%$'\t'*}
        tabs=${logged//[^$'\t']/}
        if [[ $number =~ ^[0-9]+$ && -n ${row_done[$number]-} && ${#tabs} -ge 8 ]]; then
            printf '%s\n' "$logged"
            row_done[$number]=2
        fi
    done <"$1" >>"$scratch/joblog"
    for number in "${!row_done[@]}"; do
        [[ ${row_done[$number]} -eq 2 ]] ||
            printf '%s\t:\t0\t0\t0\t0\t0\t0\t(from the result)\n' "$number"
    done >>"$scratch/joblog"
    cp -- "$scratch/joblog" "$1.new"
    mv -- "$1.new" "$1"
}

# One line from GNU parallel: job number, tab, what the job printed. Appended if it is the row that
# was asked for; a row that is not makes its job a failed one.
take_row()
{
    local number=${1%%$'\t'*} row=${1#*$'\t'} wanted

    [[ $number =~ ^[0-9]+$ && -n ${plan_kind[number]-} && -z ${row_done[$number]-} ]] || return 0
    if [[ ${plan_kind[number]} == sets ]]; then
        [[ $row =~ $set_row_form && $row == "${plan_malloc[number]},${plan_size[number]},"* ]] || { wrong_row[number]=$row; return 0; }
        append "$set_rows" "$out.sets" "$set_rows_length" "$row" || return 1
        set_rows_length=$((set_rows_length + ${#row} + 1))
    else
        wanted="^$bench,${plan_malloc[number]//+/\\+},${plan_lock[number]},[^,]+,${plan_size[number]},[0-9]+,[0-9]+,${plan_seed[number]},"
        [[ $row =~ $wanted ]] || { wrong_row[number]=$row; return 0; }
        append "$rows" "$out" "$rows_length" "$row" || return 1
        rows_length=$((rows_length + ${#row} + 1))
    fi
    row_done[$number]=1
    show_progress "$number"
}
wrong_row=()

# append DESCRIPTOR FILE LENGTH ROW: the whole row, or the file as it was and the end of the sweep.
append()
{
    if ! { printf '%s\n' "$4" >&"$1"; } 2>/dev/null; then
        truncate -s "$3" -- "$2" || true
        note "cannot write $2: is the disk full?"
        stop 1
        return 1
    fi
}

# Puts the rows of a complete result into the order of the plan: runs that share the machine end in
# any order.
order_rows()
{
    local bench_name malloc lock row_htm size nodes row_threads job_seed rest

    {
        printf '%s\n' "$header"
        while IFS=, read -r bench_name malloc lock row_htm size nodes row_threads job_seed rest; do
            printf '%s\t%s\n' "${plan_number[row $malloc $lock $size $job_seed]}" \
                "$bench_name,$malloc,$lock,$row_htm,$size,$nodes,$row_threads,$job_seed,$rest"
        done < <(tail -n +2 -- "$1") | sort -n | cut -f 2-
    } >"$1.new" || die "cannot write $1.new"
    # A result that is in order keeps its date.
    if cmp -s -- "$1.new" "$1"; then rm -- "$1.new"; else mv -- "$1.new" "$1"; fi
}

report_failures()
{
    local number said shown=0 failed=$((planned - finished))

    note "$failed of $planned runs failed; the others are in $out"
    for number in "${!plan_kind[@]}"; do
        [[ -z ${row_done[$number]-} ]] || continue
        shown=$((shown + 1))
        [[ $shown -le 10 ]] || { note "... and $((failed - 10)) more"; break; }
        said=$(awk -F '\t' -v n="$number" '$1 == n {text = $2} END {print text}' "$out.log" 2>/dev/null) || said=
        if [[ -n ${wrong_row[number]-} ]]; then
            said="a row of something else: ${wrong_row[number]}"
        fi
        note "failed (exit $(awk -F '\t' -v n="$number" '$1 == n {e = $7 + $8} END {print e + 0}' "$out.joblog")${said:+, $said}): $(sed -n "${number}p" "$scratch/jobs")"
    done
    # What has no number before it is no run's: GNU parallel itself could not do something.
    said=$(grep -v -e $'^[0-9]*\t' -- "$out.log" 2>/dev/null | grep . | tail -n 1) || said=
    [[ -z $said ]] || note "GNU parallel says: $said"
    note "try them again with the same options and --resume"
}

# The path of each library that a combination preloads, one a line, each once.
preloaded_libraries()
{
    local malloc lock

    while read -r malloc lock; do
        lock_libraries "$lock"
        malloc_libraries "$(allocator_item "$malloc")"
    done <<<"$combinations" | awk 'NF && !seen[$0]++'
}

# Of each its name, its package where it has one, and what tells two builds of the same version apart.
describe_libraries()
{
    local library package

    preloaded_libraries | while IFS= read -r library; do
        # Debian's packages know their files by the path without the link from /lib to /usr/lib.
        package=$(dpkg-query --search "$(readlink -f -- "$library")" 2>/dev/null | sed -n '1s/:.*//p') || package=
        [[ -z $package ]] || package=$(dpkg-query --show --showformat ', ${Package} ${Version}' "$package" 2>/dev/null) || package=
        printf 'sweep_library=%s%s, SHA-256 %.16s\n' "${library##*/}" "$package" "$(sha256sum <"$library")"
    done
}

# What the rows were measured on and with: the report tells it. One block a host.
describe_machine()
{
    local word

    printf 'sweep_command='
    for word in "${command_line[@]}"; do
        # Quoted only where a shell would need it: people read this line.
        if [[ -n $word && $word != *[!A-Za-z0-9_./,:=+-]* ]]; then printf '%s ' "$word"; else printf '%s ' "${word@Q}"; fi
    done
    printf '\n'
    printf 'sweep_settings=%s\n' "${settings[*]}"
    describe_libraries
    if [[ -n $hosts ]]; then
        "${on_each_host[@]}" "$(remote_prefix)MPLACE_BUILD=. scripts/mplace-cpu --keys" <"$hosts"
    else
        "$mplace_parts/mplace-cpu" --keys
    fi
}
