#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs test programs that are marked for DejaGnu, as those of libitm are, under libtm_runtime.so with each algorithm
# and contention manager, and under libitm itself. No part of ctest: the programs are the user's to bring.
set -euo pipefail

usage()
{
    cat <<'END'
usage: tests/tm/libitm_suite.sh [OPTION]... FOLDER

FOLDER has the test programs, *.c and *.C, in folders of their own; libitm.h is looked for beside it.

  --build DIR        where lib/libtm_runtime.so is, and the emulator (default build)
  --flags FLAGS      more options of the compiler, for instance -fno-ipa-modref
  --algorithms LIST  (default eager,lazy,norec,serial,htm,emulated; the last is htm under the emulator)
  --managers LIST    (default none,backoff,hourglass,serialise)
  --only PATTERN     programs whose name this shell pattern matches
  --timeout SECONDS  of each run (default 120); the emulator is slow

The marks dg-do, dg-options, dg-additional-options, dg-skip-if and dg-xfail-run-if that hold for every target and
dg-set-target-env-var are followed. Each program runs with TM_ALONE=0 and TM_ALONE=1. A table of outcomes, and then
each outcome that is not libitm's, go to standard output. Exit status: 0 all outcomes are libitm's or better, 1 some
are not, 2 bad arguments.
END
}

die()
{
    printf 'libitm_suite.sh: %s\n' "$*" >&2
    exit 2
}

build=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)/build
flags=
algorithms=eager,lazy,norec,serial,htm,emulated
managers=none,backoff,hourglass,serialise
only='*'
timeout=120
while [[ $# -gt 0 ]]; do
    case $1 in
    --build | --flags | --algorithms | --managers | --only | --timeout)
        [[ $# -ge 2 ]] || die "option $1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    -*) die "unknown option '$1' (--help)" ;;
    *) break ;;
    esac
done
[[ $# -eq 1 ]] || die "one folder of test programs is wanted (--help)"
folder=$(readlink -f -- "$1")
[[ -d $folder ]] || die "no folder $1"
library=$(readlink -f -- "$build/lib/libtm_runtime.so") || die "no $build/lib/libtm_runtime.so"
[[ $timeout =~ ^[1-9][0-9]{0,5}$ ]] || die "--timeout $timeout is not a number of seconds"
IFS=, read -ra compared <<<"$algorithms"
for algorithm in "${compared[@]}"; do
    [[ $algorithm =~ ^(eager|lazy|norec|serial|htm|emulated)$ ]] || die "unknown algorithm '$algorithm' (--help)"
done
IFS=, read -ra contention <<<"$managers"
read -ra more_flags <<<"$flags"
if [[ ,$algorithms, == *,emulated,* ]] &&
    ! { command -v valgrind >/dev/null && [[ -x $build/lib/mplace/valgrind/rtmgrind-amd64-linux ]]; }; then
    die "--algorithms emulated: valgrind or the emulator is missing"
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-suite.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
unset LD_PRELOAD "${!ITM_@}" "${!TM_@}"
# LD_PRELOAD splits at blanks and colons.
ln -s -- "$library" "$scratch/libtm_runtime.so"

# mark_of FILE MARK: the text of its first argument, or nothing; marks of some targets only are left out.
mark_of()
{
    sed -nE "s/.*\{ *$2 +\"([^\"]*)\" *\}.*/\1/p; s/.*\{ *$2 +([a-z]+) .*\}.*/\1/p" "$1" | head -n 1
}

holds_everywhere() { grep -qE "\{ *$2 .*\{ *\*-\*-\* *\}" "$1"; }

# compile FILE: to $scratch/NAME; says what came of it.
compile()
{
    local compiler=gcc options=-O2 kind given

    [[ $1 != *.C ]] || compiler=g++ options=
    kind=$(mark_of "$1" dg-do)
    if grep -qE '\{ *dg-options ' "$1"; then
        options=$(mark_of "$1" dg-options)
    fi
    options+=" $(mark_of "$1" dg-additional-options)"
    read -ra given <<<"$options"
    [[ ${kind:-run} == run ]] || given+=(-c)
    "$compiler" -fgnu-tm -w -I "$folder/.." "${given[@]}" "${more_flags[@]}" -o "$scratch/${1##*/}" "$1" \
        >"$scratch/said" 2>&1
}

# variables_of FILE: as env takes them.
variables_of()
{
    sed -nE 's/.*\{ *dg-set-target-env-var +([A-Z_]+) +"([^"]*)" *\}.*/\1=\2/p' "$1"
}

# outcome_of FILE SETTING...: PASS, FAIL, XFAIL, XPASS, or LATE if it did not end in time.
outcome_of()
{
    local file=$1 status=0 expected='' command=("$scratch/${1##*/}") variables

    shift
    ! holds_everywhere "$file" dg-xfail-run-if || expected=X
    [[ $* != *TM_ALGORITHM=emulated* ]] ||
        command=(env "VALGRIND_LIB=$build/lib/mplace/valgrind" TM_ALGORITHM=htm valgrind -q --tool=rtmgrind "${command[@]}")
    mapfile -t variables < <(variables_of "$file")
    timeout "$timeout" env "${variables[@]}" "$@" "${command[@]}" >"$scratch/said" 2>&1 </dev/null || status=$?
    if [[ $status -eq 0 ]]; then
        echo "${expected}PASS"
    elif [[ $status -eq 124 ]]; then
        echo LATE
    else
        echo "${expected}FAIL"
    fi
}

# better_or_same OUTCOME LIBITM'S
better_or_same() { [[ $1 == "$2" || $1 == *PASS ]]; }

declare -A outcomes libitm
programs=()
mapfile -t files < <(find "$folder" -type f \( -name "$only.c" -o -name "$only.C" \) | sort)
[[ ${#files[@]} -gt 0 ]] || die "no *.c and *.C in $folder"
for file in "${files[@]}"; do
    if holds_everywhere "$file" dg-skip-if; then
        outcomes[compiler]+=' SKIP'
    elif ! compile "$file"; then
        outcomes[compiler]+=' FAIL'
        echo "compiler: ${file##*/}: $(head -n 1 "$scratch/said")" >>"$scratch/differences"
    else
        outcomes[compiler]+=' PASS'
        kind=$(mark_of "$file" dg-do)
        [[ ${kind:-run} != run ]] || programs+=("$file")
    fi
done
rows=(compiler)

# run_all ROW SETTING...
run_all()
{
    local row=$1 file outcome

    shift
    [[ -v outcomes[$row] ]] || rows+=("$row") outcomes[$row]=
    for file in "${programs[@]}"; do
        outcome=$(outcome_of "$file" "$@")
        outcomes[$row]+=" $outcome"
        if [[ $row == libitm ]]; then
            libitm[$file]=$outcome
        elif ! better_or_same "$outcome" "${libitm[$file]}"; then
            echo "$row, ${*: -1}: ${file##*/}: $outcome, libitm ${libitm[$file]}" >>"$scratch/differences"
        fi
    done
}

run_all libitm
for algorithm in "${compared[@]}"; do
    for manager in "${contention[@]}"; do
        for alone in 0 1; do
            run_all "$algorithm, $manager" LD_PRELOAD="$scratch/libtm_runtime.so" TM_ALGORITHM="$algorithm" \
                TM_CONTENTION="$manager" TM_ALONE="$alone"
        done
    done
done

echo '| library | pass | fail | fails as marked | passes though marked | skipped | too slow |'
echo '|---|---|---|---|---|---|---|'
for row in "${rows[@]}"; do
    printf '| %s |' "$row"
    for outcome in PASS FAIL XFAIL XPASS SKIP LATE; do
        printf ' %d |' "$(tr ' ' '\n' <<<"${outcomes[$row]}" | grep -cx $outcome)" || true
    done
    echo
done
[[ ! -s $scratch/differences ]] || {
    echo
    cat -- "$scratch/differences"
    exit 1
}
