# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The commands of "mplace compare --commands": a list of the user's. Sourced by mplace-compare after
# common/mplace.bash.

# read_commands FILE FOLDER: one a line, "NAME COMMAND [ARGUMENT]..." in the shell's words; # begins a comment.
# Prints the jobs, "NAME 0 - 1", and leaves each command in FOLDER/NAME.
read_commands()
{
    local line name rest number=0 known=' '

    [[ -f $1 && -r $1 ]] || die "--commands: $1 cannot be read"
    while IFS= read -r line || [[ -n $line ]]; do
        number=$((number + 1))
        read -r name rest <<<"$line"
        [[ -n $name && $name != '#'* ]] || continue
        [[ $name =~ ^[A-Za-z0-9_.+-]+$ ]] ||
            die "--commands: line $number of $1: '$name' is no name: letters, digits and _ . + -"
        [[ $known != *" $name "* ]] || die "--commands: line $number of $1: '$name' is there twice"
        [[ -n $rest ]] || die "--commands: line $number of $1: '$name' has no command"
        known+="$name "
        printf '%s\n' "$rest" >"$2/$name"
        echo "$name 0 - 1"
    done <"$1"
    [[ $known != ' ' ]] || die "--commands: $1 has no command"
}
