#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# From a fresh machine to the figures: installs the packages, builds, sweeps the ring quickly over
# 127 node sizes and the AVL tree over 45, counts the transactions of both under the emulator where it
# could be built (the ring's in two first-level caches), draws, and judges the paper's claims by it.
# Interrupted, it goes on where it was.
set -euo pipefail

usage()
{
    cat <<'END'
usage: scripts/reproduce.sh [--no-install] [--brief] [--out FOLDER]

  --no-install   install no packages
  --brief        two sizes, one short run each: shows that all of it works, and measures nothing
  --out FOLDER   where the result and the figures go (default: out in the source tree)

The results of a finished earlier call are kept as ring-DATE.csv and so on; an interrupted one is
completed.
END
}

die()
{
    printf 'reproduce.sh: %s\n' "$*" >&2
    exit 2
}

install=yes
brief=no
out=
while [[ $# -gt 0 ]]; do
    case $1 in
    --no-install) install=no; shift ;;
    --brief) brief=yes; shift ;;
    --out)
        [[ $# -ge 2 && -n $2 ]] || die "option --out needs a value"
        out=$2
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option '$1' (--help)" ;;
    esac
done

source=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
out=${out:-$source/out}
if ! mkdir -p -- "$out" 2>/dev/null || [[ ! -w $out ]]; then
    die "cannot write to $out"
fi
out=$(cd -- "$out" && pwd)
# What is measured is what is built here.
unset MPLACE_BUILD

cd -- "$source"
if [[ $install == yes ]]; then
    scripts/install-deps.sh --build
fi
cmake --preset release </dev/null
targets=(cia_malloc rand_malloc tts_lock ttstle_lock ring avltree mplace-probe)
# The emulator needs what the valgrind package brings.
known_targets=$(cmake --build --preset release --target help </dev/null)
if grep -qw rtmgrind <<<"$known_targets"; then
    targets+=(rtmgrind)
fi
cmake --build --preset release --target "${targets[@]}" </dev/null

results=(ring avltree)
if [[ -x build/lib/mplace/valgrind/rtmgrind-amd64-linux ]] && command -v valgrind >/dev/null; then
    results+=(avltree-emulated ring-emulated-64x8 ring-emulated-64x12)
else
    echo "reproduce.sh: no transactions are emulated: the emulator needs the valgrind package" >&2
fi

# Whether each row that was planned is there, and in the page.
is_finished()
{
    [[ -f $1 && -f $1.plan && $(wc -l <"$1") -gt $(grep -c '^row' "$1.plan") && ! $1 -nt $out/index.html ]]
}

# All of them, or it was interrupted and goes on.
finished=0
for name in "${results[@]}"; do
    if is_finished "$out/$name.csv"; then
        finished=$((finished + 1))
    fi
done
if [[ $finished -eq ${#results[@]} ]]; then
    for name in "${results[@]}"; do
        result=$out/$name.csv
        kept=$out/$name-$(date -u -r "$result" +%Y-%m-%dT%H%M%SZ).csv
        for suffix in '' .plan .joblog .machine .sets .log; do
            [[ ! -e $result$suffix ]] || mv -- "$result$suffix" "$kept$suffix"
        done
    done
fi

# How long each sweep is, and at which sizes.
ring=(--quick)
tree=(--quick --operations 100000)
emulated_tree=(--quick --runs 1
    --sizes '64,128,256,500,512,1008,1024,1528,1536,2040,2048,2544,2560,3064,3072,4080,4096')
# The ring has one thread and its transactions all write the same lines: few traversals tell.
emulated_ring=(--runs 1 --traversals 200
    --sizes '64,128,256,384,504,512,768,1008,1024,1528,1536,2040,2048,2544,2560,3064,3072,4080,4096,8192')
if [[ $brief == yes ]]; then
    ring=(--runs 1 --traversals 1000 --sizes '64,1008')
    tree=(--runs 1 --operations 1000 --sizes '64,1008')
    emulated_tree=(--runs 1 --operations 100 --sizes '64,1008')
    emulated_ring=(--runs 1 --traversals 20 --sizes '64,1008')
fi

scripts/mplace sweep ring "${ring[@]}" --malloc glibc,rand,cia --lock tts,ttstle \
    --also jemalloc:tts,mimalloc:tts --resume --out "$out/ring.csv"

# One thread a physical core, and as many as in the paper where there are so many.
# Without /sys nothing tells the cores.
allowed=$(nproc)
cores=$(lscpu --parse=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l) || cores=0
threads=4
((cores == 0 || threads <= cores)) || threads=$cores
((threads <= allowed)) || threads=$allowed
# Spinning, as in the paper: a lock that parks would measure the kernel.
TTS_WAIT=${TTS_WAIT:-spin} scripts/mplace sweep avltree "${tree[@]}" --threads "$threads" \
    --malloc glibc,rand,cia --lock tts,ttstle \
    --also jemalloc:tts,mimalloc:tts,glibc:pthread,cia:pthread --resume --out "$out/avltree.csv"
if [[ " ${results[*]} " == *' avltree-emulated '* ]]; then
    scripts/mplace sweep avltree "${emulated_tree[@]}" --htm emulated --lock ttstle \
        --malloc glibc,rand,cia,jemalloc,mimalloc --resume --out "$out/avltree-emulated.csv"
    # The two caches are those of the processors that have had RTM, up to Skylake's and from Ice Lake's on.
    for l1d in 64x8 64x12; do
        scripts/mplace sweep ring "${emulated_ring[@]}" --htm emulated --l1d "$l1d" --lock ttstle \
            --malloc glibc,cia,jemalloc,mimalloc,tcmalloc --resume --out "$out/ring-emulated-$l1d.csv"
    done
fi

files=("${results[@]/#/$out/}")
scripts/mplace plot "${files[@]/%/.csv}" --claims --out "$out"
echo "The figures: $out/index.html; what they say of the paper's claims: $out/claims.html"
