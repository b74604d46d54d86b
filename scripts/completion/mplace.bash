# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Completion of mplace in bash; installed as share/bash-completion/completions/mplace. What may stand
# where is asked of "mplace complete".

_mplace()
{
    local word remark

    COMPREPLY=()
    while IFS=$'\t' read -r word remark; do
        case $word in
        :files) compopt -o default ;;
        :nospace) compopt -o nospace ;;
        ':command '*)
            if declare -F _command_offset >/dev/null; then
                _command_offset "${word#* }"
            elif ((${word#* } == COMP_CWORD)); then
                # shellcheck disable=SC2207 # names of commands have no blanks
                COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
            else
                compopt -o default
            fi
            ;;
        *) COMPREPLY+=("$word") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _mplace mplace
