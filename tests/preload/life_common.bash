# SPDX-License-Identifier: MIT
#
# What the life_*_test.sh share: the preload libraries under names without blanks, which LD_PRELOAD
# would split, and runs of a program under each of them. Source it with the folder of the libraries
# in $1. Sets: libraries (a folder), scratch (another one, removed at exit).
# shellcheck shell=bash

[[ -f $1/libcia_malloc.so ]] || {
    echo "${0##*/}: no libcia_malloc.so in '$1'" >&2
    exit 2
}
base=${TMPDIR:-/tmp}
if [[ $base == *[[:space:]:]* || ! -w $base ]]; then base=/tmp; fi
scratch=$(mktemp -d "$base/mplace-life.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
libraries=$scratch/lib
ln -s -- "$(readlink -f -- "$1")" "$libraries"
what=$(basename -- "$0" .sh) # a failure says what was tried

# A failure names the claim, and shows what the last run wrote.
fail()
{
    echo "${0##*/}: $*" >&2
    [[ ! -e $scratch/out ]] || sed 's/^/  stdout: /' "$scratch/out" >&2
    [[ ! -e $scratch/err ]] || sed 's/^/  stderr: /' "$scratch/err" >&2
    exit 1
}

skip()
{
    echo "skipped: $*"
    exit 77
}

# The file name of a library of this project: cia, rand, bank, tts, ttstle.
library()
{
    case $1 in
    cia | rand | bank) printf '%s\n' "$libraries/lib$1_malloc.so" ;;
    tts | ttstle) printf '%s\n' "$libraries/lib$1_lock.so" ;;
    esac
}

# A set of libraries is written "MALLOC LOCK [NAME=VALUE...]"; "plain" is none.
# cia works by sequences or under locks; the locks and the allocators are apart and together.
all_sets=("cia plain CIA_RSEQ=1" "cia plain CIA_RSEQ=0" "rand plain" "bank plain" "plain tts"
    "plain ttstle" "cia ttstle" "rand tts")

# Where bank has no map it says so, in a line of its own.
export BANK_MAP=skylake-2channels BANK_PHYSICAL=simulated

# preload_of MALLOC LOCK: the value of LD_PRELOAD.
preload_of()
{
    local preload=
    [[ $1 == plain ]] || preload=$(library "$1")
    [[ $2 == plain ]] || preload+="${preload:+:}$(library "$2")"
    printf '%s\n' "$preload"
}

# run COMMAND...: its status in $status, what it wrote in $scratch/out and $scratch/err.
run()
{
    status=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
}

# expect_worked MALLOC LOCK: the worker's last run was whole, under these two, and nobody else wrote.
expect_worked()
{
    [[ $status -eq 0 ]] || fail "$what under $1 and $2: exit status $status"
    [[ $(<"$scratch/out") == "works under $1 and $2" ]] || fail "$what: not under $1 and $2"
    [[ ! -s $scratch/err ]] || fail "$what under $1 and $2: wrote to standard error"
}

# in_each_set COMMAND...: plainly and under each set of libraries; the command ends in the worker.
in_each_set()
{
    local set
    local -a words
    run "$@"
    expect_worked plain plain
    for set in "${all_sets[@]}"; do
        read -ra words <<<"$set"
        run env "${words[@]:2}" LD_PRELOAD="$(preload_of "${words[0]}" "${words[1]}")" "$@"
        expect_worked "${words[0]}" "${words[1]}"
    done
}
