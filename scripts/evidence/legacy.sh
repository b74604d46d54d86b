#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The evidence of docs/legacy.md: runs cache_server in each branch, natively, and with each algorithm and contention
# manager of libtm_runtime.so; and Debian's memcached under libttstle_lock.so in emulated transactions, under each
# policy. Counts what ran alone and why, and judges what the paper of Ruan, Vyas, Liu and Spear says by the rows.
# Interrupted, it goes on where it was.
set -euo pipefail
own_file=$(readlink -f -- "${BASH_SOURCE[0]}")
# shellcheck source-path=SCRIPTDIR source=../common/mplace.bash
source "${own_file%/*}/../common/mplace.bash"
# shellcheck source-path=SCRIPTDIR source=rows.bash
source "${own_file%/*}/rows.bash"

usage()
{
    cat <<'END'
usage: scripts/evidence/legacy.sh [OPTION]...

Writes cache.csv, a row for each branch of cache_server and seed; algorithms.csv, a row for each algorithm with each
contention manager, number of threads and seed, in rounds; memcached.csv, rows for each policy of libttstle_lock.so,
number of processors and seed, where valgrind and memcached are installed; and legacy.md, which judges them. Rows that
are there are kept. The counts of memcached are emulated.

  --out FOLDER       where all of it goes (default: out/legacy in the source tree)
  --seeds N          of each branch and policy (default: 3)
  --branches LIST    these only, comma-separated (--list names them); none: '-'
  --runtimes LIST    libraries of transactions for the branches: itm, and tm_runtime where it is built (default: both)
  --algorithms LIST  these only; none: '-'
  --rounds N         timed runs of each algorithm (default 11); as many runs as --seeds count aborts
  --policies LIST    these only; none: '-'
  --brief            few operations: shows that all of it works, and means little
  --list             name the branches, the algorithms and the policies, and end

Exit status: 0 all rows are there; 1 some could not be made, which is said; 2 bad arguments, or something is missing.
END
}

# The policies, as settings of the library joined by '+'; the processors, and as many workers; the branches.
policies=(TTSTLE_POLICY=paper TTSTLE_POLICY=adaptive TTSTLE_POLICY=adaptive+TTSTLE_DEFER=1 TTSTLE_POLICY=backoff
    TTSTLE_POLICY=hourglass TTSTLE_POLICY=serialise)
processors=(4 8 12)
branches=(ip it ip-callable it-callable ip-max it-max ip-lib it-lib ip-oncommit it-oncommit)
# The runs of the paper's Figures 10 and 11 as NAME BRANCH SETTING...; what is timed and what is counted, and with how
# many threads: there are two CPUs where these rows come from.
algorithms=("locks locks" "ip-libitm ip-oncommit ITM_DEFAULT_METHOD=ml_wt" "it-libitm it-oncommit ITM_DEFAULT_METHOD=ml_wt"
    "ip-rwlock-none ip-oncommit TM_ALGORITHM=eager TM_CONTENTION=none TM_SERIAL_LOCK=rwlock"
    "it-rwlock-none it-oncommit TM_ALGORITHM=eager TM_CONTENTION=none TM_SERIAL_LOCK=rwlock"
    "it-eager-none it-oncommit TM_ALGORITHM=eager TM_CONTENTION=none")
for algorithm in eager lazy norec; do
    for manager in none backoff hourglass serialise; do
        algorithms+=("ip-$algorithm-$manager ip-oncommit TM_ALGORITHM=$algorithm TM_CONTENTION=$manager")
    done
done
algorithms+=("ip-serial ip-oncommit TM_ALGORITHM=serial" "ip-htm-serialise ip-oncommit TM_ALGORITHM=htm TM_CONTENTION=serialise")
timed_threads=(1 2)
counted_threads=(2 4 8)

source_folder=$(cd -- "${own_file%/*}/../.." && pwd)
out=$source_folder/out/legacy
wanted_branches=
wanted_algorithms=
wanted_policies=
rounds=11
runtimes=itm,tm_runtime
seeds=3
operations=50000
timed_operations=100000
memcached_operations=1000
brief=no
list=no
read_options --out=out --seeds=seeds --branches=wanted_branches --runtimes=runtimes --algorithms=wanted_algorithms \
    --rounds=rounds --policies=wanted_policies -- "$@"
if [[ $list == yes ]]; then
    echo "${branches[@]}"
    echo "${algorithms[@]%% *}"
    echo "${policies[@]}"
    exit
fi
check_number --seeds "$seeds" 1 1000
check_number --rounds "$rounds" 1 1000
[[ $wanted_branches == - ]] || check_names --branches "$wanted_branches" "${branches[@]}"
[[ $wanted_algorithms == - ]] || check_names --algorithms "$wanted_algorithms" "${algorithms[@]%% *}"
check_names --runtimes "$runtimes" itm tm_runtime
[[ $wanted_policies == - ]] || check_names --policies "$wanted_policies" "${policies[@]}"
if [[ $brief == yes ]]; then
    operations=2000 timed_operations=2000 memcached_operations=100 processors=(4) counted_threads=(8)
fi

# is_wanted LIST NAME
is_wanted() { [[ -z $1 || ,$1, == *",$2,"* ]]; }

# --- cache_server ---

# make_branch BRANCH RUNTIME SEED: as the paper's memslap, sets alone, four workers. Both libraries manage contention as
# the paper's does: after 100 aborts a transaction runs alone.
make_branch()
{
    local preload=

    [[ $2 == itm ]] || preload=$mplace_library_folder/lib$2.so
    LD_PRELOAD=$preload TM_CONTENTION=serialise "$program" --branch "$1" --seed "$3" --sets 100 --threads 4 \
        --operations "$operations" --csv >>"$out/cache.csv"
}

make_branches()
{
    local branch runtime seed

    for ((seed = 1; seed <= seeds; seed++)); do
        for runtime in ${runtimes//,/ }; do
            [[ $runtime == itm || -e $mplace_library_folder/lib$runtime.so ]] || continue
            for branch in "${branches[@]}"; do
                is_wanted "$wanted_branches" "$branch" || continue
                ! grep -q "^cache,$branch,$runtime,[^,]*,[^,]*,4,$operations,$seed," "$out/cache.csv" || continue
                note "$branch on $runtime, seed $seed"
                make_branch "$branch" "$runtime" "$seed" || failed=1
            done
        done
    done
}

# make_algorithm KIND NAME BRANCH THREADS SEED SETTING...: sets alone, as above.
make_algorithm()
{
    local settings=("${@:6}") statistics=()

    [[ ${settings[*]} != *TM_ALGORITHM=* ]] || settings+=("LD_PRELOAD=$mplace_library_folder/libtm_runtime.so")
    if [[ $1 == counted ]]; then
        settings+=("TM_STATS=$scratch/statistics.json")
        statistics=("$scratch/statistics.json")
    fi
    rm -f -- "$scratch/statistics.json"
    # The first call through the dynamic linker ends a hardware transaction.
    env LD_BIND_NOW=1 "${settings[@]}" "$program" --branch "$3" --seed "$5" --sets 100 --threads "$4" --operations "$timed_operations" \
        --csv --header >"$scratch/row" || return
    report legacy-algorithm-row "$2" "$scratch/row" "${statistics[@]}" >"$scratch/rows" &&
        cat "$scratch/rows" >>"$out/algorithms.csv"
}

# make_round KIND THREADS SEED: all of them one after the other. Only our library counts aborts.
make_round()
{
    local algorithm

    for algorithm in "${algorithms[@]}"; do
        read -ra algorithm <<<"$algorithm"
        is_wanted "$wanted_algorithms" "${algorithm[0]}" || continue
        [[ $1 == timed || ${algorithm[*]} == *TM_ALGORITHM=* ]] || continue
        ! grep -q "^${algorithm[0]},$1,[^,]*,[^,]*,$2,$timed_operations,$3," "$out/algorithms.csv" || continue
        note "${algorithm[0]}, $1, $2 threads, seed $3"
        make_algorithm "$1" "${algorithm[@]:0:2}" "$2" "$3" "${algorithm[@]:2}" || failed=1
    done
}

make_algorithms()
{
    local threads seed

    for ((seed = 1; seed <= rounds; seed++)); do
        for threads in "${timed_threads[@]}"; do
            make_round timed "$threads" "$seed"
        done
    done
    for ((seed = 1; seed <= seeds; seed++)); do
        for threads in "${counted_threads[@]}"; do
            make_round counted "$threads" "$seed"
        done
    done
}

# --- memcached ---

server=
# shellcheck disable=SC2317 # the trap calls it
stop_server()
{
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# start_server SETTINGS CPUS SEED: on a port that nobody listens on; sets port and server. Valgrind keeps some files for
# itself, and memcached asks for as many as it may have connections.
start_server()
{
    local tries deadline settings

    IFS=+ read -ra settings <<<"$1"
    for ((tries = 0; tries < 10; tries++)); do
        port=$((20000 + RANDOM % 12000))
        ! answers "$port" || continue
        (
            ulimit -n 1024
            exec env "${settings[@]}" TTSTLE_STATS="$scratch/statistics.json" MPLACE_LOCK_STATS_TOP=100 \
                VALGRIND_OPTS="--cpus=$2 --seed=$3" \
                "$mplace" run --lock ttstle --htm emulated -- \
                memcached -u "$(id -un)" -l 127.0.0.1 -p "$port" -U 0 -t "$2" -m 64 -c "$connections"
        ) >"$scratch/server.said" 2>&1 &
        server=$!
        deadline=$((SECONDS + 60))
        while kill -0 "$server" 2>/dev/null && ((SECONDS < deadline)); do
            ! answers "$port" || return 0
            sleep 0.1
        done
    done
    note "memcached does not answer: $(tail -n 1 "$scratch/server.said")"
    return 1
}

# make_policy SETTINGS CPUS SEED: as many connections as workers.
make_policy()
{
    rm -f -- "$scratch/statistics.json"
    start_server "$@" || return
    "$python" -I "$mplace_parts/evidence/memcached_load.py" "$port" "$2" "$memcached_operations" "$3" \
        >"$scratch/load.said" 2>&1 || {
        note "$1, $2 processors: $(tail -n 1 "$scratch/load.said")"
        return 1
    }
    kill -TERM "$server"
    wait "$server" || {
        note "memcached ended with $?: $(tail -n 1 "$scratch/server.said")"
        return 1
    }
    server=
    report legacy-row "${1#TTSTLE_POLICY=}" "$2" "$3" $(($2 * memcached_operations)) "$scratch/statistics.json" \
        >"$scratch/rows" && cat "$scratch/rows" >>"$out/memcached.csv"
}

make_policies()
{
    local policy cpus seed

    for ((seed = 1; seed <= seeds; seed++)); do
        for cpus in "${processors[@]}"; do
            for policy in "${policies[@]}"; do
                is_wanted "$wanted_policies" "$policy" || continue
                # The last line of a run.
                ! grep -q "^${policy#TTSTLE_POLICY=},$cpus,$seed,[0-9]*,others," "$out/memcached.csv" || continue
                note "memcached under $policy, $cpus processors, seed $seed"
                make_policy "$policy" "$cpus" "$seed" || failed=1
            done
        done
    done
}

mplace=$mplace_parts/mplace
program=$(own_program cache_server) || exit
python=$(type -P python3) || die "python3 is not installed; on Debian: apt-get install python3"
mkdir -p -- "$out" 2>/dev/null || die "cannot write to $out"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-legacy.XXXXXX")
trap 'stop_server; rm -rf -- "$scratch"' EXIT
# Rows of other lengths must not be mixed with these.
open_rows "$out/memcached.csv" "brief $brief" legacy-row
open_rows "$out/algorithms.csv" "brief $brief" legacy-algorithm-row
# The header is the program's own.
[[ -s $out/cache.csv ]] || "$program" --operations 1 --keys 1 --csv --header | head -n 1 >"$out/cache.csv"
[[ -z $(tail -c 1 "$out/cache.csv") ]] || sed -i '$d' "$out/cache.csv"
# Settings of the library that the caller has are not those of the evidence.
unset "${!TTSTLE_@}" "${!ITM_@}" "${!TM_@}"

failed=0
if [[ ! -x $program-ip ]]; then
    note "no branches with transactions: this build has none"
else
    [[ $wanted_branches == - ]] || make_branches
    if [[ ! -e $mplace_library_folder/libtm_runtime.so ]]; then
        note "no rows of algorithms: this build has no libtm_runtime.so"
    elif [[ $wanted_algorithms != - ]]; then
        make_algorithms
    fi
fi
if [[ $wanted_policies == - ]]; then
    :
elif ! command -v valgrind >/dev/null || ! command -v memcached >/dev/null; then
    note "no rows of memcached: valgrind or memcached is not installed"
elif ! (check_emulator); then
    note "no rows of memcached: the emulator is missing"
else
    connections=$(ulimit -n 1024 && valgrind --tool=none -q bash -c 'ulimit -Hn')
    make_policies
fi

report legacy "$out/cache.csv" "$out/algorithms.csv" "$out/memcached.csv" >"$out/legacy.md"
note "the rows: $out/cache.csv, $out/algorithms.csv, $out/memcached.csv; what they say: $out/legacy.md"
exit "$failed"
