#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# life_edge_program under each library: what it does before our constructors and after our
# destructors works, also with reports at exit. And that was really the order: the loader says in
# which it initialised and ended libraries.
#
#   life_edge_test.sh LIBRARIES PROGRAM
set -euo pipefail

[[ $# -eq 2 ]] || {
    echo "life_edge_test.sh: wants the folder of the libraries and a program" >&2
    exit 2
}
# shellcheck source-path=SCRIPTDIR source=life_common.bash
source "$(dirname -- "$0")/life_common.bash" "$1"
program=$2
own_status=5

# The line of the loader about the library: its number in the file.
line_of()
{
    grep -n "calling $1: .*$2" "$scratch/err" | head -n 1 | cut -d: -f1
}

run "$program"
[[ $status -eq $own_status ]] || fail "plain: exit status $status"
for set in "${all_sets[@]}"; do
    read -ra words <<<"$set"
    preload=$(preload_of "${words[0]}" "${words[1]}")
    what="under $set"
    run env "${words[@]:2}" LD_PRELOAD="$preload" "$program"
    [[ $status -eq $own_status ]] || fail "$what: exit status $status"
    [[ ! -s $scratch/err && ! -s $scratch/out ]] || fail "$what: wrote unasked"
    run env "${words[@]:2}" LD_PRELOAD="$preload" CIA_STATS="$scratch/cia" RAND_STATS="$scratch/rand" \
        BANK_STATS="$scratch/bank" TTS_STATS="$scratch/tts" TTSTLE_STATS="$scratch/ttstle" "$program"
    [[ $status -eq $own_status ]] || fail "$what, with reports: exit status $status"
    for name in "${words[@]:0:2}"; do
        [[ $name == plain || -s $scratch/$name ]] || fail "$what: no report of $name"
        rm -f "$scratch/$name"
    done
    run env "${words[@]:2}" LD_DEBUG=files LD_PRELOAD="$preload" "$program"
    for path in ${preload//:/ }; do
        first=$(line_of init life_edge.so) second=$(line_of init "${path##*/}")
        [[ -n $first && -n $second && $first -lt $second ]] || fail "$what: not before its constructor"
        first=$(line_of fini "${path##*/}") second=$(line_of fini life_edge.so)
        [[ -n $first && -n $second && $first -lt $second ]] || fail "$what: not after its destructor"
    done
done
