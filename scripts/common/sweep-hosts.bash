# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Several hosts that share a sweep: which of them answer, and a copy of what the runs need on each, so
# that nothing of ours has to be installed there and all measure the same files. Sourced by
# mplace-sweep, which has set parallel and on_each_host; GNU parallel does what crosses the network.
# shellcheck disable=SC2154,SC2034 # the options are mplace-sweep's, and it reads what is set here

# A host that is gone must not hold up the sweep: a connection that says nothing for 15 s ends, and
# what ran over it is run elsewhere. No question is asked that nobody would answer.
ssh_options=(-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3)

# Reads the --sshloginfile, sets hosts to one of ours with those that answer, and host_names.
choose_hosts()
{
    local line login host lines=() logins=() answered=()

    command -v ssh >/dev/null || die "ssh is not installed; on Debian: apt-get install openssh-client"
    command -v rsync >/dev/null || die "rsync is not installed; on Debian: apt-get install rsync"
    export PARALLEL_SSH="${PARALLEL_SSH:-ssh ${ssh_options[*]}}"
    while IFS= read -r line; do
        line=${line%%#*}
        # A group and a number of jobs may stand before the host.
        [[ $line =~ ^[[:space:]]*((@[^/]*/)?([0-9]+%?/)?)([^[:space:]].*[^[:space:]]|[^[:space:]])[[:space:]]*$ ]] ||
            continue
        login=${BASH_REMATCH[4]}
        # A line may bring its own ssh command.
        [[ $login != 'ssh '* ]] || login="ssh ${ssh_options[*]} ${login#ssh }"
        lines+=("${BASH_REMATCH[1]}$login")
        logins+=("$login")
    done <"$hosts"
    [[ ${#lines[@]} -gt 0 ]] || die "--hosts $hosts names no host"
    mapfile -t answered < <(printf '%s\n' "${lines[@]}" |
        "${on_each_host[@]}" --tag 'echo here' 2>"$scratch/silence")
    hosts=$scratch/hosts
    : >"$hosts"
    host_names=()
    for host in "${!lines[@]}"; do
        login=${logins[host]}
        if [[ $'\n'$(printf '%s\n' "${answered[@]}") == *$'\n'"$login"$'\t'here* ]]; then
            host_names+=("$login")
            printf '%s\n' "${lines[host]}" >>"$hosts"
        else
            note "host $(short_host "$login") is left out: it does not answer"
        fi
    done
    if [[ ${#host_names[@]} -eq 0 ]]; then
        # Of the many that ssh may have written, the first says why.
        line=$(head -n 1 -- "$scratch/silence")
        die "no host of the list answers: ${line:-no message}"
    fi
    # Each run has as many tries as there are hosts, and one more.
    parallel+=(--retries $((${#host_names[@]} + 1)))
}

# As a person names it: without the options that were put in.
short_host()
{
    printf '%s' "${1/#ssh "${ssh_options[*]}" /ssh }"
}

# A folder with all that a run needs, in the layout of a build folder.
make_kit()
{
    local kit=$1 library

    mkdir -p -- "$kit/bin" "$kit/lib/mplace" "$kit/scripts/common"
    cp -- "$program" "$(own_program mplace-probe)" "$kit/bin/"
    cp -- "$mplace_parts/mplace-cpu" "$kit/scripts/"
    cp -- "$mplace_parts/common/mplace.bash" "$kit/scripts/common/"
    [[ $htm != emulated ]] || cp -RL -- "$mplace_valgrind_folder" "$kit/lib/mplace/valgrind"
    while IFS= read -r library; do
        [[ ! -e $kit/lib/${library##*/} ]] || die "--hosts: two libraries are named ${library##*/}"
        cp -L -- "$library" "$kit/lib/"
    done < <(preloaded_libraries)
}

# Copies it to each host, into a folder of this sweep's own, and sets remote_folder, from which on
# run_command speaks of what lies there.
equip_hosts()
{
    local folder

    folder=.cache/mplace/sweep-$(uname -n)-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
    make_kit "$scratch/kit"
    # What is here needs no network.
    if grep -qxE '([0-9]+%?/)?:' -- "$hosts"; then
        mkdir -p -- "$HOME/$folder" && cp -R -- "$scratch/kit/." "$HOME/$folder/"
    fi
    hosts_are_equipped=yes
    "${on_each_host[@]}" --basefile "$scratch/kit/./bin" --basefile "$scratch/kit/./lib" \
        --basefile "$scratch/kit/./scripts" --workdir "$folder" true <"$hosts" >/dev/null 2>"$scratch/silence" ||
        die "cannot copy to a host of the list (rsync must be there too): $(tail -n 1 -- "$scratch/silence" | grep . || echo no message)"
    remote_folder=$folder
}

# Words of a shell that go before a command there.
remote_prefix()
{
    # shellcheck disable=SC2016 # expanded on the host
    printf 'cd "$HOME"/%q && ' "$remote_folder"
}

# Removes the copies, once, and says which hosts are gone.
leave_hosts()
{
    local host answered

    [[ ${hosts_are_equipped-no} == yes ]] || return 0
    hosts_are_equipped=no
    # shellcheck disable=SC2016 # expanded on the host
    answered=$'\n'$(timeout 60 "${on_each_host[@]}" --tag "$(printf 'rm -rf -- "$HOME"/%q && echo left' "$remote_folder")" \
        <"$hosts" 2>/dev/null) || true
    for host in "${host_names[@]}"; do
        [[ $answered == *$'\n'"$host"$'\t'left* ]] ||
            note "host $(short_host "$host") no longer answers; the others do its runs, and ~/$remote_folder stays there"
    done
}
