#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Where a process may find itself, and what may be preloaded beside us: life_worker works there
# under each library as it does without, and nobody writes a line unasked.
#
#   life_places_test.sh LIBRARIES PROGRAMS CASE
#       LIBRARIES, PROGRAMS: folders of the build; CASE: one of the functions below
set -euo pipefail

[[ $# -eq 3 ]] || {
    echo "life_places_test.sh: wants the folders of the libraries and of the programs, and a case" >&2
    exit 2
}
# shellcheck source-path=SCRIPTDIR source=life_common.bash
source "$(dirname -- "$0")/life_common.bash" "$1"
programs=$2
worker=$programs/life_worker
what=${3//_/ }

# works_alone PROGRAM REASON: without a library it works; where it could not be built, for REASON, the
# case is skipped.
works_alone()
{
    [[ -x $1 ]] || skip "$2"
    run "$1"
    expect_worked plain plain
}

# ---- limits and surroundings ----

closed_standard_streams()
{
    local set
    local -a words
    # Nothing can be read from it but its status; a report to nowhere is none.
    for set in "plain plain" "${all_sets[@]}"; do
        read -ra words <<<"$set"
        status=0
        env "${words[@]:2}" {CIA,RAND,BANK,TTS,TTSTLE}_STATS=1 \
            LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" \
            "$worker" status 6 <&- >&- 2>&- || status=$?
        [[ $status -eq 6 ]] || fail "$what under $set: exit status $status"
    done
}

# A program that starts without standard error, or closes it, gets its number for a file of its own.
a_file_that_has_the_number_of_standard_error()
{
    local set
    local -a words
    for set in "${all_sets[@]}"; do
        read -ra words <<<"$set"
        for number in "2>&-" "2>$scratch/err"; do
            : >"$scratch/err"
            run bash -c "exec env \"\$@\" $number" bash "${words[@]:2}" \
                {CIA,RAND,BANK,TTS,TTSTLE}_STATS=1 \
                LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" \
                "$worker" data-at-2 "$scratch/data"
            [[ $status -eq 0 ]] || fail "$what under $set, $number: exit status $status"
            [[ $(<"$scratch/data") == data ]] || fail "$set: the report is in a file of the program"
        done
        grep -q '^mplace' "$scratch/err" || fail "$set: no report where standard error was"
    done
}

no_file_descriptor()
{
    in_each_set "$worker" no-files
    # Where the copy of standard error has no number to go to, the report goes to that itself.
    local set
    local -a words
    for set in "${all_sets[@]}"; do
        read -ra words <<<"$set"
        run env "${words[@]:2}" {CIA,RAND,BANK,TTS,TTSTLE}_STATS=1 \
            LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" \
            bash -c 'ulimit -n 16 && exec "$@"' bash "$worker"
        [[ $status -eq 0 ]] || fail "$what under $set: exit status $status"
        grep -q '^mplace' "$scratch/err" || fail "$what under $set: no report"
    done
}

no_environment()
{
    local set preload loader=/lib64/ld-linux-x86-64.so.2
    local -a words
    [[ -x $loader ]] || skip "no $loader"
    "$loader" --help | grep -q -e --preload || skip "this loader has no --preload"
    for set in "${all_sets[@]}"; do
        read -ra words <<<"$set"
        [[ ${#words[@]} -eq 2 ]] || continue # a setting is a variable
        preload=$(preload_of "${words[0]}" "${words[1]}")
        run env -i "$loader" --preload "$preload" "$worker"
        [[ ${words[0]} != bank ]] || sed -i '/BANK_MAP is not set/d' "$scratch/err"
        expect_worked "${words[0]}" "${words[1]}"
    done
}

binding_at_once()
{
    in_each_set env LD_BIND_NOW=1 "$worker"
}

no_new_privileges()
{
    command -v setpriv >/dev/null || skip "no setpriv; install util-linux"
    in_each_set setpriv --no-new-privs "$worker"
}

no_sequences_by_a_tunable()
{
    in_each_set env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$worker"
}

# A report that cannot be written is one line on standard error, of each library, and changes neither what the program
# writes nor how it ends.
full_disk_and_file_size_limit()
{
    local set size out told name lines
    local -a words
    for set in "${all_sets[@]}"; do
        read -ra words <<<"$set"
        for size in unlimited 0; do
            local file=/dev/full
            [[ $size == unlimited ]] || file=$scratch/report
            status=0
            # Through a pipe, which no limit of files meets.
            out=$(ulimit -f "$size" && env "${words[@]:2}" {CIA,RAND,BANK,TTS,TTSTLE}_STATS="$file" \
                LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" \
                "$worker" status 7 2>&1) || status=$?
            [[ $status -eq 7 ]] || fail "$file under $set: exit status $status"
            told="^mplace: [A-Z]*_STATS=$file: the report could not be written in full \\(errno [0-9]+\\)\$"
            [[ $(grep -Ev "$told" <<<"$out") == "works under ${words[0]} and ${words[1]}" ]] ||
                fail "$file under $set: wrote something else: $out"
            lines=0
            for name in "${words[@]:0:2}"; do
                [[ $name == plain ]] || ((++lines))
            done
            [[ $(grep -Ec "$told" <<<"$out") -eq $lines ]] || fail "$file under $set: not $lines lines: $out"
            rm -f "$scratch/report"
        done
    done
}

# ---- system calls refused ----

system_calls_refused()
{
    local error calls
    local -a words
    for error in EPERM ENOSYS; do
        for calls in rseq madvise getcpu membarrier sched_getaffinity mincore mremap gettid \
            "mbind get_mempolicy clock_gettime sched_yield" \
            "rseq getcpu madvise membarrier sched_getaffinity mbind get_mempolicy mincore mremap"; do
            read -ra words <<<"$calls"
            what="$error for $calls"
            run "$programs/life_refuse" "$error" "${words[@]}" -- "$worker"
            [[ $status -ne 77 ]] || skip "$(<"$scratch/err")"
            expect_worked plain plain
            local set
            local -a of_set
            for set in "cia ttstle" "rand tts"; do
                read -ra of_set <<<"$set"
                run env LD_PRELOAD="$(preload_of "${of_set[@]}")" \
                    "$programs/life_refuse" "$error" "${words[@]}" -- "$worker"
                expect_worked "${of_set[@]}"
            done
        done
    done
}

# Chunks are 4 MiB. Where the kernel gives no mapping of that length there is no memory: the
# program is told so, and sees no signal.
long_mappings_refused()
{
    local error
    in_each_set "$programs/life_refuse" EPERM mmap:67108864 -- "$worker"
    for error in EPERM ENOMEM; do
        run env LD_PRELOAD="$(preload_of cia plain)" \
            "$programs/life_refuse" "$error" mmap:4194304 -- "$worker"
        [[ $status -eq 1 ]] || fail "$what, $error: exit status $status"
        grep -q 'block != NULL' "$scratch/err" || fail "$what, $error: another end"
    done
}

# ---- roots without /proc and /sys ----

a_root_without_proc_and_sys()
{
    local set loader=/lib64/ld-linux-x86-64.so.2 object
    local -a words root
    if [[ $(id -u) -eq 0 ]] && chroot / true 2>/dev/null; then
        root=(chroot)
    elif unshare --user --map-root-user chroot / true 2>/dev/null; then
        root=(unshare --user --map-root-user chroot)
    else
        skip "neither root nor a user namespace in which to chroot"
    fi
    mkdir -p "$scratch/root/lib64" "$scratch/root/reports"
    cp -L "$loader" "$scratch/root$loader"
    cp "$worker" "$scratch/root/worker"
    for object in "$libraries"/lib{cia,rand,bank}_malloc.so "$libraries"/lib{tts,ttstle}_lock.so; do
        cp -L "$object" "$scratch/root/lib64/"
    done
    while read -r object; do
        cp -L "$object" "$scratch/root/lib64/"
    done < <(ldd "$worker" | awk '$3 ~ /^\// { print $3 }')
    for set in "plain plain" "${all_sets[@]}"; do
        read -ra words <<<"$set"
        local preload=
        preload=$(preload_of "${words[0]}" "${words[1]}")
        run env -i PATH="$PATH" BANK_MAP="$BANK_MAP" BANK_PHYSICAL="$BANK_PHYSICAL" "${words[@]:2}" \
            CIA_STATS=/reports/a TTSTLE_STATS=/reports/b "${root[@]}" "$scratch/root" \
            "$loader" --library-path /lib64 --preload "${preload//"$libraries"//lib64}" /worker
        expect_worked "${words[0]}" "${words[1]}"
        [[ ${words[0]} != cia ]] || grep -q '^ *blocks\.served *[1-9]' "$scratch/root/reports/a" ||
            fail "$what under $set: no statistics"
        [[ ${words[1]} != ttstle ]] || grep -q '^ *acquisitions *[1-9]' "$scratch/root/reports/b" ||
            fail "$what under $set: no statistics"
    done
}

# ---- others beside us ----

all_libraries_in_every_order()
{
    local first second third fourth malloc lock one list
    for first in cia rand tts ttstle; do
        for second in cia rand tts ttstle; do
            for third in cia rand tts ttstle; do
                for fourth in cia rand tts ttstle; do
                    list="$first $second $third $fourth"
                    [[ $(tr ' ' '\n' <<<"$list" | sort -u | wc -l) -eq 4 ]] || continue
                    malloc=rand lock=ttstle # the first one of each kind serves
                    [[ $list != *cia*rand* ]] || malloc=cia
                    [[ ${list/ttstle/TLE} != *tts*TLE* ]] || lock=tts
                    local preload=
                    for one in $list; do
                        preload+="${preload:+:}$(library "$one")"
                    done
                    what="the order $list"
                    run env LD_PRELOAD="$preload" "$worker"
                    expect_worked "$malloc" "$lock"
                done
            done
        done
    done
}

# The loader takes one file once; a copy is another file.
one_library_twice()
{
    local name path second
    local -a words
    for name in cia rand tts ttstle; do
        path=$(library "$name")
        cp -L "$path" "$scratch/another_${path##*/}"
        case $path in
        *_malloc.so) words=("$name" plain) ;;
        *) words=(plain "$name") ;;
        esac
        for second in "$path" "$scratch/another_${path##*/}"; do
            run env LD_PRELOAD="$path:$second" "$worker"
            expect_worked "${words[@]}"
        done
    done
}

another_allocator_behind_ours()
{
    local other path found=no
    for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
        path=$(ldconfig -p 2>/dev/null | awk -v name="$other" '$1 == name { print $NF }' | head -n 1)
        [[ -n $path ]] || continue
        found=yes what="$other behind"
        run env LD_PRELOAD="$(library cia):$path" "$worker"
        expect_worked cia plain
        run env LD_PRELOAD="$(library cia):$(library tts):$path" "$worker"
        expect_worked cia tts
        run env LD_PRELOAD="$path:$(library ttstle)" "$worker"
        expect_worked plain ttstle
    done
    [[ $found == yes ]] || skip "no other allocator is installed"
}

functions_of_libc_that_allocate_and_lock_in_another_library()
{
    local set hook hook_file preload order
    local -a words reports=({CIA,RAND,BANK,TTS,TTSTLE}_STATS=/dev/null)
    for hook in clock kernel syscall; do
        for set in "plain plain" "${all_sets[@]}" "cia plain CIA_HARDEN=1" "cia plain MPLACE_NUMA=0/1"; do
            read -ra words <<<"$set"
            preload=$(preload_of "${words[0]}" "${words[1]}")
            hook_file=$programs/plugins/life_hook_$hook.so
            for order in "$hook_file${preload:+:$preload}" "${preload:+$preload:}$hook_file"; do
                what="$hook in another library"
                run timeout 60 env "${words[@]:2}" "${reports[@]}" LD_PRELOAD="$order" "$worker"
                expect_worked "${words[0]}" "${words[1]}"
                run timeout 60 env {CIA_HARDEN,MPLACE_NUMA,RAND_SEED,BANK_FOLLOW,TTS_WAIT}=x LD_PRELOAD="$order" "$worker"
                sed -i '/^mplace: .* is not allowed/d' "$scratch/err"
                expect_worked "${words[0]}" "${words[1]}"
            done
        done
    done
    # Without a map bank asks whether its parent has said so.
    run timeout 60 env -u BANK_MAP LD_PRELOAD="$(preload_of bank plain):$programs/plugins/life_hook_kernel.so" "$worker"
    sed -i '/BANK_MAP is not set/d' "$scratch/err"
    expect_worked bank plain
}

# libasan wants to be first, and says so in a line of its own; the program does not start. Behind it
# the allocators are idle, and the locks serve.
a_program_built_with_address_sanitizer()
{
    local sanitized=$programs/life_worker_asan runtime name
    works_alone "$sanitized" "the compiler has no address sanitizer"
    runtime=$(ldd "$sanitized" | awk '/libasan/ { print $3 }')
    [[ -n $runtime ]] || skip "the sanitizer's runtime is not a library of its own"
    for name in cia rand tts ttstle; do
        run env LD_PRELOAD="$(library "$name")" "$sanitized"
        [[ $status -ne 0 ]] || fail "$what under $name: went on"
        grep -q 'ASan runtime does not come first' "$scratch/err" || fail "$what: no line"
        [[ ! -s $scratch/out ]] || fail "$what under $name: ran before it ended"
    done
    run env LD_PRELOAD="$runtime:$(library tts)" "$sanitized"
    expect_worked plain tts
    run env LD_PRELOAD="$runtime:$(library ttstle)" "$sanitized"
    expect_worked plain ttstle
    run env LD_PRELOAD="$runtime:$(library cia)" "$sanitized"
    expect_worked cia plain
}

an_audit_library_that_allocates()
{
    local set
    local -a words
    for set in "plain plain" "${all_sets[@]}"; do
        read -ra words <<<"$set"
        run env "${words[@]:2}" LD_AUDIT="$programs/plugins/life_audit.so" \
            LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" "$worker"
        grep -q '^audited [1-9]' "$scratch/err" || fail "$what under $set: there was no audit"
        sed -i '/^audited /d' "$scratch/err"
        expect_worked "${words[0]}" "${words[1]}"
    done
    # The loader allocates before libc has begun; the settings count then, too.
    for set in "cia CIA_HARDEN" "rand RAND_PROBABILITY" "bank BANK_FOLLOW"; do
        read -ra words <<<"$set"
        run env "${words[1]}=x" LD_AUDIT="$programs/plugins/life_audit.so" \
            LD_PRELOAD="$(preload_of "${words[0]}" plain)" "$worker"
        grep -q "^mplace: ${words[1]}=x is not allowed" "$scratch/err" || fail "$what: ${words[1]} is not read"
    done
}

# ---- programs that no library reaches ----

# Neither a word nor a difference: there is no loader that would read LD_PRELOAD.
reach_nothing()
{
    local program=$1 name
    works_alone "$program" "$2"
    for name in cia rand tts ttstle; do
        run env LD_PRELOAD="$(library "$name")" CIA_STATS=1 TTS_STATS=1 "$program"
        expect_worked plain plain
    done
}

static_programs() { reach_nothing "$programs/life_worker_static" "no static libc"; }
static_pie_programs() { reach_nothing "$programs/life_worker_static_pie" "no static-pie libc"; }
static_musl_programs() { reach_nothing "$programs/life_worker_musl_static" "install musl-tools"; }

# musl's loader honours LD_PRELOAD and finds no __register_atfork: it names library and symbol, and
# starts nothing.
musl_programs()
{
    local name program=$programs/life_worker_musl
    works_alone "$program" "no musl compiler; install musl-tools"
    for name in cia rand tts ttstle; do
        run env LD_PRELOAD="$(library "$name")" "$program"
        [[ $status -eq 127 ]] || fail "$what under $name: exit status $status"
        grep -q "^Error .*$(library "$name").*not found" "$scratch/err" || fail "$what: no clear line"
        [[ ! -s $scratch/out ]] || fail "$what under $name: ran before it ended"
    done
}

# The loader of the other word size says that it cannot, in one line, and runs the program without.
programs_of_32_bits()
{
    local name program=$programs/life_worker_32
    works_alone "$program" "no 32-bit libc; install gcc-multilib"
    for name in cia rand tts ttstle; do
        run env LD_PRELOAD="$(library "$name")" "$program"
        [[ $(wc -l <"$scratch/err") -eq 1 ]] || fail "$what under $name: not one line"
        grep -q 'wrong ELF class' "$scratch/err" || fail "$what under $name: another line"
        : >"$scratch/err"
        expect_worked plain plain
    done
}

[[ $(type -t "$3") == function ]] || {
    echo "life_places_test.sh: unknown case '$3'" >&2
    exit 2
}
"$3"
