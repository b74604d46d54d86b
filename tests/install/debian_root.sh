#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The package in a clean Debian: a minimal root made by debootstrap, with nothing but what the package
# depends on and recommends. Installs it, does there what the README shows, removes it, and compares the
# files with those before. Usage: debian_root.sh SOURCE BUILD. Needs root, debootstrap and the mirror that
# this machine's apt is configured for. The minimal root is kept in the build folder.
# Exit status: 0; 1 something did not work; 77 this machine cannot tell.
set -euo pipefail

build=$2
kept=$build/debian-root.tar

fail()
{
    printf 'debian_root.sh: %s\n' "$*" >&2
    exit 1
}

skip()
{
    printf 'skipped: %s\n' "$*"
    exit 77
}

# Everything below runs where mounts are this process's own and go with it, and where what it started is
# ended with it.
if [[ -z ${MPLACE_ROOT_INSIDE-} ]]; then
    [[ $(id -u) -eq 0 ]] || skip "this needs root"
    for tool in debootstrap chroot dpkg-deb unshare cpack; do
        command -v $tool >/dev/null || skip "$tool is not installed"
    done
    unshare --mount --pid --fork true 2>/dev/null || skip "no mount namespaces here"
    MPLACE_ROOT_INSIDE=1 exec unshare --mount --pid --fork --kill-child -- "$0" "$@"
fi

# shellcheck disable=SC1091 # the host's file
suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
# As apt says them after all its files were read: no mirror is named here.
# shellcheck disable=SC2016 # apt expands it
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -F'|' -v suite="$suite" '$1 == "Debian" && $2 == suite && $3 == "main" {print $4; exit}')
[[ -n $mirror ]] || skip "apt knows no mirror of Debian $suite (apt-get update was never run?)"

scratch=$(mktemp -d "$build/debian-root.XXXXXX")
root=$scratch/root
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system -- "$scratch"' EXIT
mkdir "$root"

proxy=$(apt-config shell proxy Acquire::http::Proxy)
eval "${proxy:-proxy=}"
if [[ ! -f $kept ]]; then
    echo "making a minimal root of $suite"
    http_proxy=${proxy:-${http_proxy-}} debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$scratch/log" 2>&1 ||
        { tail -n 5 "$scratch/log"; skip "debootstrap failed: is there a network?"; }
    rm -rf "$root/var/cache/apt/archives"/*.deb
    tar -C "$root" -cf "$kept.new" . && mv -- "$kept.new" "$kept"
else
    tar -C "$root" -xf "$kept"
fi
printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
[[ -z $proxy ]] || printf 'Acquire::http::Proxy "%s";\n' "$proxy" >"$root/etc/apt/apt.conf.d/proxy"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
mount -t proc proc "$root/proc"

# What is built is packed as it is; for make alone cpack would look whether it is up to date.
echo "packing"
(cd -- "$build" && cpack -B "$scratch/packages" -D CPACK_CMAKE_GENERATOR=Ninja -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >"$scratch/log" 2>&1 ||
    { tail -n 5 "$scratch/log"; fail "cpack failed"; }
package=$(find "$scratch/packages" -maxdepth 1 -name 'mplace_*.deb')
[[ -n $package ]] || fail "no package was made"

# A command in the root, with nothing of this machine's environment.
inside()
{
    chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/mplace-test \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -c "cd /mplace-test 2>/dev/null; $1"
}

# check WHAT COMMAND PATTERN: exit status 0, and the pattern in what it prints.
check()
{
    local begun=$SECONDS status=0

    inside "$2" >"$scratch/said" 2>&1 </dev/null || status=$?
    if [[ $status -ne 0 ]] || ! grep -qE -- "$3" "$scratch/said"; then
        tail -n 20 "$scratch/said"
        fail "$1: $2: exit status $status, '$3' wanted"
    fi
    printf 'ok  %4d s  %s\n' $((SECONDS - begun)) "$2"
}

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
