# SPDX-License-Identifier: MIT
#
# What every application test shares: arguments, an upper bound on its own time, a temporary folder,
# an unprivileged user, the preload of a combination, the proof that the library served, servers.
#
#   usage of each script: PROGRAM.sh COMBINATION LIBRARY_FOLDER      MPLACE_APPS_FULL=1 for full size
#   exit status: 0 held, 1 did not hold, 2 bad arguments, 77 a Debian package is missing
#
# A combination is none, or an allocator, a lock library, or both with a plus sign between: cia,
# cia-locks (CIA_RSEQ=0), cia-compact (CIA_LINES=compact), rand, bank (simulated frames), tts, ttstle.
#
# MPLACE_APPS_BOUND=SECONDS replaces that bound, for a machine that does much else.
# With MPLACE_APPS_ROWS=FOLDER a script leaves there what came of it, in one line of fields that
# compatibility.sh makes docs/compatibility.md of.
#
# An application test computes its reference result first, without any library, then the same under
# the combination, compares the two, and demands the statistics that only a library that served can
# have written. Everything runs as an unprivileged user when root starts the test.
#
# Every child is the leader of a session of its own, so that clean-up can kill all that it started;
# each also gets SIGKILL from the kernel should this shell die without a chance to clean up.
# The shell only ever waits in `wait`, so a signal is acted upon at once.

# shellcheck shell=bash
set -euo pipefail

test_name=$(basename -- "$0" .sh)
full=${MPLACE_APPS_FULL:-0}
rows_folder=${MPLACE_APPS_ROWS-}
session_leaders=()
work=
# For the line that the script leaves: the packages with their versions, what is done with them, and
# how many calls each library counted at most in one process.
packages='' purpose='' combination=''
declare -A most_calls=()
# A signal may stop a function whose standard error goes to a file: complaints go here. Programs
# under test do not get it, or whoever reads it would wait for what they leave behind.
exec {complaints}>&2

say() { printf '%s\n' "$*"; }

# Parts of awk programs that make up input. random(BELOW): the next number of Park and Miller's
# generator, from 0 to BELOW - 1; the program is given -v seed=. text(LENGTH): so many hex digits,
# which repeat.
# shellcheck disable=SC2034 # the scripts use them
awk_random='function random(below) { seed = (seed * 16807) % 2147483647; return seed % below }'
# shellcheck disable=SC2034
awk_text='function text(length_wanted,    t) {
    t = sprintf("%x", random(2147483646))
    while (length(t) < length_wanted) t = t t
    return substr(t, 1, length_wanted)
}'

fail() {
    printf '%s: %s\n' "$test_name" "$*" >&"$complaints"
    exit 1
}
bad_usage() {
    printf '%s: %s\n' "$test_name" "$*" >&"$complaints"
    exit 2
}

# need PROGRAM PACKAGE: an absent program is a skip that names what to install, never a pass.
need() {
    [[ -e $1 ]] && return
    say "skipped: $1 is not here; it comes with Debian's package $2"
    exit 77
}

# shows WHAT PACKAGE...: says in the table of programs what is done, with which Debian packages.
shows() {
    purpose=$1
    shift
    packages=$(dpkg-query -W -f '${Package} ${Version}, ' "$@" 2>/dev/null) || true
    packages=${packages%, }
}

# write_row STATUS: the fields are explained where compatibility.sh reads them.
write_row() {
    local result=failed size=quick
    if [[ $1 == 0 ]]; then result=ok; elif [[ $1 == 77 ]]; then result=skipped; fi
    if [[ $full == 1 ]]; then size=full; fi
    mkdir -p -- "$rows_folder"
    {
        printf '%s\t' "$test_name" "$combination" "$size" "$result" "${most_calls[${allocator:-none}]:--}" \
            "${most_calls[${lock:-none}]:--}" "$(date -u +%F)" "${packages:--}"
        printf '%s\n' "${purpose:--}"
    } >"$rows_folder/$test_name.$combination.$size"
}

# quick_or_full QUICK FULL: the size that this run uses.
quick_or_full() {
    if [[ $full == 1 ]]; then printf '%s' "$2"; else printf '%s' "$1"; fi
}

clean_up() {
    local status=$? leader
    trap - EXIT
    trap '' INT TERM HUP
    for leader in "${session_leaders[@]}"; do
        kill -KILL -- "-$leader" 2>/dev/null || true
    done
    wait 2>/dev/null
    if [[ -n $rows_folder ]]; then write_row "$status"; fi
    if [[ -n $work && -d $work ]]; then
        if [[ $status != 0 && $status != 77 ]]; then
            for leader in "$work"/*.err; do
                [[ -s $leader ]] || continue
                printf -- '--- the last lines of %s:\n' "${leader##*/}"
                tail -n 20 -- "$leader"
            done >&"$complaints"
        fi
        # A dying process of a killed session may still create a file while the folder goes.
        rm -rf -- "$work" 2>/dev/null || rm -rf -- "$work"
    fi
    exit "$status"
}

# Sets the globals libraries, settings_of_mode, lock, allocator, work, home, drop. Call it first, with "$@".
start() {
    [[ $# == 2 ]] || bad_usage "wants two arguments: COMBINATION LIBRARY_FOLDER"
    local folder=$2 part
    combination=$1

    # A hang is a failure: the bound below leaves the trap time to clean up, before the bound of
    # ctest, which kills without asking. A real run takes less than a tenth of it.
    if [[ ${MPLACE_APPS_BOUNDED-} != yes ]]; then
        MPLACE_APPS_BOUNDED=yes exec timeout --foreground --kill-after=10 \
            "${MPLACE_APPS_BOUND:-$(quick_or_full 100 1700)}" bash -- "$0" "$@"
    fi
    unset MPLACE_APPS_BOUNDED

    local parts=()
    libraries=() settings_of_mode=()
    allocator='' lock=''
    if [[ $combination != none ]]; then
        IFS=+ read -r -a parts <<<"$combination"
    fi
    for part in ${parts[@]+"${parts[@]}"}; do
        case $part in
        cia | cia-locks | cia-compact | rand | bank)
            [[ -z $allocator ]] || bad_usage "two allocators in '$combination'"
            allocator=${part%%-*}
            case $part in
            cia-locks) settings_of_mode=(CIA_RSEQ=0) ;;
            cia-compact) settings_of_mode=(CIA_LINES=compact) ;;
            bank) settings_of_mode=(BANK_MAP=skylake-2channels BANK_PHYSICAL=simulated) ;;
            esac
            ;;
        tts | ttstle)
            [[ -z $lock ]] || bad_usage "two lock libraries in '$combination'"
            lock=$part
            ;;
        *) bad_usage "unknown combination '$combination'; its parts are cia, cia-locks, cia-compact, rand, bank, tts, ttstle, none" ;;
        esac
        libraries+=("${part%%-*}")
    done

    umask 022
    # LD_PRELOAD splits at blanks and colons: neither may be in the path of a library.
    local base=${TMPDIR:-/tmp}
    if [[ $base == *[[:space:]:]* || ! -w $base ]]; then base=/tmp; fi
    trap clean_up EXIT
    trap 'fail "stopped by a signal, or not done within its time: a hang counts as a failure"' TERM
    trap 'fail "interrupted"' INT HUP
    work=$(mktemp -d "$base/mplace-$test_name.XXXXXX")
    home=$work/home
    mkdir "$work/lib" "$work/statistics" "$home"
    for part in ${libraries[@]+"${libraries[@]}"}; do
        copy_library "$part" "$folder"
    done

    drop=()
    if [[ $(id -u) == 0 ]]; then
        drop=(--reuid "$(id -u nobody)" --regid "$(id -g nobody)" --clear-groups
            --bounding-set=-all --inh-caps=-all --no-new-privs)
        chown -R nobody: "$work"
    fi
    # What a caller's environment says must not change what the two runs do.
    unset LD_PRELOAD LD_LIBRARY_PATH "${!PYTHON@}" "${!GIT_@}" "${!MALLOC_@}" XZ_OPT XZ_DEFAULTS \
        "${!BANK_@}" "${!CIA_@}" "${!RAND_@}" "${!TTS_@}" "${!TTSTLE_@}"
    export LC_ALL=C TZ=UTC HOME=$home TMPDIR=$work
    cd "$work"
}

# The library is copied to where the unprivileged user can read it and no blank is in its path.
copy_library() {
    local name=lib$1
    case $1 in
    bank | cia | rand) name+=_malloc.so ;;
    tts | ttstle) name+=_lock.so ;;
    esac
    [[ -r $2/$name ]] || bad_usage "no library $2/$name"
    cp -- "$2/$name" "$work/lib/$name"
    chmod 755 "$work/lib/$name"
}

# launch PROGRAM [ARG...]: starts it in the background without any library; pid is its process id.
# The chain only ever execs, so the id is that of the program itself.
launch() { launch_with '' "$@"; }

# launch_preloaded TAG PROGRAM [ARG...]: the same under the combination. Its processes write their
# statistics into the folder statistics/TAG, one file a process and library.
launch_preloaded() {
    local tag=$1 part preload='' settings=()
    shift
    mkdir -p "$work/statistics/$tag"
    if [[ $(id -u) == 0 ]]; then chown nobody: "$work/statistics/$tag"; fi
    # The lock library first: what an allocator's own locks are is its own business either way.
    for part in ${lock:+"$lock"} ${allocator:+"$allocator"}; do
        case $part in
        bank | cia | rand) preload+="${preload:+:}$work/lib/lib${part}_malloc.so" ;;
        *) preload+="${preload:+:}$work/lib/lib${part}_lock.so" ;;
        esac
        settings+=("${part^^}_STATS=$work/statistics/$tag/$part.%p")
    done
    launch_with "$preload" ${settings[@]+"${settings[@]}"} ${settings_of_mode[@]+"${settings_of_mode[@]}"} "$@"
}

# Non-interactive shells start background jobs with SIGINT and SIGQUIT ignored, and programs (and
# their test suites) see that: the defaults are put back.
launch_with() {
    local preload=$1
    shift
    setsid env --default-signal=INT,QUIT setpriv --pdeathsig KILL ${drop[@]+"${drop[@]}"} \
        env ${preload:+"LD_PRELOAD=$preload"} "$@" <&0 {complaints}>&- &
    pid=$!
    session_leaders+=("$pid")
}

# finish PID: waits for it; returns its exit status.
finish() {
    local status=0
    wait "$1" || status=$?
    return "$status"
}

plainly() {
    launch "$@"
    finish "$pid"
}

# preloaded TAG PROGRAM [ARG...]: runs it to its end; pid stays set for the proof.
preloaded() {
    launch_preloaded "$@"
    finish "$pid"
}

# twice NAME ALLOCATIONS ACQUISITIONS PROGRAM [ARG...]: it prints the same with and without, and its
# processes together counted so many calls.
twice() {
    local name=$1 allocations=$2 acquisitions=$3
    shift 3
    plainly "$@" >"$name-reference.output" 2>"$name-reference.err" ||
        fail "$name failed without any library (status $?)"
    preloaded "$name" "$@" >"$name-preloaded.output" 2>"$name.err" ||
        fail "$name failed under the library (status $?)"
    prove "$name" all "$allocations" "$acquisitions"
    same "what $name printed" "$name-reference.output" "$name-preloaded.output"
}

# same WHAT FILE FILE: the result under the combination is byte for byte the reference.
same() {
    if ! cmp -s -- "$2" "$3"; then
        printf '%s: %s differs from the run without a library:\n' "$test_name" "$1" >&"$complaints"
        diff -- "$2" "$3" | head -n 20 >&"$complaints" || true
        exit 1
    fi
}

# counted WORD FILE: the number beside WORD, an extended regular expression, in a report, as in
# "WORD 12", "WORD: 12" or "12 WORD".
counted() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ (^|[^a-z_])($1)[[:space:]:=]+([0-9]+) ]]; then
            printf '%s' "${BASH_REMATCH[3]}"
            return
        elif [[ $line =~ ([0-9]+)[[:space:]]+($1)([^a-z_]|$) ]]; then
            printf '%s' "${BASH_REMATCH[1]}"
            return
        fi
    done <"$2"
    fail "the statistics in ${2##*/} have no line with the count of $1"
}

# served PART TAG WHICH LEAST: the reports of library PART under TAG, of process id WHICH or of all
# processes, count at least LEAST served calls together. LEAST 0 asks for the report alone: the
# library was loaded and lived to the program's end.
served() {
    local part=$1 tag=$2 which=$3 least=$4 word name line report reports count total=0
    case $part in
    cia) name=cia_malloc word='blocks\.served' ;;
    rand) name=rand word='requests|calls' ;;
    bank) # counts what the pool was asked for: chunks, of which each has many blocks
        name='mplace bank' word=requests
        [[ $least -eq 0 ]] || least=1
        ;;
    *) name=${part}_lock word=acquisitions ;;
    esac
    if [[ $which == all ]]; then
        reports=("$work/statistics/$tag/$part".*)
    else
        reports=("$work/statistics/$tag/$part.$which")
    fi
    [[ -s ${reports[0]} ]] || fail "$name wrote no statistics for $tag: it did not serve"
    most_calls[$part]=${most_calls[$part]:-0}
    for report in "${reports[@]}"; do
        IFS= read -r line <"$report" || true
        [[ $line == *"$name"* ]] || fail "the statistics in ${report##*/} are not $name's: $line"
        count=$(counted "$word" "$report")
        total=$((total + count))
        if [[ $count -gt ${most_calls[$part]} ]]; then most_calls[$part]=$count; fi
    done
    # Blocks of 32 or 48 bytes are there at once only where the setting arrived. A program of few blocks
    # may ask for none.
    if [[ $combination == cia-compact && $part == cia && $least -ge 1000 ]]; then
        grep -Eqh '^ +(32|48) +[1-9]' "${reports[@]}" ||
            fail "no process of $tag served a packed block: CIA_LINES=compact did not arrive"
    fi
    [[ $total -ge $least ]] ||
        fail "$name counted $total $word for $tag, at least $least were expected: it did not serve"
    if [[ $least == 0 ]]; then
        say "$tag: $name was there to the end (${#reports[@]} processes)"
    else
        say "$tag: $name counted $total $word (${#reports[@]} processes)"
    fi
}

# bound PROGRAM FILE FUNCTION...: FILE, the dynamic linker's words under LD_DEBUG=bindings, says that
# PROGRAM's calls of the functions go to the libraries of this combination that have them. For
# programs that leave by _exit and so write no statistics.
bound() {
    local program=$1 file=$2 function library
    shift 2
    for function; do
        case $function in
        pthread_*) library=${lock:+lib${lock}_lock.so} ;;
        *) library=${allocator:+lib${allocator}_malloc.so} ;;
        esac
        [[ -n $library ]] || continue
        grep -q "binding file [^ ]*$program .*/$library .*\`$function'" "$file" ||
            fail "$program's $function was not bound to $library"
    done
    say "$program: its calls are bound to the library"
}

# prove TAG PID|all ALLOCATIONS ACQUISITIONS: for the parts of this combination.
prove() {
    if [[ -n $allocator ]]; then served "$allocator" "$1" "$2" "$3"; fi
    if [[ -n $lock ]]; then served "$lock" "$1" "$2" "$4"; fi
}

# until_true SECONDS COMMAND...: polls; fails the test when COMMAND does not hold in time.
until_true() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [[ $SECONDS -lt $deadline ]] || fail "gave up waiting for: $*"
        # The pause is a child and the shell waits for it in `wait`: signals are acted upon at once.
        sleep 0.05 &
        wait $!
    done
}

# free_port: a port of loopback that nothing listens on now, below the range of outgoing ports.
# Another process may take it before the server does, so callers check who answers and try again.
free_port() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
    done
    fail "found no free port on loopback"
}

alive() { kill -0 "$1" 2>/dev/null; }

# start_server IS_READY LAUNCH...: runs LAUNCH with the variable port set until a server stands there.
# IS_READY is a command that is given the port and the process id and succeeds only when that very
# process answers on that port; server is the process id.
start_server() {
    local is_ready=$1 tries deadline
    shift
    for ((tries = 0; tries < 10; tries++)); do
        free_port
        "$@"
        server=$pid
        deadline=$((SECONDS + 30))
        while alive "$server" && [[ $SECONDS -lt $deadline ]]; do
            if "$is_ready" "$port" "$server"; then return; fi
            sleep 0.05 &
            wait $!
        done
        alive "$server" && fail "the server did not answer within 30 s"
        finish "$server" || true
    done
    fail "the server ended at once on each of 10 ports"
}
