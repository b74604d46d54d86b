# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The list of "mplace compare --commands". Sourced by mplace-compare after common/mplace.bash.

# By name: the command in the shell's words.
declare -A listed_commands=()

# read_commands FILE: each line is "NAME COMMAND [ARGUMENT]..."; # begins a comment. Fills listed_commands and prints
# the jobs, "NAME 0 - 1".
read_commands()
{
    local line name words place number=0

    [[ -f $1 && -r $1 ]] || die "--commands: $1 cannot be read"
    while IFS= read -r line || [[ -n $line ]]; do
        number=$((number + 1))
        read -r name words <<<"$line"
        [[ -n $name && $name != '#'* ]] || continue
        place="--commands: line $number of $1"
        [[ $name != *[!A-Za-z0-9_.+-]* ]] || die "$place: '$name' is no name: letters, digits and _ . + -"
        [[ -z ${listed_commands[$name]-} ]] || die "$place: '$name' is there twice"
        [[ -n $words ]] || die "$place: '$name' has no command"
        bash -n <<<"words=($words)" 2>/dev/null || die "$place: '$name' is not in the shell's words: $words"
        listed_commands[$name]=$words
        echo "$name 0 - 1"
    done <"$1"
    [[ ${#listed_commands[@]} -gt 0 ]] || die "--commands: $1 has no command"
}

# check_commands: refuses a list with a program that would run without preloaded libraries. One that is not there
# fails when it is measured.
check_commands()
{
    local name first program

    for name in "${!listed_commands[@]}"; do
        # The user's own words, quotes and all.
        first=$(set +u; eval "words=(${listed_commands[$name]})"; printf '%s' "${words[0]-}")
        program=$(type -P -- "$first") || continue
        check_program "$program"
        check_preloadable
    done
}
