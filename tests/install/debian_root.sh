#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The package in a clean Debian, with nothing but what the package depends on and recommends. Installs it,
# does there what the README shows, removes it, and compares the files with those before.
# Usage: debian_root.sh SOURCE BUILD. Exit status: 0; 1 something did not work; 77 this machine cannot tell.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=root_common.bash
source "$(dirname -- "$0")/root_common.bash"
need cpack dpkg-deb
enter "$@"
make_root

# What is built is packed as it is; for make alone cpack would look whether it is up to date.
echo "packing"
(cd -- "$build" && cpack -B "$scratch/packages" -D CPACK_CMAKE_GENERATOR=Ninja -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >"$scratch/log" 2>&1 ||
    { tail -n 5 "$scratch/log"; fail "cpack failed"; }
package=$(find "$scratch/packages" -maxdepth 1 -name 'mplace_*.deb')
[[ -n $package ]] || fail "no package was made"

# What may change with any package: lists, logs and caches of the system.
files()
{
    (cd -- "$root" && find . -path ./proc -prune -o -path ./mplace-test -prune -o -path ./var/cache -prune -o \
        -path ./var/log -prune -o -path ./var/lib/apt -prune -o -path ./var/lib/dpkg -prune -o \
        -path ./etc/ld.so.cache -prune -o -print | LC_ALL=C sort)
}

echo "installing what the package depends on and recommends"
inside "apt-get -q update && apt-get -q -y satisfy --no-install-recommends '$(dpkg-deb -f "$package" Depends)' \
    '$(dpkg-deb -f "$package" Recommends)'" >"$scratch/log" 2>&1 ||
    { tail -n 5 "$scratch/log"; fail "the dependencies cannot be satisfied"; }
mkdir "$root/mplace-test"
files >"$scratch/before"

cp -- "$package" "$root/mplace-test/mplace.deb"
check "the package is all that is still missing" 'apt-get -q -y install ./mplace.deb && dpkg -l mplace' '^ii +mplace '
check "the list of subcommands" 'mplace help' '^  sweep '
check "this machine" 'mplace cpu' '^L1 data cache'
check "the emulator is found" 'mplace cpu --keys' '^emulator=usable$'
check "a program under cia" 'mplace run --malloc cia --lock ttstle --stats -- ls /' 'under libcia_malloc'
check "without the script, by the library's name" 'CIA_STATS=1 LD_PRELOAD=libcia_malloc.so ls /' 'under libcia_malloc'
check "as nobody" 'setpriv --reuid=65534 --regid=65534 --clear-groups mplace run --malloc cia -- ring --size 500 --traversals 1000' \
    'L1D sets +64 of 64 used'
check "the tree" 'mplace run --malloc cia --lock tts -- avltree --size 64 --threads 2 --operations 1000' 'malloc +cia'
check "transactions without TSX" 'mplace run --malloc cia --lock ttstle --htm emulated --stats -- ring --size 64 --traversals 100' 'htm +emulated'
check "the tool by Valgrind alone" 'VALGRIND_LIB=/usr/lib/mplace/valgrind valgrind --tool=rtmgrind ring --size 64 --traversals 10' 'rtmgrind'
check "a sweep" 'mplace sweep ring --quick --sizes 512,1016,1024 --malloc glibc,cia --lock tts --out ring.csv && cat ring.csv' '^ring,cia,tts,none,1016,'
check "its figures" 'mplace plot ring.csv --claims --out page && ls page' 'index.html'
check "the claims" 'mplace claims ring.csv' '^#'
# A machine that is busy may be too slow for one of its runs; nothing else is tried again.
check "smoke" 'for try in 1 2 3; do mplace smoke >said && break; grep -q "did not end in" said || break; done; cat said' \
    '^ok .*AVL tree, glibc'
check "what malloc costs" 'mplace compare --malloc cia,glibc --workload larson --threads 1 --rounds 1 --shorten 1000' 'larson'
check "the doctor" 'mplace doctor -- ring --size 1008 --traversals 50' 'ring|set'
check "what runs can be looked at" 'mplace run --malloc cia --live -- sleep 600 & for i in {1..300}; do mplace stats $! && break; sleep 0.2; done; kill $!' \
    'libcia_malloc'

check "it goes" 'apt-get -q -y purge mplace; ! command -v mplace' ''
rm -rf -- "$root/mplace-test"
files >"$scratch/after"
diff "$scratch/before" "$scratch/after" || fail "the package left something behind, or took something with it"
echo "nothing is left of it"
