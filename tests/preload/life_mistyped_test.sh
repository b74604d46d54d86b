#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A variable that nearly is a setting gets one line that names it, its value and the setting that was
# probably meant; what others call RAND_ or TTS_ passes in silence, and so does what is a setting of another
# library. The children of a process that said it are silent.
#
#   life_mistyped_test.sh LIBRARIES WORKER
set -euo pipefail

[[ $# -eq 2 ]] || {
    echo "life_mistyped_test.sh: wants the folder of the libraries and a program" >&2
    exit 2
}
# shellcheck source-path=SCRIPTDIR source=life_common.bash
source "$(dirname -- "$0")/life_common.bash" "$1"
worker=$2

# under MALLOC LOCK VARIABLE...: the worker with these variables; it must do what it does.
under()
{
    what="${*:3} under $1 and $2"
    run env "${@:3}" LD_PRELOAD="$(preload_of "$1" "$2")" "$worker" status 3
    [[ $status -eq 3 ]] || fail "$what: exit status $status"
    [[ $(<"$scratch/out") == "works under $1 and $2" ]] || fail "$what: wrote something else"
}

# told MALLOC LOCK VARIABLE SETTING
told()
{
    under "$1" "$2" "$3"
    [[ $(<"$scratch/err") == "mplace: $3 has no effect: it is no setting; did you mean $4?" ]] || fail "$what: another line"
}

told cia plain CIA_HARDENED=1 CIA_HARDEN
told cia plain CIA_HARDNE=1 CIA_HARDEN
told cia plain CIA_DECAY=0 CIA_DECAY_MS
told cia plain CIA_STAT=1 CIA_STATS
told cia plain MPLACE_L1=64x8 MPLACE_L1D
told rand plain RAND_SEEDS=1 RAND_SEED
told bank plain BANK_COLORS=cpu BANK_COLOURS
told plain tts TTS_WIAT=spin TTS_WAIT
told plain tts MPLACE_STAT_LIVE=1 MPLACE_STATS_LIVE
told plain ttstle TTSTLE_POLCY=paper TTSTLE_POLICY
told plain ttstle TTSTLE_WAIT=spin TTS_WAIT
# Of two libraries that know it, one says it.
told cia ttstle MPLACE_NUMMA=0-1 MPLACE_NUMA
told rand tts MPLACE_STAT_LIVE=1 MPLACE_STATS_LIVE

# Settings, others' variables, one that is empty, one of a library that is not there.
for variable in CIA_HARDEN=0 MPLACE_L1D=64x8 TTS_WAIT=spin RAND_SEED=1 TTSTLE_POLICY=paper MPLACE_BUILD=x RAND_MAX=9 \
    RAND_API_KEY=x TTS_VOICE=en TTS_ENGINE=x TTS_HOME=/x CIA_WORLD=x CIA_=x CIA_HARDENED= XCIA_HARDENED=1 cia_harden=1; do
    for set in "${all_sets[@]}"; do
        read -r malloc lock _ <<<"$set"
        under "$malloc" "$lock" "$variable"
        [[ ! -s $scratch/err ]] || fail "$what: it is complained about"
    done
done
under rand tts CIA_HARDENED=1
[[ ! -s $scratch/err ]] || fail "$what: it is complained about"

# The subshell waits: a process that starts after its parent has ended, or during its exec, says it again.
what="a tree of processes"
for set in "${all_sets[@]}"; do
    read -r malloc lock _ <<<"$set"
    run env CIA_HARDENED=1 RAND_SEEDS=1 BANK_COLORS=x TTS_WIAT=x LD_PRELOAD="$(preload_of "$malloc" "$lock")" \
        sh -c '(ls / & ls /; ls /; wait; sh -c "ls /; ls /; :"); :'
    expected=1
    [[ $malloc == plain || $lock == plain ]] || expected=2
    [[ $(wc -l <"$scratch/err") -eq $expected ]] || fail "$what under $set: not one line a library"
done
