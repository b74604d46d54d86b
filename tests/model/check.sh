#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One exhaustive search of one scenario by spin, and whether its outcome is the one that is claimed.
set -euo pipefail

usage()
{
    cat <<'END_OF_USAGE'
usage: check.sh FOLDER SCENARIO [-DSWITCH]... holds LINE...
       check.sh FOLDER SCENARIO [-DSWITCH]... fails ERROR [STATE]...

  FOLDER    where the verifier is built and run; emptied first
  SCENARIO  a .pml file beside this script, without the suffix
  -DSWITCH  of the model; -DRUNS_END searches for runs that never end
  holds     the search visits every state, finds no error, and comes by each LINE ("reached: LINE")
  fails     it finds an error that matches the regular expression ERROR, and in the state after it
            there is a line that matches each regular expression STATE

Exit status: 0 as claimed, 1 not, 2 bad arguments, 77 spin or a compiler is not there.
END_OF_USAGE
}

die()
{
    printf 'check.sh: %s\n' "$*" >&2
    exit 2
}

not_as_claimed()
{
    printf 'check.sh: %s: %s\n' "$scenario ${switches[*]}" "$*" >&2
    sed 's/^/  pan: /' pan.out >&2
    if [[ -e model.pml.trail ]]; then
        echo "the steps: cd $folder && spin -t -p -g ${switches[*]} model.pml" >&2
        replay | tail -n 60 >&2
    fi
    exit 1
}

# The steps to the error and the state after it.
replay()
{
    spin -t -p -g "${switches[@]}" model.pml 2>&1
}

if [[ ${1:-} == --help ]]; then
    usage
    exit 0
fi
[[ $# -ge 4 ]] || die "too few arguments (--help)"
folder=$1 scenario=$2
shift 2
switches=()
verifier=(-DSAFETY)
options=()
while [[ ${1:-} == -D* ]]; do
    switches+=("$1")
    if [[ $1 == -DRUNS_END ]]; then
        verifier=(-DNP)
        options=(-l)
    fi
    shift
done
[[ $# -ge 2 && ($1 == holds || $1 == fails) ]] || die "expected holds or fails and what to see (--help)"
claim=$1
shift

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
[[ -f $here/$scenario.pml ]] || die "no scenario '$scenario' in $here"
compiler=${CC:-cc}
for tool in spin "$compiler"; do
    if ! command -v "$tool" >/dev/null; then
        echo "check.sh: $tool is not there"
        exit 77
    fi
done

rm -rf -- "$folder"
mkdir -p -- "$folder"
cd -- "$folder"
cp -- "$here"/*.pml .
cp -- "$scenario.pml" model.pml
spin -a "${switches[@]}" model.pml >spin.out 2>&1 || { cat spin.out >&2; exit 1; }
# An error is found soon: optimising the verifier would take longer. NOREDUCE: every interleaving, so
# that nothing rests on which steps spin takes for independent.
optimise=-O1
[[ $claim == holds ]] || optimise=-O0
"$compiler" "$optimise" -w -DNOREDUCE -DMEMLIM=2000 "${verifier[@]}" -o pan pan.c
# The depth is a limit to fail at, not to stop at: the search says when it came to it.
./pan "${options[@]}" -m400000 >pan.out 2>&1 || not_as_claimed "the verifier ended with status $?"

if [[ $claim == holds ]]; then
    grep -q -E '^State-vector .* errors: 0$' pan.out || not_as_claimed "an error"
    ! grep -q -i -E 'not completed|too small|out of memory|truncated|bit-state|^pan:.*reached' pan.out ||
        not_as_claimed "the search did not visit every state"
    for line; do
        grep -q -F -x "reached: $line" pan.out || not_as_claimed "never reached: $line"
    done
    grep -E '^State-vector|states, stored' pan.out
    exit 0
fi
error=$1
shift
grep -q -E "^pan:1: $error" pan.out || not_as_claimed "no error that matches '$error'"
for state; do
    # Not -q: the rest of the replay has to find a reader.
    replay | sed -n '/^spin: trail ends/,$p' | grep -E "$state" >/dev/null ||
        not_as_claimed "no '$state' in the state after the error"
done
grep -E '^pan:1:' pan.out
