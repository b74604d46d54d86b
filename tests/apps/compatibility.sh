#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes docs/compatibility.md of the rows that the application tests left. Nothing in the table comes
# from anywhere else: a program that was not run says so.
#
#   usage: compatibility.sh ROWS_FOLDER OUTPUT PROGRAM...
#
# A row is a file PROGRAM.COMBINATION.SIZE (full or quick) with one line of fields between tabs:
# program, combination, size, result (ok, failed, skipped), the most allocations and the most
# acquisitions that one process counted (- without such a library), date, packages with versions, what
# was done. A full row is preferred to a quick one, which is marked.
set -euo pipefail

die() {
    printf 'compatibility.sh: %s\n' "$*" >&2
    exit 2
}

[[ $# -ge 3 ]] || die "usage: compatibility.sh ROWS_FOLDER OUTPUT PROGRAM..."
rows=$1 output=$2
shift 2
[[ -d $rows ]] || die "there is no folder $rows: run scripts/test.sh --apps first"
scripts=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
combinations=(cia cia-locks cia-compact rand tts ttstle cia+ttstle)

# short COUNT: 1234567 as 1.2 M.
short() {
    awk -v n="$1" 'BEGIN {
        if (n < 1e3) printf "%d", n
        else if (n < 1e6) printf(n < 1e4 ? "%.1f k" : "%.0f k", n / 1e3)
        else printf(n < 1e7 ? "%.1f M" : "%.0f M", n / 1e6)
    }'
}

# read_row PROGRAM COMBINATION: sets the fields; false if there is none.
read_row() {
    local size
    for size in full quick; do
        row=$rows/$1.$2.$size
        [[ -e $row ]] || continue
        IFS=$'\t' read -r _ _ size result allocations acquisitions _ packages what <"$row" ||
            die "the row $row is not whole"
        if [[ $size == quick ]]; then mark=' °'; else mark=; fi
        return 0
    done
    return 1
}

cell() {
    local counts=() IFS
    read_row "$1" "$2" || {
        printf 'not run'
        return
    }
    case $result in
    ok)
        if [[ $allocations != - ]]; then counts+=("$(short "$allocations")"); fi
        if [[ $acquisitions != - ]]; then counts+=("$(short "$acquisitions")"); fi
        printf 'ok'
        if [[ ${#counts[@]} -gt 0 ]]; then printf ' %s' "${counts[0]}"; fi
        if [[ ${#counts[@]} -gt 1 ]]; then printf ' / %s' "${counts[1]}"; fi
        ;;
    failed) printf '**failed**' ;;
    *) printf '%s' "$result" ;;
    esac
    printf '%s' "$mark"
}

# The comment at the head of a script, without the lines of the licence and the interpreter.
head_comment() {
    awk '!/^#/ { exit } NR > 3 { sub(/^# ?/, ""); print }' "$scripts/$1.sh"
}

new=$(mktemp "$output.XXXXXX")
trap 'rm -f -- "$new"' EXIT
dates=$(find "$rows" -type f -exec cut -f 7 {} + | sort -u | sed -n '1p;$p' | uniq)
[[ -n $dates ]] || die "there is no row in $rows: run scripts/test.sh --apps first"
# shellcheck source=/dev/null
system=$(. /etc/os-release && printf '%s' "$PRETTY_NAME")
processor=$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
{
    cat <<END
# Programs that run under the libraries

This file is made by \`cmake --build build --target compatibility\` of what the application tests left
(\`scripts/test.sh --apps\`); do not edit it. Run: ${dates//$'\n'/ to }, on
$system, Linux $(uname -r), $(getconf GNU_LIBC_VERSION), $(nproc) CPUs ($processor).

Each cell is a run of an unmodified Debian program as an unprivileged user. Its result is computed first without
any library, then with, and both must be equal byte for byte, where the program promises that; where it does
not (servers under load, stress), it must report no error. \`tests/apps/PROGRAM.sh\` has the details.

\`ok\` is followed by the most calls that one process counted: allocations of cia and rand, acquisitions of locks
of tts and ttstle; both for cia+ttstle. 0 acquisitions: the library was there to the end of the program, which
took none. \`°\`: at the small size of the quick tests. cia-locks is cia with \`CIA_RSEQ=0\`, cia-compact with
\`CIA_LINES=compact\`.

END
    printf '| Program | What was done |'
    printf ' %s |' "${combinations[@]}"
    printf '\n|---|---|'
    printf -- '---|%.0s' "${combinations[@]}"
    printf '\n'
    for program; do
        packages=- what=-
        for combination in "${combinations[@]}"; do
            if read_row "$program" "$combination" && [[ $what != - ]]; then break; fi
        done
        printf '| %s: %s | %s |' "$program" "$packages" "$what"
        for combination in "${combinations[@]}"; do
            printf ' %s |' "$(cell "$program" "$combination")"
        done
        printf '\n'
    done
    cat <<'END'

## What each run shows, and how the library is known to have served

Where a program cannot show that a library served it, the reason stands here.
END
    for program; do
        printf '\n**%s.** ' "$program"
        head_comment "$program"
    done
} >"$new"
chmod 644 "$new"
mv -- "$new" "$output"
trap - EXIT
