# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Completion of mplace in bash; installed as share/bash-completion/completions/mplace. What may stand
# where is asked of "mplace complete".

_mplace()
{
    local i word remark begun='' words=("${COMP_WORDS[0]}") places=(0)

    # bash splits "--malloc=j" at the "=", and takes the reply for what is behind it.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == = && ${words[-1]} == --* && ${words[-1]} != *=* ]]; then
            words[-1]+==
        elif [[ ${words[-1]} == --*= ]]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            places+=("$i")
        fi
    done
    [[ ${COMP_WORDS[COMP_CWORD]} == "${words[-1]}" ]] || begun=${words[-1]%%=*}=
    COMPREPLY=()
    while IFS=$'\t' read -r word remark; do
        case $word in
        :files) compopt -o default ;;
        :nospace) compopt -o nospace ;;
        ':command '*)
            i=${places[${word#* }]}
            if declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            elif ((i == COMP_CWORD)); then
                # shellcheck disable=SC2207 # names of commands have no blanks
                COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
            else
                compopt -o default
            fi
            ;;
        *) COMPREPLY+=("${word#"$begun"}") ;;
        esac
    done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _mplace mplace
