# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What the tests of the scripts share. Usage of each: NAME_test.sh SOURCE BUILD CLAIM, where CLAIM is
# a function of the file. Exit status: 0 the claim holds, 1 it does not, 77 this machine cannot tell.
# shellcheck disable=SC2034 # the tests read what is set here

if [[ $# -ne 3 ]]; then
    echo "usage: $0 SOURCE BUILD CLAIM" >&2
    exit 2
fi
source_folder=$1
build_folder=$2
claim=$3
mplace=$source_folder/scripts/mplace

# The first line of a result, written out: a result of today must be read by the scripts of tomorrow.
header=bench,malloc,lock,htm,size,nodes,threads,seed,rate,unit,sets_used,max_per_set
header+=,acquisitions,slow_path,tx_started,tx_committed,abort_conflict,abort_capacity
header+=,abort_explicit,abort_other,host,cpu,date,policy,wait,pinned,counters

# A blank in the name on purpose: no script may trip over it.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace test.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
export TMPDIR=$scratch MPLACE_BUILD=$build_folder
unset LD_PRELOAD LD_LIBRARY_PATH TTS_WAIT TTSTLE_POLICY TTSTLE_HTM MPLACE_HTM MPLACE_L1D MPLACE_L2 RAND_SEED \
    CIA_STATS RAND_STATS TTS_STATS TTSTLE_STATS MPLACE_STATS_LIVE
cd -- "$scratch"

# What ends a test by set -e is a command that was not expected to fail, and may have said nothing.
# ("set -E": in functions too. A subshell that ends so is a command that fails in the shell above it.)
set -E
said_status=0
trap 'said_status=$?; [[ $BASH_SUBSHELL -ne 0 ]] ||
    echo "$claim: ${BASH_SOURCE[0]##*/}, line $LINENO: exit status $said_status of: $BASH_COMMAND" >&2' ERR

fail()
{
    echo "$claim: $*" >&2
    [[ ! -s $scratch/err ]] || sed 's/^/  stderr: /' "$scratch/err" >&2
    exit 1
}

# Runs a command; leaves status, $scratch/out and $scratch/err.
run()
{
    status=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
}

# signalled SIGNAL COMMAND...: runs the command in a session of its own, waits until it has made the file "begun", and
# sends the signal; INT goes to all of its group, as from a terminal, and with "to=group" each does. Leaves status, out
# and err as run does. What it started must end with it, and its scratch folder go.
signalled()
{
    local signal=$1 id i

    shift
    rm -f "$scratch/begun"
    # A shell lets what it starts in the background ignore INT.
    /usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])' "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
    id=$!
    for ((i = 0; i < 300; i++)); do
        [[ ! -e $scratch/begun ]] || break
        kill -0 "$id" 2>/dev/null || fail "it ended before its signal"
        sleep 0.1
    done
    if [[ $signal == INT || ${to-} == group ]]; then kill "-$signal" -- "-$id"; else kill "-$signal" "$id"; fi
    for ((i = 0; i < 200; i++)); do
        [[ $(ps -o stat= -p "$id") == [^Z]* ]] || break
        sleep 0.1
    done
    if ((i == 200)); then
        pkill -KILL --session "$id"
        fail "it did not end by SIG$signal"
    fi
    status=0
    wait "$id" || status=$?
    for ((i = 0; i < 200; i++)); do
        [[ -n $(ps -o stat= --sid "$id" | grep -v Z) ]] || break
        sleep 0.1
    done
    if ((i == 200)); then
        ps -o pid,args --sid "$id" >>"$scratch/err"
        pkill -KILL --session "$id"
        fail "what it started goes on after SIG$signal"
    fi
    expect "scratch folders that are left" "" "$(find "$scratch" -maxdepth 1 -name 'mplace-*')"
}

expect()
{
    [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# The command must have been refused: exit 2, one line on standard error with this text, no output.
expect_refusal()
{
    expect "exit status" 2 "$status"
    expect "lines on standard error" 1 "$(wc -l <"$scratch/err")"
    grep -qF -- "$1" "$scratch/err" || fail "'$1' is not said"
    [[ ! -s $scratch/out ]] || fail "something was printed: $(head -n 3 "$scratch/out")"
}

# A build folder of its own, with the real parts but for what a test replaces.
private_build()
{
    mkdir -p "$scratch/build/bin" "$scratch/build/lib"
    ln -sf "$build_folder"/bin/* "$scratch/build/bin/"
    ln -sf "$build_folder"/lib/*.so "$scratch/build/lib/"
    export MPLACE_BUILD=$scratch/build
}

# A program that ignores preloaded libraries: $scratch/static.
need_static_program()
{
    printf 'int main(void) { return 0; }\n' >"$scratch/one.c"
    gcc -static -o "$scratch/static" "$scratch/one.c" 2>/dev/null || skip "no static C library"
}

transactions_commit()
{
    [[ $("$build_folder/bin/mplace-probe" --rtm) == usable ]]
}

skip()
{
    echo "$claim: skipped: $*"
    exit 77
}

need_simulator()
{
    [[ -x $build_folder/bin/mplace-chip ]] || skip "the simulator is not built"
}

need_memtrace()
{
    [[ -x $build_folder/lib/mplace/valgrind/memtrace-amd64-linux ]] || skip "memtrace is not built"
    command -v valgrind >/dev/null || skip "valgrind is not installed"
}

# The claim is looked up last, when all functions are there.
run_claim()
{
    declare -F "$claim" >/dev/null || fail "there is no such claim"
    "$claim"
}
