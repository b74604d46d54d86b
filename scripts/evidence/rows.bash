# SPDX-License-Identifier: MIT
#
# What the scripts that make a document's evidence share: options, lists of names, jobs side by side, and a file of rows
# that an interrupted run may have left. Sourced after common/mplace.bash.
# shellcheck shell=bash

# read_options OPTION=VARIABLE... -- ARGUMENT...: an option with a value sets its variable, --brief and --list those of
# their names. --help prints the usage and ends.
# shellcheck disable=SC2034 # the scripts read brief and list
read_options()
{
    local value
    local -A variable=()

    while [[ $1 != -- ]]; do
        variable[${1%%=*}]=${1#*=}
        shift
    done
    shift
    while [[ $# -gt 0 ]]; do
        case $1 in
        --brief) brief=yes; shift ;;
        --list) list=yes; shift ;;
        --help | -h) show usage; exit 0 ;;
        --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        *)
            [[ -n ${variable[$1]-} ]] || unknown_option "$1"
            value=$(value_of "$@") || exit
            printf -v "${variable[$1]}" %s "$value"
            shift 2
            ;;
        esac
    done
}

# check_names OPTION LIST KNOWN...: each name of the list, comma-separated, is known.
check_names()
{
    local name names

    IFS=, read -ra names <<<"$2"
    for name in "${names[@]}"; do
        [[ " ${*:3} " == *" $name "* ]] || die "$1: there is no '$name' (--list)"
    done
}

# wait_for_less [JOBS]: waits until fewer jobs are under way than $jobs, or JOBS. A failed one sets failed.
wait_for_less()
{
    # shellcheck disable=SC2034,SC2154 # the caller's
    while (($(jobs -rp | wc -l) >= ${1:-$jobs})); do
        wait -n || failed=1
    done
}

# open_rows ROWS SETTINGS REPORT: takes the file of rows for this run alone, and writes its header, by that report, if
# it is new. Rows of other settings must not be mixed with these: they are in ROWS.settings.
open_rows()
{
    local lock_file

    exec {lock_file}>>"$1.settings"
    flock --nonblock "$lock_file" || die "another run is writing to ${1%/*}"
    if [[ -s $1.settings && $(<"$1.settings") != "$2" ]]; then
        die "the rows in ${1%/*} were made with: $(<"$1.settings"); choose another --out"
    fi
    echo "$2" >"$1.settings"
    [[ -s $1 ]] || report "$3" --header >"$1"
    # What an interrupted run left of a row.
    [[ -z $(tail -c 1 "$1") ]] || sed -i '$d' "$1"
}
