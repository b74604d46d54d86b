# SPDX-License-Identifier: MIT
#
# Completion of mplace in fish; installed in share/fish/vendor_completions.d. What may stand where is asked
# of "mplace complete".

function __mplace_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] complete $before[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                set -l option (string match -r -- '^--[^=]*=' $current)
                for file in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
                    echo "$option$file"
                end
            case :nospace
            case ':command *'
                set -l words $before
                set -e words[1..(string replace ':command ' '' -- $line)]
                complete -C (string join ' ' -- (string escape -- $words) "$current")
            case '*'
                echo $line
        end
    end
end

complete -c mplace -f -a '(__mplace_complete)'
