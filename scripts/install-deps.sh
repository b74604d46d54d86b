#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs the Debian packages that mplace needs, and nothing where all of them are there. Asks
# nothing; starts no service, though some packages bring one.
set -euo pipefail

usage()
{
    cat <<'END'
usage: scripts/install-deps.sh [--build] [--test] [--apps] [--browser]

  --build   to build, measure and draw
  --test    for scripts/test.sh
  --apps    for scripts/test.sh --apps
  --browser for scripts/test.sh --browser

Without options: --build and --test. Needs Debian 12 or later or Ubuntu 24.04 or later (with universe), and
root or sudo. Exit status: 0 all packages are there, 1 apt-get failed, 2 this cannot be done here.
END
}

die()
{
    printf 'install-deps.sh: %s\n' "$*" >&2
    exit 2
}

# A name with "|" is the same thing under the names of different releases. The emulator is built
# from valgrind's parts; the allocators are what sweeps compare with.
build_packages='gcc libc6-dev make cmake python3 pkg-config systemtap-sdt-dev libhwloc-dev libpfm4-dev libzstd-dev
    valgrind parallel datamash gnuplot-nox fonts-dejavu-core util-linux
    libjemalloc2 libmimalloc2.0|libmimalloc3 libtcmalloc-minimal4|libtcmalloc-minimal4t64
    libtbbmalloc2 libpmemobj-dev libsqlite3-dev'
test_packages='check g++ shellcheck spin perl procps zsh fish git jq xz-utils sqlite3
    python3 libpython3.11-testsuite|libpython3.12-testsuite|libpython3.13-testsuite
    redis-server redis-tools memcached libmemcached-tools stress-ng libcap2-bin musl-tools
    openssh-client openssh-server rsync dpkg-dev file debootstrap mandoc python3-yaml locales'
# The programs of --test run at the sizes of real use, and these beside them.
apps_packages="$test_packages
    php-cli ruby nodejs default-jdk-headless clang lld ninja-build openssl ripgrep
    postgresql postgresql-contrib mariadb-server nginx wrk zstd pigz pbzip2 lbzip2 ffmpeg imagemagick salmon chromium"
browser_packages='chromium'

# What a release may lack: without it the rest is built and tested.
optional_packages='libpmemobj-dev libsqlite3-dev chromium salmon'

wanted=
for argument; do
    case $argument in
    --build) wanted+=" $build_packages" ;;
    --test) wanted+=" $test_packages" ;;
    --apps) wanted+=" $apps_packages" ;;
    --browser) wanted+=" $browser_packages" ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option '$argument' (--build, --test, --apps, --browser)" ;;
    esac
done
wanted=${wanted:-$build_packages $test_packages}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is not Debian; install these packages' equivalents: $(tr -s ' \n' ' ' <<<"$wanted")"
fi

is_installed()
{
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing=()
for item in $wanted; do
    for name in ${item//|/ }; do
        if is_installed "$name"; then
            continue 2
        fi
    done
    missing+=("$item")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
        die "neither root nor sudo; as root: apt-get install ${missing[*]}"
    # -n: a password that nobody can type would wait for ever.
    sudo -n true 2>/dev/null || [[ -t 0 ]] ||
        die "sudo wants a password and there is no terminal; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0
    -o Acquire::Retries=3)
echo "install-deps.sh: installing ${missing[*]}" >&2
"${apt[@]}" update </dev/null >&2 || exit 1
names=()
for item in "${missing[@]}"; do
    chosen=${item%%|*}
    [[ " $optional_packages " != *" $item "* ]] || chosen=
    for name in ${item//|/ }; do
        # A name that other packages only mention is shown as nothing, with exit status 0.
        if [[ -n $(apt-cache show "$name" 2>/dev/null) ]]; then
            chosen=$name
            break
        fi
    done
    if [[ -n $chosen ]]; then
        names+=("$chosen")
    else
        echo "install-deps.sh: there is no $item here: left out" >&2
    fi
done
[[ ${#names[@]} -gt 0 ]] || exit 0

# invoke-rc.d asks this file whether a package may start its service; 101 says no. An existing one
# is somebody's policy, and stays.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap '"${as_root[@]}" rm -f -- "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi
"${apt[@]}" install --no-install-recommends "${names[@]}" </dev/null >&2 || exit 1
