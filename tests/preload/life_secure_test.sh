#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A program that runs with more rights than its user (AT_SECURE) and has our libraries among those
# it is linked with reads none of their settings: no report goes to a file that the user names, and
# no value that the user gives is even complained about. The same program without those rights does
# all of it, so that silence means something. The loader, too, forgets LD_PRELOAD with a slash.
#
#   life_secure_test.sh LIBRARIES LINKED WORKER
#       LINKED: life_worker, linked with all four libraries; WORKER: life_worker
#
# The copy is set-group-ID, to a group that is not the user's first: root can give it any, others
# one of theirs.
set -euo pipefail

[[ $# -eq 3 ]] || {
    echo "life_secure_test.sh: wants the folder of the libraries and two programs" >&2
    exit 2
}
# shellcheck source-path=SCRIPTDIR source=life_common.bash
source "$(dirname -- "$0")/life_common.bash" "$1"
what="a program with more rights"

group=
if [[ $(id -u) -eq 0 ]]; then
    group=65534
    [[ $(id -g) -ne 65534 ]] || group=65533
else
    for one in $(id -G); do
        [[ $one -eq $(id -g) ]] || group=$one
    done
fi
[[ -n $group ]] || skip "neither root nor a second group to give a program"
chmod 711 "$scratch"
for program in "$2" "$3"; do
    cp "$program" "$scratch/${program##*/}"
    chgrp "$group" "$scratch/${program##*/}" || skip "group $group cannot be given here"
    chmod 2711 "$scratch/${program##*/}"
done

# All settings: those that name a file a good one, the others a value that is not allowed.
reports=(CIA_STATS RAND_STATS TTS_STATS TTSTLE_STATS)
bad=(CIA_DECAY_MS CIA_HUGE_PAGES CIA_RSEQ CIA_LINES CIA_HARDEN RAND_PROBABILITY RAND_MAX_EXTRA RAND_SEED
    TTS_WAIT TTSTLE_DEFER TTSTLE_HTM TTSTLE_POLICY MPLACE_L1D MPLACE_L2 MPLACE_NUMA)
settings=(MPLACE_LOCK_STATS_TOP=none)
for name in "${reports[@]}"; do
    settings+=("$name=$scratch/$name")
done
for name in "${bad[@]}"; do
    settings+=("$name=wrong")
done

# Without more rights each of them has an effect: the bad ones a line, the others a file.
run env "${settings[@]}" "$2"
[[ $status -eq 0 ]] || fail "the same without more rights: exit status $status"
[[ $(<"$scratch/out") == "works under rand and tts" ]] || fail "the program is not linked as it should be"
for name in "${bad[@]}"; do
    # A setting that there is not yet, or not any more, has no line either way.
    strings -a "$libraries"/lib*_{malloc,lock}.so | grep -x "$name" >/dev/null || continue
    grep -q "$name=wrong" "$scratch/err" || fail "$name was not read even without more rights"
done
for name in "${reports[@]}"; do
    [[ -s $scratch/$name ]] || fail "$name gave no report even without more rights"
    rm "$scratch/$name"
done

run env "${settings[@]}" "$scratch/${2##*/}"
[[ $("$scratch/${2##*/}" secure) == yes ]] || skip "files here give no rights (nosuid, or no_new_privs)"
for name in "${reports[@]}"; do
    [[ ! -e $scratch/$name ]] || fail "$name wrote a file with the rights of another"
done
expect_worked rand tts

run env LD_PRELOAD="$(library cia)" CIA_STATS="$scratch/CIA_STATS" "$scratch/${3##*/}"
sed -i '/cannot be preloaded/d' "$scratch/err" # the loader may say so
expect_worked plain plain
