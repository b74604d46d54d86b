#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# From a fresh machine to the figures: installs the packages, builds, sweeps the ring quickly over
# 125 node sizes, and draws. Interrupted, it goes on where it was.
set -euo pipefail

usage()
{
    cat <<'END'
usage: scripts/reproduce.sh [--no-install] [--out FOLDER]

  --no-install   install no packages
  --out FOLDER   where the result and the figures go (default: out in the source tree)

A finished result from an earlier call is kept as ring-DATE.csv; an interrupted one is completed.
END
}

die()
{
    printf 'reproduce.sh: %s\n' "$*" >&2
    exit 2
}

install=yes
out=
while [[ $# -gt 0 ]]; do
    case $1 in
    --no-install) install=no; shift ;;
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
cmake --build --preset release --target cia_malloc rand_malloc tts_lock ttstle_lock ring mplace-probe </dev/null

result=$out/ring.csv
if [[ -f $result && -f $result.plan && $(wc -l <"$result") -gt $(grep -c '^row' "$result.plan") ]]; then
    kept=$out/ring-$(date -u -r "$result" +%Y-%m-%dT%H%M%SZ).csv
    for suffix in '' .plan .joblog .machine .sets .log; do
        [[ ! -e $result$suffix ]] || mv -- "$result$suffix" "$kept$suffix"
    done
fi
scripts/mplace sweep ring --quick --malloc glibc,rand,cia --lock tts,ttstle \
    --also jemalloc:tts,mimalloc:tts --resume --out "$result"
scripts/mplace plot "$result" --out "$out"
echo "The figures: $out/index.html"
