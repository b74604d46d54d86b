#compdef mplace
# SPDX-License-Identifier: MIT
#
# Completion of mplace in zsh; installed as _mplace in a folder of fpath. What may stand where is asked of
# "mplace complete".

local word remark
local -a values shown suffix
while IFS=$'\t' read -r word remark; do
    case $word in
    (:files)
        [[ $PREFIX != --*=* ]] || compset -P 1 '*='
        _files
        return
        ;;
    (:nospace) suffix=(-S '') ;;
    (':command '*)
        shift ${word#* } words
        ((CURRENT -= ${word#* }))
        _normal
        return
        ;;
    (*)
        values+=("$word")
        shown+=("$word${remark:+  -- $remark}")
        ;;
    esac
done < <("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)
compadd "${suffix[@]}" -l -d shown -a values
