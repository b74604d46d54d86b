#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds everything and runs the tests, from a clean clone too: installs what is missing first.
# ctest's summary is the last thing printed and its exit status is this one's.
set -euo pipefail

usage()
{
    cat <<'END'
usage: scripts/test.sh [OPTION]...

  --no-install   install no packages; what is missing is a skip, or a failure to build
  --apps         also real programs at the sizes of real use
  --soak         also the long runs
  --root         also what needs root
  --browser      also what needs a browser
  -L LABEL       only this label (may be repeated): unit, preload, emulated, sanitize, apps-quick,
                 apps, soak, root, browser
  -R REGEX       of these only the tests whose name matches
  -E REGEX       of these not the tests whose name matches

Without -L: unit, preload, emulated, sanitize and apps-quick. Exit status: 0 all that ran passed,
1 the packages could not be installed or the tree does not build, 2 bad arguments, 8 a test failed.
END
}

die()
{
    printf 'test.sh: %s\n' "$*" >&2
    exit 2
}

install=yes
default='unit preload emulated sanitize apps-quick'
more=
chosen=
names=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --no-install) install=no; shift ;;
    --apps | --soak | --root | --browser) more+=" ${1#--}"; shift ;;
    -L | -R | -E)
        [[ $# -ge 2 ]] || die "option $1 needs a value"
        if [[ $1 != -L ]]; then
            names+=("$1" "$2")
        elif [[ " $default apps soak root browser " == *" $2 "* && $2 != *' '* && -n $2 ]]; then
            chosen+=" $2"
        else
            die "unknown label '$2': $default apps soak root browser"
        fi
        shift 2
        ;;
    --help | -h) usage; exit 0 ;;
    *) die "unknown option '$1' (--help)" ;;
    esac
done
read -ra labels <<<"${chosen:-$default}$more"

cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
if [[ $install == yes ]]; then
    wanted=(--build --test)
    [[ " ${labels[*]} " != *' apps '* ]] || wanted+=(--apps)
    [[ " ${labels[*]} " != *' browser '* ]] || wanted+=(--browser)
    scripts/install-deps.sh "${wanted[@]}" || exit 1
fi

cmake --preset release </dev/null || exit 1
cmake --build --preset release </dev/null || exit 1

# A label matches as a whole: apps must not bring apps-quick along.
regex=$(printf '|%s' "${labels[@]}")
exec ctest --test-dir build --output-on-failure --no-tests=error --parallel 2 \
    -L "^(${regex#|})\$" "${names[@]}" </dev/null
