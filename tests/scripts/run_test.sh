#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace run" promises.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

the_exit_status_is_the_programs()
{
    for expected in 0 1 2 77 126 255; do
        run "$mplace" run --malloc cia --lock tts -- sh -c "exit $expected"
        expect "exit status" "$expected" "$status"
    done
    # A program that a signal ended is seen as such by who waits for it.
    run "$mplace" run -- sh -c 'kill -TERM $$'
    expect "exit status after a signal" 143 "$status"
}

arguments_and_standard_input_reach_the_program()
{
    expect "arguments" '[a b][][*][--malloc]' "$("$mplace" run -- printf '[%s]' 'a b' '' '*' --malloc)"
    expect "standard input" "text" "$(echo text | "$mplace" run --malloc cia -- cat)"
    # shellcheck disable=SC2016 # the program's shell expands it
    expect "the program's own name" sh "$("$mplace" run -- sh -c 'echo "$0"')"
}

nothing_is_printed_but_what_the_program_prints()
{
    run "$mplace" run --malloc cia --lock ttstle -- true
    [[ ! -s $scratch/out && ! -s $scratch/err ]] || fail "something was printed: $(cat "$scratch/out")"
}

# The names of what LD_PRELOAD has in a program that was started with these options.
preloaded()
{
    # shellcheck disable=SC2016 # the program's shell expands it
    "$mplace" run "$@" -- /bin/sh -c 'echo "$LD_PRELOAD"' | tr ':' '\n' | sed 's|.*/||' | paste -sd ' '
}

the_lock_comes_before_rand_before_the_allocator_before_the_callers_own()
{
    [[ -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 ]] || skip "libjemalloc2 is not installed"
    export LD_PRELOAD=libm.so.6
    expect "order" "libtts_lock.so librand_malloc.so libjemalloc.so.2 libm.so.6" \
        "$(preloaded --malloc rand+jemalloc --lock tts)"
    expect "order" "libttstle_lock.so libcia_malloc.so libm.so.6" "$(preloaded --malloc cia --lock ttstle)"
    expect "glibc and pthread" "libm.so.6" "$(preloaded)"
}

what_is_asked_for_is_what_is_loaded()
{
    local malloc lock row

    for malloc in glibc cia rand jemalloc mimalloc tcmalloc tbbmalloc rand+cia rand+jemalloc; do
        for lock in pthread tts ttstle; do
            run "$mplace" run --malloc $malloc --lock $lock -- "$build_folder/bin/ring" --size 64 --traversals 1 --csv
            if [[ $status -eq 2 ]] && grep -q 'is not installed' "$scratch/err"; then
                continue
            fi
            expect "exit status with $malloc and $lock" 0 "$status"
            row=$(cut -d, -f1-3 "$scratch/out")
            expect "label" "ring,$malloc,$lock" "$row"
        done
    done
}

any_library_can_be_the_allocator()
{
    cd -- "$build_folder/lib"
    run "$mplace" run --malloc mine=./libcia_malloc.so --lock tts -- "$build_folder/bin/ring" --size 64 --traversals 10 --csv
    expect "exit status" 0 "$status"
    expect "what served" ring,cia,tts "$(cut -d, -f1-3 "$scratch/out")"
    run "$mplace" run --malloc mine=./none.so -- true
    expect_refusal "the library of mine is not a readable file: './none.so'"
    run "$mplace" run --malloc a/b=./libcia_malloc.so -- true
    expect_refusal "'a/b' is no name for an allocator"
    cp libcia_malloc.so "$scratch/with blank.so"
    run "$mplace" run --malloc mine="$scratch/with blank.so" -- true
    expect_refusal "cannot preload a file with"
}

what_is_no_library_is_refused_as_the_allocator()
{
    local folder

    # Without a blank in its name.
    folder=$(mktemp -d /tmp/mplace-test.XXXXXX)
    echo rubbish >"$folder/rows.csv"
    head -c 2000 "$build_folder/lib/libcia_malloc.so" >"$folder/cut.so"
    run "$mplace" run --malloc mine="$folder/rows.csv" -- touch ran
    mv err err.rows
    run "$mplace" run --malloc mine="$folder/cut.so" -- touch ran
    rm -r "$folder"
    expect_refusal "the library of mine cannot be preloaded: '$folder/cut.so' (damaged)"
    mv err.rows err
    expect_refusal "the library of mine cannot be preloaded: '$folder/rows.csv' (file too short)"
    [[ ! -e ran ]] || fail "the program ran"
}

a_cache_that_cannot_be_is_refused_before_anything_runs()
{
    local l1d subcommand

    for l1d in 60x12 2097152x8 64x1025 64x8x48 64x8x8192 64x8x8; do
        run "$mplace" run --l1d $l1d -- touch ran
        expect_refusal "--l1d '$l1d'"
    done
    for subcommand in "run --htm emulated --l1d 64x65 -- touch ran" "run --htm emulated --l1d 64x8x32 -- touch ran" \
        "smoke --l1d 64" "smoke --l1d 60x8" "doctor --l1d 60x8 -- touch ran" \
        "sweep ring --htm emulated --l1d 60x8 --out ran" "calibrate --l1d 60x8 --out ran" "calibrate --l2 64 --out ran"; do
        read -r -a words <<<"$subcommand"
        run "$mplace" "${words[@]}"
        expect_refusal "--l"
    done
    [[ ! -e ran ]] || fail "it ran all the same"
    run "$mplace" run --l1d 64x12x128 --malloc cia -- true
    expect "exit status" 0 "$status"
    expect "complaints" "" "$(cat "$scratch/err")"
}

a_folder_with_a_blank_in_its_name_is_no_obstacle()
{
    mkdir -p "$scratch/a build/lib" "$scratch/a build/bin"
    cp "$build_folder"/lib/*.so "$scratch/a build/lib/"
    ln -s "$build_folder"/bin/* "$scratch/a build/bin/"
    export MPLACE_BUILD="$scratch/a build"
    expect "label" "ring,cia,tts" \
        "$("$mplace" run --malloc cia --lock tts -- "$build_folder/bin/ring" --size 64 --traversals 1 --csv | cut -d, -f1-3)"
}

valgrind_tools_in_a_folder_with_a_blank_in_its_name_are_no_obstacle()
{
    local command

    need_memtrace
    private_build
    ln -s "$build_folder/lib/mplace" "$scratch/build/lib/"
    for command in "run --htm emulated" "trace --out trace" "doctor --out page" "doctor --sections --out page"; do
        # shellcheck disable=SC2086 # words
        run "$mplace" $command -- "$build_folder/bin/ring" --help
        expect "exit status of $command" 0 "$status"
        expect "complaints of $command" "" "$(grep -v '^mplace trace: trace: ' err || true)"
    done
    command -v parallel >/dev/null || return 0
    run "$mplace" sweep ring --htm emulated --l1d 64x8 --sizes 64 --traversals 10 --runs 1 --malloc glibc --lock ttstle \
        --out rows.csv
    expect "exit status of sweep" 0 "$status"
    expect "complaints of sweep" "" "$(grep -v ' 1 rows in ' err || true)"
    [[ ! -e rows.csv.log ]] || fail "a run complains: $(cat rows.csv.log)"
}

a_bad_option_is_one_line_and_exit_2()
{
    run "$mplace" run --malloc dlmalloc -- true
    expect_refusal "unknown allocator 'dlmalloc'"
    run "$mplace" run --malloc '' -- true
    expect_refusal "--malloc needs a value"
    run "$mplace" run --malloc 'glibc cia' -- true
    expect_refusal "unknown allocator 'glibc cia'"
    run "$mplace" run --malloc -- true
    expect_refusal "unknown allocator"
    run "$mplace" run --lock spin -- true
    expect_refusal "unknown lock 'spin'"
    run "$mplace" run --htm sometimes -- true
    expect_refusal "unknown --htm 'sometimes'"
    run "$mplace" run --l1d 64 -- true
    expect_refusal "--l1d '64'"
    run "$mplace" run --l1d 0x8 -- true
    expect_refusal "--l1d '0x8'"
    run "$mplace" run --fast -- true
    expect_refusal "unknown option '--fast'"
    run "$mplace" run --malloc
    expect_refusal "needs a value"
    run "$mplace" run --malloc cia --
    expect_refusal "which program?"
}

a_missing_library_says_how_to_get_it()
{
    private_build
    rm "$scratch/build/lib/libcia_malloc.so"
    run "$mplace" run --malloc cia -- true
    expect_refusal "libcia_malloc.so is missing; build it with: cmake"
    run "$mplace" run --malloc rand+cia -- true
    expect_refusal "libcia_malloc.so is missing"
}

a_program_that_is_not_there_is_127_and_one_that_cannot_run_126()
{
    run "$mplace" run --malloc cia -- no-such-program
    expect "exit status" 127 "$status"
    echo text >"$scratch/file"
    run "$mplace" run --malloc cia -- "$scratch/file"
    expect "exit status" 126 "$status"
}

what_cannot_be_executed_is_as_the_shell_says()
{
    mkdir "$scratch/bin"
    echo text >"$scratch/bin/in_the_path"
    PATH=$scratch/bin:$PATH run "$mplace" run --malloc cia -- in_the_path
    expect "status of a file in PATH that is not executable" 126 "$status"
    run "$mplace" run --malloc cia -- "$scratch"
    expect "status of a folder" 126 "$status"
    run "$mplace" run --malloc cia -- "$scratch/no/such/file"
    expect "status of a path that leads nowhere" 127 "$status"
    printf '#!/no/such/interpreter\n' >"$scratch/script"
    printf '\0\1\2' >"$scratch/junk"
    chmod +x "$scratch/script" "$scratch/junk"
    run "$mplace" run --malloc cia -- "$scratch/script"
    expect "status without the interpreter" 127 "$status"
    grep -q 'the interpreter of .* is missing: /no/such/interpreter' "$scratch/err" || fail "not said"
    printf '#!/bin/sh\r\n' >"$scratch/script"
    run "$mplace" run --malloc cia -- "$scratch/script"
    expect "status with a carriage return" 127 "$status"
    grep -q 'is missing: /bin/sh with a carriage return, as of Windows' "$scratch/err" || fail "$(cat "$scratch/err")"
    for not in /etc/passwd /usr; do
        printf '#!%s\n' "$not" >"$scratch/script"
        run "$mplace" run --malloc cia -- "$scratch/script"
        expect "status with $not as interpreter" 126 "$status"
        expect "what is said" "mplace run: the interpreter of $scratch/script cannot be executed: $not" "$(cat "$scratch/err")"
    done
    run "$mplace" run --malloc cia -- "$scratch/junk"
    expect "status of what is no program" 126 "$status"
    expect "lines" 1 "$(wc -l <"$scratch/err")"
    # A text without an interpreter is the shell's, under the libraries all the same.
    # shellcheck disable=SC2016 # the script's shell expands it
    printf 'echo "$1" "$LD_PRELOAD"\n' >"$scratch/text"
    chmod +x "$scratch/text"
    run "$mplace" run --malloc cia -- "$scratch/text" argument
    grep -q '^argument .*libcia_malloc.so$' "$scratch/out" || fail "got: $(cat "$scratch/out")"
}

programs_that_would_run_without_the_libraries_are_refused()
{
    printf 'int main(void) { return 0; }\n' >"$scratch/one.c"
    gcc -o "$scratch/musl" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 "$scratch/one.c"
    run "$mplace" run --lock tts -- "$scratch/musl"
    expect_refusal "is linked with another C library than glibc (its loader is /lib/ld-musl-x86_64.so.1)"
    printf '\177ELF\1\1\1%070d' 0 >"$scratch/other"
    chmod +x "$scratch/other"
    run "$mplace" run --lock tts -- "$scratch/other"
    expect_refusal "is not an x86-64 program"
    cp /bin/true "$scratch/true"
    chmod g+s "$scratch/true"
    if [[ -g $scratch/true ]]; then
        run "$mplace" run --malloc cia -- "$scratch/true"
        expect_refusal "setuid or setgid"
    fi
    # The program that env looks for is what counts.
    printf '#!/usr/bin/env musl\n' >"$scratch/script"
    chmod +x "$scratch/script"
    PATH=$scratch:$PATH run "$mplace" run --malloc cia -- "$scratch/script"
    expect_refusal "musl is linked with another C library"
    gcc -static-pie -o "$scratch/static" "$scratch/one.c" 2>/dev/null || return 0
    run "$mplace" run --malloc cia -- "$scratch/static"
    expect_refusal "statically linked"
}

a_program_with_file_capabilities_is_refused()
{
    local setcap=/usr/sbin/setcap

    [[ -x $setcap ]] || setcap=/sbin/setcap
    cp /bin/true "$scratch/true"
    "$setcap" cap_net_raw+ep "$scratch/true" 2>/dev/null || skip "no capabilities for files here"
    run "$mplace" run --malloc cia -- "$scratch/true"
    expect_refusal "file capabilities"
}

a_static_program_is_refused()
{
    printf 'int main(void) { return 0; }\n' >"$scratch/one.c"
    gcc -static -o "$scratch/static" "$scratch/one.c" 2>/dev/null || skip "no static C library"
    gcc -o "$scratch/dynamic" "$scratch/one.c"
    run "$mplace" run --malloc cia -- "$scratch/static"
    expect_refusal "statically linked"
    run "$mplace" run --malloc cia -- "$scratch/dynamic"
    expect "exit status of the dynamic one" 0 "$status"
    run "$mplace" run -- "$scratch/static"
    expect "exit status when nothing is preloaded" 0 "$status"
    # The line that names an interpreter knows no quoting, hence a folder without a blank.
    interpreter=$(TMPDIR=/tmp mktemp)
    cp "$scratch/static" "$interpreter"
    chmod +x "$interpreter"
    printf '#!%s\n' "$interpreter" >"$scratch/script"
    chmod +x "$scratch/script"
    run "$mplace" run --malloc cia -- "$scratch/script"
    rm -f -- "$interpreter"
    expect_refusal "statically linked"
}

a_setuid_program_is_refused()
{
    cp /bin/true "$scratch/true"
    chmod u+s "$scratch/true"
    [[ -u $scratch/true ]] || skip "this file system has no setuid"
    run "$mplace" run --malloc cia -- "$scratch/true"
    expect_refusal "setuid"
}

a_script_runs_in_its_interpreter()
{
    # shellcheck disable=SC2016 # the script's shell expands it
    printf '#!/bin/sh\necho "$1" "$LD_PRELOAD"\n' >"$scratch/script"
    chmod +x "$scratch/script"
    run "$mplace" run --malloc cia -- "$scratch/script" argument
    grep -q '^argument .*libcia_malloc.so$' "$scratch/out" || fail "got: $(cat "$scratch/out")"
}

native_transactions_are_refused_where_none_commits()
{
    if transactions_commit; then
        skip "transactions commit here"
    fi
    run "$mplace" run --lock ttstle --htm native -- true
    expect_refusal "no transaction commits on this processor"
}

emulation_is_refused_without_the_emulator()
{
    private_build
    run "$mplace" run --lock ttstle --htm emulated -- true
    expect_refusal "is not built"
}

an_emulated_run_is_the_program_under_the_tool_with_the_libraries()
{
    # The tool itself is not the subject: a valgrind that tells how it was called stands for it.
    private_build
    mkdir -p "$scratch/build/lib/mplace/valgrind" "$scratch/bin"
    printf '#!/bin/sh\n' >"$scratch/build/lib/mplace/valgrind/rtmgrind-amd64-linux"
    # shellcheck disable=SC2016 # the fake's shell expands it
    printf '#!/bin/sh\necho "$*|$(readlink -f "$VALGRIND_LIB")|$MPLACE_HTM|$LD_LIBRARY_PATH|$LD_PRELOAD"\n' >"$scratch/bin/valgrind"
    chmod +x "$scratch/build/lib/mplace/valgrind/rtmgrind-amd64-linux" "$scratch/bin/valgrind"
    PATH=$scratch/bin:$PATH run "$mplace" run --lock ttstle --htm emulated -- /bin/true 'a b'
    expect "call" "--tool=rtmgrind --vgdb=no -q /bin/true a b|$scratch/build/lib/mplace/valgrind|emulated|$scratch/build/lib|libttstle_lock.so" \
        "$(cat "$scratch/out")"
    PATH=$scratch/bin:$PATH run "$mplace" run --htm emulated --l1d 64x12 --stats -- /bin/true
    expect "call with a cache and statistics" "--tool=rtmgrind --vgdb=no --l1d=64x12 /bin/true" \
        "$(cut -d'|' -f1 "$scratch/out")"
    PATH=$scratch/bin:$PATH run "$mplace" run --htm emulated --stats=json -- /bin/true
    expect "call with statistics as JSON" "--tool=rtmgrind --vgdb=no -q --rtm-out=mplace-run.X/%p.rtmgrind.json /bin/true" \
        "$(sed 's|=/.*/mplace-run.[A-Za-z0-9]*/|=mplace-run.X/|; s/|.*//' "$scratch/out")"
}

statistics_are_on_standard_error_only_when_asked_for()
{
    run "$mplace" run --malloc cia --lock ttstle --stats -- "$build_folder/bin/ring" --size 64 --traversals 10 --csv
    expect "lines on standard output" 1 "$(wc -l <"$scratch/out")"
    grep -q libttstle_lock "$scratch/err" || fail "the lock told nothing"
    grep -q libcia_malloc "$scratch/err" || fail "the allocator told nothing"
}

statistics_are_json_when_asked_for()
{
    run "$mplace" run --malloc rand+cia --lock ttstle --stats=json -- bash -c '/bin/ls / >/dev/null; exit 7'
    expect "exit status" 7 "$status"
    /usr/bin/python3 - "$scratch/err" >"$scratch/seen" <<'END' || fail "no JSON, an object a report"
import json
import sys
text = open(sys.argv[1]).read()
decoder = json.JSONDecoder()
processes = set()
while text.strip():
    report, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    processes.add(report["process"])
    print(report["library"])
print(len(processes))
END
    expect "reports, and processes" "2 2 libcia_malloc 2 librand_malloc 2 libttstle_lock" \
        "$(tail -n 1 "$scratch/seen") $(head -n -1 "$scratch/seen" | sort | uniq -c | xargs)"
    run "$mplace" run --stats=xml -- touch ran
    expect_refusal "--stats 'xml' is no form of a report: text or json"
}

an_emulated_program_that_becomes_another_user_reports()
{
    [[ $(id -u) -eq 0 ]] || skip "only root can become another user"
    [[ -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] || skip "rtmgrind is not built"
    type -P valgrind >/dev/null || skip "valgrind is not installed"
    chmod 755 .
    printf '#include <unistd.h>\nint main(void) { return setgid(65534) != 0 || setuid(65534) != 0; }\n' >other.c
    gcc -o other other.c
    run "$mplace" run --lock ttstle --htm emulated --stats=json -- ./other
    expect "exit status" 0 "$status"
    grep -q '^{"pid": ' err || fail "the emulator did not report"
    expect "lines that are not JSON" "" "$(grep -E '^(==|mplace|valgrind)' err || true)"
}

# What the processes of a program report comes when it has ended: "what process" a line.
reports()
{
    sed -n 's/^mplace: \([a-z]*\) of process \([0-9]*\) .*/\1 \2/p' "$scratch/err"
}

a_percent_sign_in_the_temporary_folders_name_is_no_obstacle()
{
    mkdir "$scratch/100%p"
    export TMPDIR=$scratch/100%p
    run "$mplace" run --malloc cia --stats=json -- printenv TMPDIR
    expect "TMPDIR of the program" "$TMPDIR" "$(cat out)"
    expect "reports" 1 "$(grep -c 'libcia_malloc' err || true)"
    if [[ -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] && command -v valgrind >/dev/null; then
        run "$mplace" run --htm emulated --stats=json -- echo here
        expect "output" here "$(cat out)"
        expect "reports of the emulator" 1 "$(grep -c '^{"pid": ' err || true)"
    fi
}

statistics_of_all_processes_come_after_the_end()
{
    # Three processes of three programs, one of them through exec; and standard error closed in one.
    run "$mplace" run --malloc cia --lock tts --stats -- \
        bash -c '/bin/ls / >/dev/null; (exec /usr/bin/sort /dev/null 2>&-); echo the last words >&2; exit 7'
    expect "exit status" 7 "$status"
    expect "the first line" "the last words" "$(head -n 1 "$scratch/err")"
    expect "reports of each" "3 locks 3 malloc" "$(reports | cut -d' ' -f1 | sort | uniq -c | xargs)"
    expect "processes" 3 "$(reports | cut -d' ' -f2 | sort -u | wc -l)"
    expect "what is left behind" "" "$(find "$TMPDIR" -name 'mplace-run.*')"
}

processes_that_go_on_are_told_of_in_one_line()
{
    local folder

    mkfifo "$scratch/go"
    run "$mplace" run --malloc cia --stats -- bash -c "cat '$scratch/go' >/dev/null 2>&1 & true"
    expect "exit status" 0 "$status"
    folder=$(sed -n "s/^mplace run: some of the program's processes still run; .* will be in //p" "$scratch/err")
    [[ -d $folder ]] || fail "no folder is named: $(cat "$scratch/err")"
    echo >"$scratch/go"
    for ((i = 0; i < 200; i++)); do
        [[ -z $(find "$folder" -name '*.CIA_STATS' -size +0) ]] || return 0
        sleep 0.1
    done
    fail "the process that went on left no report"
}

with_statistics_signals_and_the_end_pass_through()
{
    local running signal

    for signal in USR1 TERM KILL; do
        # shellcheck disable=SC2016 # the program's shell expands it
        "$mplace" run --malloc cia --stats -- \
            bash -c 'trap "exit 42" USR1; echo $$ >"$1"; for ((i = 0; i < 1000; i++)); do sleep 0.05; done' bash "$scratch/id" 2>/dev/null &
        running=$!
        until [[ -s $scratch/id ]]; do sleep 0.05; done
        kill "-$signal" "$running"
        status=0
        wait "$running" 2>/dev/null || status=$?
        case $signal in
        USR1) expect "status after a signal that the program handles" 42 "$status" ;;
        TERM) expect "status after one that ends it" 143 "$status" ;;
        KILL)
            for ((i = 0; i < 200; i++)); do
                # Whoever is its parent now may not look after its children.
                [[ $(ps -o state= -p "$(cat "$scratch/id")") == [RSDT]* ]] || return 0
                sleep 0.1
            done
            fail "the program outlived mplace"
            ;;
        esac
        rm "$scratch/id"
    done
}

settings_reach_the_program()
{
    # shellcheck disable=SC2016 # the program's shell expands it
    expect "the setting of --live" "1" "$("$mplace" run --live --malloc cia -- sh -c 'echo "$MPLACE_STATS_LIVE"')"
    # shellcheck disable=SC2016 # the program's shell expands it
    expect "settings" "64x12 none" \
        "$("$mplace" run --l1d 64x12 --lock ttstle --htm none -- sh -c 'echo "$MPLACE_L1D $TTSTLE_HTM"')"
    # shellcheck disable=SC2016
    expect "binding, which a hardware transaction cannot wait for" "htm 1, eager " \
        "$("$mplace" run --tm htm -- sh -c 'echo -n "$TM_ALGORITHM ${LD_BIND_NOW-}, "'
        "$mplace" run --tm eager -- sh -c 'echo "$TM_ALGORITHM ${LD_BIND_NOW-}"')"
    # shellcheck disable=SC2016
    expect "the policy, which run never sets" "" "$("$mplace" run --lock ttstle -- sh -c 'echo "${TTSTLE_POLICY-}"')"
}

run_claim
