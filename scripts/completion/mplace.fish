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
                __fish_complete_path "$current"
            case :nospace
            case ':command *'
                __fish_complete_subcommand --fcs-skip=(string replace ':command ' '' -- $line)
            case '*'
                echo $line
        end
    end
end

complete -c mplace -f -a '(__mplace_complete)'
