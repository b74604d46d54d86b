#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What libbank_malloc.so promises as a preloaded library.
# usage: bank_test.sh BUILD_DIRECTORY CLAIM
# CLAIM: a function below. Exit status: 0 it holds, 1 it does not, 77 this machine cannot tell.
set -euo pipefail

[[ $# -eq 2 ]] || {
    echo "usage: bank_test.sh BUILD_DIRECTORY CLAIM" >&2
    exit 2
}
build=$1
claim=$2
unset LD_PRELOAD "${!BANK_@}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-bank.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
# LD_PRELOAD splits at blanks and colons.
library=$scratch/libbank_malloc.so
ln -s -- "$(readlink -f -- "$build/lib/libbank_malloc.so")" "$library"

fail()
{
    echo "$claim: $*" >&2
    exit 1
}

expect() # what, expected, got
{
    [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# banked [NAME=VALUE...] COMMAND...: on simulated frames, unless the settings say otherwise.
banked()
{
    env BANK_MAP=tilepro64 BANK_PHYSICAL=simulated LD_PRELOAD="$library" "$@"
}

# told LINE NAME=VALUE...: that is all that a program writes with these settings.
told()
{
    local line=$1 said
    shift
    said=$(banked "$@" /bin/true 2>&1) || fail "$*: the program did not end well"
    expect "$*" "$line" "$said"
}

a_bad_setting_is_one_line_that_says_what_is_allowed()
{
    local without='memory is allocated without regard to banks' memory colours cpus near
    told '' BANK_MODE=none BANK_COLOURS='0:0-3,7;3:1' BANK_NEAR=0/// BANK_POOL=4M BANK_FOLLOW=1
    told 'mplace: BANK_MODE=split, is not allowed (none, or some of restricted, unrestricted and split with commas between); using restricted,unrestricted,split' BANK_MODE=split,
    told 'mplace: BANK_POOL=1X is not allowed (bytes from 2M on, with K, M, G or T for units of 1024); taking the pool on demand' BANK_POOL=1X
    told 'mplace: BANK_POOL=1K is not allowed (bytes from 2M on, with K, M, G or T for units of 1024); taking the pool on demand' BANK_POOL=1K
    memory=$(banked BANK_POOL=4000T /bin/true 2>&1)
    [[ $memory =~ ^mplace:\ BANK_POOL=4000T\ is\ not\ allowed\ \(the\ machine\ has\ [0-9]+M\ of\ memory\)\;\ taking\ the\ pool\ on\ demand$ ]] ||
        fail "a pool larger than memory: $memory"
    for colours in 4:0 0:8 0:3-1 '0:1;' 0: near,cpu; do
        told "mplace: BANK_COLOURS=$colours is not allowed (near, cpu, thread, or CONTROLLER:BANKS;CONTROLLER:BANKS... of controllers 0 to 3 and banks 0 to 7); using near" "BANK_COLOURS=$colours"
    done
    cpus=$(getconf _NPROCESSORS_CONF)
    for near in 0/1 0//0/ "0///$cpus"; do # lists that are missing, a CPU twice, one that is not there
        told "mplace: BANK_NEAR=$near is not allowed (a list of CPUs as 0-3,8 for each of 4 controllers, with slashes between; CPUs 0 to $((cpus - 1)), each once); using the default" "BANK_NEAR=$near"
    done
    told 'mplace: BANK_PHYSICAL=none is not allowed (pagemap|simulated); using pagemap' BANK_PHYSICAL=none
    told 'mplace: BANK_FOLLOW=2 is not allowed (0|1); using 0' BANK_FOLLOW=2
    told 'mplace: BANK_COLORS=cpu has no effect: it is no setting; did you mean BANK_COLOURS?' BANK_COLORS=cpu
    told "mplace: BANK_MAP=$scratch/none is neither a map that mplace has nor a file of at most 65536 bytes that can be read; $without" "BANK_MAP=$scratch/none"
    printf '13\n14 x\n' >"$scratch/bad.map"
    memory=$(banked "BANK_MAP=$scratch/bad.map" /bin/true 2>&1)
    [[ $memory == "mplace: BANK_MAP: $scratch/bad.map:2: "*"; $without" && $memory != *$'\n'* ]] ||
        fail "a map with a syntax error: $memory"
    printf '6\n7 13\n' >"$scratch/low.map"
    told "mplace: BANK_MAP=$scratch/low.map tells no pages apart; $without" "BANK_MAP=$scratch/low.map"
}

without_a_map_one_line_says_so_and_memory_is_allocated()
{
    local said
    said=$(LD_PRELOAD=$library sort <<<$'b\na' 2>"$scratch/err")
    expect "the result" $'a\nb' "$said"
    expect "the line" 'mplace: libbank_malloc.so: BANK_MAP is not set: memory is allocated without regard to banks' \
        "$(<"$scratch/err")"
}

without_a_map_the_processes_that_a_program_starts_say_nothing()
{
    LD_PRELOAD=$library sh -c '/bin/true; /bin/true; :' 2>"$scratch/err"
    expect "the lines" 1 "$(grep -c 'BANK_MAP is not set' "$scratch/err")"
}

# The map's absence is a line of its own, so that malloc_test.sh cannot run it.
without_a_map_what_the_kernel_never_commits_is_enomem()
{
    local status=0
    LD_PRELOAD=$library "$build/tests/malloc_commit" 2>"$scratch/err" || status=$?
    [[ $status -ne 77 ]] || exit 77
    [[ $status -eq 0 ]] || fail "$(<"$scratch/err")"
}

a_bank_that_no_memory_has_is_one_line_and_looked_for_again_after_malloc_trim()
{
    printf '40\n' >"$scratch/absent.map"
    banked "BANK_MAP=$scratch/absent.map" "$build/tests/bank_growth" absent 2>"$scratch/err" || fail "$(<"$scratch/err")"
    [[ $(<"$scratch/err") =~ ^mplace:\ libbank_malloc.so:\ [0-9]+M\ of\ new\ memory\ had\ nothing\ of\ controller\ 0,\ bank\ 1:\ the\ machine\ may\ have\ no\ such\ memory\;\ BANK_MODE\ says\ what\ its\ threads\ get$ ]] ||
        fail "the line: $(<"$scratch/err")"
}

without_a_file_descriptor_the_pool_does_not_grow_and_one_line_says_so()
{
    local status=0 source
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
    banked BANK_PHYSICAL=pagemap "BANK_MAP=$source/tests/preload/bank_where.map" \
        "$build/tests/bank_growth" files 2>"$scratch/err" || status=$?
    [[ $status -ne 77 ]] || exit 77
    expect "the exit status" 0 "$status"
    expect "the line" 'mplace: libbank_malloc.so: the kernel cannot be asked which frames memory has (error 24): the pool grows when it can be asked again' \
        "$(<"$scratch/err")"
}

of_few_addresses_many_are_the_programs()
{
    local map
    for map in tilepro64 ''; do
        (
            ulimit -v 1000000
            banked "BANK_MAP=$map" "$build/tests/bank_edges" addresses 2>"$scratch/err"
        ) || fail "BANK_MAP=$map: $(<"$scratch/err")"
    done
}

without_a_map_a_block_that_grows_by_little_is_seldom_moved()
{
    LD_PRELOAD=$library "$build/tests/bank_edges" grow 2>"$scratch/err" || fail "$(<"$scratch/err")"
}

without_a_map_short_blocks_leave_the_hole_of_a_long_one_whole()
{
    LD_PRELOAD=$library "$build/tests/bank_edges" holes 2>"$scratch/err" || fail "$(<"$scratch/err")"
}

a_block_that_two_threads_free_is_named()
{
    local status last
    for last in twice owner; do
        status=0
        banked "$build/tests/bank_edges" "$last" >"$scratch/address" 2>"$scratch/err" || status=$?
        expect "$last: the end" 134 "$status"
        expect "$last: the line" \
            "libbank_malloc: $(<"$scratch/address") given to free, realloc or malloc_usable_size is free already" \
            "$(head -n 1 "$scratch/err")"
    done
}

statistics_say_where_blocks_came_from()
{
    local -a settings=(BANK_POOL=32M BANK_COLOURS='2:5')
    command -v jq >"$scratch/jq" || { echo "skipped: no jq"; exit 77; }
    expect "unasked" '' "$(banked "${settings[@]}" sort /dev/null 2>&1)"
    banked "${settings[@]}" BANK_STATS="$scratch/first.json" sort --buffer-size=100K "$library" >"$scratch/sorted"
    banked "${settings[@]}" BANK_STATS="$scratch/second.json" sort --buffer-size=100K "$library" >"$scratch/sorted"
    expect "the pool" '"simulated" 4 8 8192 33554432 32' \
        "$(jq -r '"\(.frames | tojson) \(.controllers) \(.banks) \(.chunk_bytes) \(.pool_bytes) \(.per_bank | length)"' "$scratch/first.json")"
    expect "who was asked" '[[2,5]]' \
        "$(jq -c '[.per_bank[] | select(.own_bank + .own_controller + .elsewhere + .split > 0) | [.controller, .bank]]' "$scratch/first.json")"
    expect "two runs" "$(jq -c 'del(.process)' "$scratch/first.json")" "$(jq -c 'del(.process)' "$scratch/second.json")"
    banked "${settings[@]}" BANK_STATS=1 sort "$library" 2>"$scratch/text" >"$scratch/sorted"
    grep -q '^mplace bank: requests [1-9].*map tilepro64, frames simulated' "$scratch/text" || fail "no text"
}

it_exports_the_malloc_family_and_the_interface_alone()
{
    local expected="__libc_calloc __libc_free __libc_malloc __libc_memalign __libc_pvalloc __libc_realloc
__libc_valloc __posix_memalign aligned_alloc bank_count_moved bank_figures bank_free bank_malloc bank_of
bank_thread_colours calloc dlmopen dlopen free free_aligned_sized free_sized mallinfo mallinfo2 malloc malloc_info
malloc_stats malloc_trim malloc_usable_size mallopt memalign mplace_malloc_name posix_memalign pvalloc realloc
reallocarray valloc"
    diff <(tr ' ' '\n' <<<"$expected" | sort) <(nm -D --defined-only "$library" | awk '{print $3}' | sort)
}

# same COMMAND...: writes the same under the library, and nothing on standard error.
same()
{
    "$@" >"$scratch/plain"
    banked "$@" >"$scratch/banked" 2>"$scratch/err" || fail "$1 ends with $?"
    cmp -s "$scratch/plain" "$scratch/banked" || fail "$1 writes something else"
    expect "$1's standard error" '' "$(<"$scratch/err")"
}

real_programs_give_the_same_results()
{
    same sort "$library"
    # shellcheck disable=SC2016 # the inner shell expands it
    same bash -c 'for i in {1..50}; do x=$(printf %s $i); y+=$x; done; echo $y'
    if command -v python3 >"$scratch/found"; then
        same /usr/bin/env python3 -c '
import threading
def work(n): out.append(sum(len(str(i)) for i in range(n)))
out = []
threads = [threading.Thread(target=work, args=(20000,)) for _ in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
blocks = [bytearray(4000 * i) for i in range(60)]
print(out, sum(map(len, blocks)))'
    fi
    if command -v sqlite3 >"$scratch/found"; then
        same sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
            select count(*), sum(length(hex(i))) from n;'
    fi
}

a_trace_knows_the_frame_of_every_page_of_every_block()
{
    local mplace source
    source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
    mplace=$source/scripts/mplace
    if ! type -P valgrind >"$scratch/found" || [[ ! -x $build/lib/mplace/valgrind/memtrace-amd64-linux ]]; then
        echo "skipped: no valgrind, or no tracer"
        exit 77
    fi
    seq 2000 >"$scratch/numbers"
    env BANK_MAP=tilepro64 BANK_PHYSICAL=simulated MPLACE_BUILD="$build" "$mplace" trace --malloc bank \
        --out "$scratch/trace" -- sort --buffer-size=100K "$scratch/numbers" >"$scratch/sorted" 2>"$scratch/err" ||
        fail "the traced program ends with $?: $(<"$scratch/err")"
    MPLACE_BUILD=$build "$mplace" trace --dump "$scratch/trace" | grep -E ' (mark frame|alloc) ' >"$scratch/events"
    python3 - "$scratch/events" <<'END' || fail "see above"
import sys
frames, blocks, long_blocks = {}, 0, 0
for line in open(sys.argv[1]):
    words = line.split()
    if words[2] == "mark":
        frames[int(words[4], 16) >> 12] = int(words[5])
        continue
    address, size = int(words[3], 16), int(words[4])
    pages = range(address >> 12, (address + max(size, 1) - 1 >> 12) + 1)
    banks = {(frames[page] >> 1 & 7, frames[page] >> 22 & 3) for page in pages}
    assert len(banks) == 1, f"{line.strip()}: on {banks}"
    blocks += 1
    long_blocks += size > 8192
assert blocks > 10 and long_blocks > 0, f"{blocks} blocks, {long_blocks} long ones"
END
}

declare -F "$claim" >"$scratch/claim" || {
    echo "bank_test.sh: unknown claim: $claim" >&2
    exit 2
}
"$claim"
