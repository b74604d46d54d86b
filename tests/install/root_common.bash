# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# A minimal Debian, made by debootstrap from the mirror that this machine's apt is configured for, and kept
# in the build folder. Sourced by NAME.sh SOURCE BUILD, which then calls need, enter and make_root; gives
# $source, $build, $scratch, $root and the functions below.
# shellcheck disable=SC2034 # the tests read what is set here

source=$(cd -- "$1" && pwd)
build=$(cd -- "$2" && pwd)
kept=$build/debian-root.tar

fail()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

skip()
{
    printf 'skipped: %s\n' "$*"
    exit 77
}

# need TOOL...: this test's own.
need()
{
    [[ $(id -u) -eq 0 ]] || skip "this needs root"
    for tool in debootstrap chroot unshare "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

# enter "$@": starts the test anew where mounts are this process's own and go with it, and where what it
# started is ended with it.
enter()
{
    [[ -z ${MPLACE_ROOT_INSIDE-} ]] || return 0
    unshare --mount --pid --fork true 2>/dev/null || skip "no mount namespaces here"
    MPLACE_ROOT_INSIDE=1 exec unshare --mount --pid --fork --kill-child -- "$0" "$@"
}

make_root()
{
    local suite mirror proxy

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
}

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
