# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# The programs of "mplace compare --programs": their packages, inputs and commands. Sourced by
# mplace-compare after common/mplace.bash. README.md has the reasons.
# shellcheck disable=SC2034,SC2154 # mplace-compare reads what is set here, and sets measure

program_names='gcc python3 sqlite3 perl xz git redis bash clang node'

# Where the Debian package has another name than the program.
declare -A program_packages=([redis]='redis-server redis-tools' [xz]=xz-utils [node]=nodejs)

# The size of the input, and of what.
declare -A program_sizes=(
    [gcc]=4000 [python3]=60000 [sqlite3]=300000 [perl]=400000 [xz]=3072 [git]=2000 [redis]=150000
    [bash]=400000 [clang]=4000 [node]=60000)
declare -A program_units=(
    [gcc]=functions [python3]=records [sqlite3]=rows [perl]=keys [xz]='KiB of text' [git]=commits
    [redis]='requests of each kind' [bash]=words [clang]=functions [node]=records)

# What must be in PATH for a program.
program_files()
{
    case $1 in
    redis) echo redis-server redis-benchmark redis-cli ;;
    *) echo "$1" ;;
    esac
}

# why_not NAME: prints why the program cannot be measured here, or nothing.
why_not()
{
    local file

    for file in $(program_files "$1"); do
        if ! type -P "$file" >/dev/null; then
            echo "is not installed; on Debian: apt-get install ${program_packages[$1]:-$1}"
            return
        fi
    done
    # From Redis 8 on: memory from jemalloc's own functions goes to free(), which must then be jemalloc's.
    if [[ $1 == redis ]] && grep -q mallocx "$(type -P redis-server)"; then
        echo "crashes under any malloc but jemalloc, of which it calls mallocx"
    fi
}

# list_programs LIST SHORTEN: the programs to measure, one a line, "NAME 0 - SIZE UNIT"; without a list all that
# are installed, and a note for each of the others.
list_programs()
{
    local name reason listed='' wanted=()

    if [[ -n $1 ]]; then
        [[ ,$1, != *,,* ]] || die "--programs '$1' has an empty entry"
        IFS=, read -r -a wanted <<<"$1"
    else
        read -r -a wanted <<<"$program_names"
    fi
    for name in "${wanted[@]}"; do
        # shellcheck disable=SC2086 # names have no blanks
        is_one_of "$name" "$program_names" ||
            die "unknown program '$name': one of ${program_names// /, }$(did_you_mean "$name" $program_names)"
        ! is_one_of "$name" "$listed" || die "program '$name' is there twice"
        reason=$(why_not "$name")
        if [[ -n $reason ]]; then
            [[ -z $1 ]] || die "$name $reason"
            note "$name $reason: left out"
            continue
        fi
        listed+="${listed:+ }$name"
        echo "$name 0 - $((program_sizes[$name] > $2 ? program_sizes[$name] / $2 : 1)) ${program_units[$name]}"
    done
    [[ -n $listed ]] || die "none of the programs is installed: ${program_names// /, }"
}

# Debian's own python3 comes first: another one in PATH may be a script that finds the interpreter.
program_python()
{
    if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else type -P python3; fi
}

# The settings that all programs run with, so that the caller's do not change their work. Call it in
# the subshell that makes the input or runs the program. $1: its folder.
program_environment()
{
    unset "${!PYTHON@}" "${!GIT_@}" "${!PERL@}" "${!NODE_@}" BASH_ENV XZ_OPT XZ_DEFAULTS
    export LC_ALL=C TZ=UTC HOME=$1 TMPDIR=$1
    export PYTHONMALLOC=malloc PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
}

# make_program_input NAME SIZE SEED: in the current folder.
make_program_input()
{
    local inputs=("$(program_python)" -B "$mplace_parts/programs/inputs.py")

    case $1 in
    gcc | clang) "${inputs[@]}" functions "$2" "$3" >functions.c ;;
    sqlite3) "${inputs[@]}" rows "$2" "$3" >rows.sql ;;
    xz) "${inputs[@]}" text "$2" "$3" >lines ;;
    git)
        git init --quiet --bare history.git
        "${inputs[@]}" history "$2" "$3" | git -C history.git fast-import --quiet
        # Each run finds one pack, the first one too.
        git -C history.git repack -a -d -f -q --threads=1
        ;;
    esac
}

# program_command NAME SIZE SEED: sets command. Run in the folder of the input.
program_command()
{
    case $1 in
    gcc | clang) command=("$1" -O2 -c functions.c -o functions.o) ;;
    python3) command=("$(program_python)" -s -B "$mplace_parts/programs/json_dictionaries.py" "$2" "$3") ;;
    sqlite3) command=(sqlite3 -batch -init /dev/null :memory: '.read rows.sql') ;;
    perl) command=(perl "$mplace_parts/programs/hash.pl" "$2" "$3") ;;
    xz) command=(xz -T2 --block-size=1MiB -c lines) ;;
    git) command=(git -C history.git repack -a -d -f -q --threads=2) ;;
    bash) command=(bash "$mplace_parts/programs/words.bash" "$2" "$3") ;;
    node) command=(node "$mplace_parts/programs/json.js" "$2" "$3") ;;
    redis) command=(redis-server --port 0 --unixsocket socket --save '' --appendonly no --daemonize no --pidfile server.pid) ;;
    esac
}

# run_program NAME SIZE SEED RESULT PRELOAD LIBRARY_PATH: runs it in the current folder under mplace-measure.
run_program()
{
    local command

    program_command "$1" "$2" "$3"
    if [[ $1 == redis ]]; then
        run_redis "$2" "$4" "${5:-libc.so.6}" "$6"
    else
        "${measure[@]}" "$4" "$5" "$6" "${command[@]}"
    fi
}

# run_redis REQUESTS RESULT PRELOAD LIBRARY_PATH: the server under mplace-measure, its clients beside it.
run_redis()
{
    local server status=0 tries

    rm -f -- socket server.pid
    "${measure[@]}" "$2" "$3" "$4" "${command[@]}" &
    server=$!
    # However this ends, the server does not stay.
    trap 'stop_redis' EXIT
    for ((tries = 0; tries < 600; tries++)); do
        ! redis-cli -s socket ping >/dev/null 2>&1 || break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    redis-benchmark -s socket -q -n "$1" -c 20 -P 16 -r 100000 -d 200 -t set,get,lpush,lpop,hset,zadd || status=$?
    redis-cli -s socket shutdown nosave || status=$?
    wait "$server" || status=$?
    return "$status"
}

stop_redis()
{
    [[ ! -s server.pid ]] || kill -KILL "$(<server.pid)" 2>/dev/null || true
}
