#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a reader would have to look for in every change: the environment is read in one place, by
# secure_getenv; temporary files have names that nobody can know before; nothing is made for
# everybody to write to.
#
#   life_sources_test.sh ROOT
set -euo pipefail

[[ $# -eq 1 && -d $1/src ]] || {
    echo "life_sources_test.sh: wants the root of the sources" >&2
    exit 2
}
cd -- "$1"
failed=0

# none WHAT COMMAND...: the command's output is a list of offences.
none()
{
    local what=$1 found
    shift
    found=$("$@" || true)
    [[ -n $found ]] || return 0
    printf '%s:\n%s\n' "$what" "$found" >&2
    failed=1
}

libraries=(src/base src/bank_malloc src/cia_malloc src/malloc_family src/rand_malloc src/mutex src/tm_runtime src/tts_lock src/ttstle_lock)

# shellcheck disable=SC2317 # the functions that none calls
c_files() { grep -rnE --include='*.[ch]' "$@"; }

# shellcheck disable=SC2317
unsafe_getenv() { c_files '(^|[^_[:alnum:]])getenv\(' src bench/size_histogram; }
# shellcheck disable=SC2317
getenv_elsewhere() { c_files 'getenv\(' src | grep -vE '^src/(base/settings\.c|stats_reader/.*):'; } # the reader is a program
# shellcheck disable=SC2317
creating_modes() { c_files -A1 'O_CREAT' "${libraries[@]}" | grep -E '\b0[0-7]{3}\b' | grep -vE '\b0600\b'; }
# shellcheck disable=SC2317
stdio_files() { c_files '\b(fopen|creat|tmpnam|tempnam|mktemp|shm_open)\(' "${libraries[@]}"; }
# A name below /tmp that is written down as it is; mktemp's and mkstemp's end in X.
# shellcheck disable=SC2317
fixed_names()
{
    grep -rnE --include='*.sh' --include='*.bash' --include='mplace*' --include='*.c' --include='*.h' \
        --include='*.cpp' --include='*.py' '(/var)?/tmp/[[:alnum:]_.-]' src bench sim scripts tests |
        grep -vE 'XXXXXX|life_sources_test\.sh'
}
# mplace run --stats and mplace doctor as root: a server that changes its user must be able to add its report.
# shellcheck disable=SC2317
for_everybody()
{
    grep -rnE --include='*.sh' --include='*.bash' --include='mplace*' \
        'chmod +([0-7]?[0-7][0-7][2367]|[oa]\+[rx]*w)|mkdir +-m *[0-7]*[2367]\b' scripts bench sim |
        grep -vE '^scripts/mplace-(run:[0-9]+:.*id -u.* chmod 1733 "[$]reports"|doctor:[0-9]+: +chmod 666 "[$]record")$'
}

none "getenv in a library: secure_getenv" unsafe_getenv
none "the environment is read by base/settings.c in a library" getenv_elsewhere
none "a file of a library has mode 0600" creating_modes
none "files of libraries are opened by base/exit_report.c's rules" stdio_files
none "temporary files are made by mktemp" fixed_names
none "nothing is for everybody to write to" for_everybody
exit "$failed"
